from __future__ import annotations

import hashlib
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from arigraph_local.errors import ModelFileError, UsageError
from arigraph_local.llm.files.catalogue import CatalogueEntry
from arigraph_local.llm.files.fetch import fetch
from arigraph_local.llm.files.hub import file_url
from arigraph_local.llm.files.integrity import State, check
from arigraph_local.llm.files.registry import load_registry
from arigraph_local.llm.files.transfer import ignore_progress

MODEL = b"GGUF" + struct.pack("<IQQ", 3, 0, 0) + bytes(range(256)) * 8000
PATH = "/someone/tiny/resolve/main/tiny%20model.gguf"


class Hub(ThreadingHTTPServer):
    """A hub with one file, which can break off, refuse, or change it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = MODEL
        self.status = 200
        self.breaks_after: int | None = None
        self.ranges: list[str | None] = []


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        hub, wanted = self.server, self.headers.get("Range")
        hub.ranges.append(wanted)
        if hub.status != 200 or self.path != PATH:
            self.send_error(hub.status if hub.status != 200 else 404)
            return
        tag = f'"{hashlib.sha256(hub.content).hexdigest()}"'
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if self.headers.get("If-Range") != tag:
            start = 0
        if start and start >= len(hub.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(hub.content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = hub.content[start:]
        self.send_response(206 if start else 200)
        if start:
            end = len(hub.content)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{end}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", tag)
        self.end_headers()
        self.wfile.write(body[: hub.breaks_after])

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
        yield server
        server.shutdown()
        thread.join()


def entry(**changes: Any) -> CatalogueEntry:
    fields = {
        "name": "tiny",
        "kind": "gguf",
        "family": "tiny",
        "parameters": 1,
        "quantisation": "F32",
        "file": "tiny.gguf",
        "licence": "MIT",
        "context": 16,
        "hub": {"repository": "someone/tiny", "file": "tiny model.gguf"},
    }
    return CatalogueEntry.model_validate({**fields, **changes})


def test_the_public_hub_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    address = "https://huggingface.co/someone/tiny/resolve/main/sub/tiny.gguf"
    assert file_url("someone/tiny", "sub/tiny.gguf", "main") == address


def test_a_first_fetch_records_the_checksum(hub: Hub, tmp_path: Path) -> None:
    fetched = fetch(entry(), tmp_path)
    assert fetched.path.read_bytes() == MODEL
    assert fetched.sha256 == hashlib.sha256(MODEL).hexdigest()
    known = load_registry(tmp_path)["tiny"]
    assert (known.sha256, known.bytes) == (fetched.sha256, len(MODEL))
    assert fetch(entry(), tmp_path).already_there
    assert len(hub.ranges) == 1


def test_a_recorded_checksum_holds_for_later_fetches(hub: Hub, tmp_path: Path) -> None:
    fetched = fetch(entry(), tmp_path)
    fetched.path.write_bytes(MODEL[:-1])
    assert check(fetched.path, None, fetched.sha256, ignore_progress).state is State.WRONG
    hub.content = MODEL + b"other"
    with pytest.raises(ModelFileError, match="discarded: SHA-256"):
        fetch(entry(), tmp_path)
    hub.content = MODEL
    assert fetch(entry(), tmp_path).path.read_bytes() == MODEL


@pytest.mark.parametrize("sized", [True, False])
def test_a_broken_connection_is_taken_up_again(hub: Hub, tmp_path: Path, sized: bool) -> None:
    tiny = entry(bytes=len(MODEL) if sized else None)
    hub.breaks_after = 1_500_000
    with pytest.raises(ModelFileError, match="broke off after 1500000 of") as caught:
        fetch(tiny, tmp_path)
    assert "run the same command to go on" in str(caught.value)
    assert not (tmp_path / "tiny.gguf").exists()
    hub.breaks_after = None
    assert fetch(tiny, tmp_path).path.read_bytes() == MODEL
    assert hub.ranges == [None, "bytes=1500000-"]
    assert not (tmp_path / ".partial").exists()


def test_a_file_changed_on_the_server_is_not_glued_together(hub: Hub, tmp_path: Path) -> None:
    hub.breaks_after = 1_500_000
    with pytest.raises(ModelFileError):
        fetch(entry(), tmp_path)
    hub.breaks_after, hub.content = None, MODEL + b"new"
    assert fetch(entry(), tmp_path).path.read_bytes() == MODEL + b"new"


def test_a_download_that_was_complete_is_only_checked(hub: Hub, tmp_path: Path) -> None:
    scratch = tmp_path / ".partial" / "tiny"
    scratch.mkdir(parents=True)
    (scratch / "model").write_bytes(MODEL)
    (scratch / "model.etag").write_text(f'"{hashlib.sha256(MODEL).hexdigest()}"')
    assert fetch(entry(), tmp_path).path.read_bytes() == MODEL
    assert hub.ranges == [f"bytes={len(MODEL)}-"]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "needs an account at the hub"),
        (403, "arigraph models add NAME PATH"),
        (404, "no such repository or file"),
        (503, "the server answered 503"),
    ],
)
def test_refusals(hub: Hub, tmp_path: Path, status: int, message: str) -> None:
    hub.status = status
    with pytest.raises(ModelFileError, match=message) as caught:
        fetch(entry(), tmp_path)
    assert "someone/tiny" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_another_size_than_expected_is_refused_at_once(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=f"{len(MODEL)} bytes offered, 5 expected"):
        fetch(entry(bytes=5), tmp_path)


def test_a_web_page_in_its_place_is_refused(hub: Hub, tmp_path: Path) -> None:
    hub.content = b"<html>sign in</html>"
    with pytest.raises(ModelFileError, match="not a GGUF file: it starts with b'<html>si'"):
        fetch(entry(), tmp_path)
    assert load_registry(tmp_path) == {}
    assert not (tmp_path / "tiny.gguf").exists()


def test_no_server_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelFileError, match=r"cannot be downloaded: .*refused"):
        fetch(entry(), tmp_path)


@pytest.mark.parametrize("endpoint", ["nonsense", "file:///etc", "http://[::1"])
def test_an_endpoint_that_is_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(UsageError, match="HF_ENDPOINT is not an http or https address"):
        fetch(entry(), tmp_path)
