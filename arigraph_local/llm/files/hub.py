"""Downloading one file of a Hugging Face repository, going on where an earlier try stopped."""

from __future__ import annotations

import http.client
import os
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import BinaryIO

from arigraph_local.errors import ModelFileError, UsageError
from arigraph_local.llm.files.transfer import CHUNK, Progress, Report

_TIMEOUT_SECONDS = 30.0


def file_url(repository: str, file: str, revision: str) -> str:
    """Address of a file; `HF_ENDPOINT` replaces the public hub by a mirror.

    Raises `UsageError` when that is not an address.
    """
    endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    if not re.match(r"https?://([\w.-]+|\[[\da-fA-F:.]+\])(:\d+)?(/|$)", endpoint):
        raise UsageError(f"HF_ENDPOINT is not an http or https address: '{endpoint}'")
    quoted = urllib.parse.quote(file)
    return f"{endpoint}/{repository}/resolve/{urllib.parse.quote(revision, safe='')}/{quoted}"


def download(url: str, partial: Path, expected: int | None, report: Report) -> None:
    """Download `url` to `partial`, continuing from the bytes already there.

    `expected` is the size in bytes, if known; otherwise the server's word is taken.
    Raises `ModelFileError` when the server cannot be reached, refuses, offers a file of another
    size, or breaks off; after a break the bytes received stay in `partial`.
    """
    tag_file = partial.with_name(partial.name + ".etag")
    have = partial.stat().st_size if partial.exists() and tag_file.exists() else 0
    if have and have == expected:
        return
    request = urllib.request.Request(url, headers={"User-Agent": "arigraph-local"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        # Without it, a file replaced on the server would be glued to the old beginning.
        request.add_header("If-Range", tag_file.read_text("utf-8"))
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
            have = have if _continues(response, have) else 0
            total = _total(response, have)
            if expected is not None and total is not None and total != expected:
                raise ModelFileError(f"{url}: {total} bytes offered, {expected} expected")
            _note_tag(response, tag_file)
            with partial.open("ab" if have else "wb") as target:
                received = _receive(response, target, have, total, report)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            _after_refused_range(url, partial, expected, error, report)
            return
        raise ModelFileError(_refusal(url, error)) from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError) as error:
        reason = getattr(error, "reason", None) or error
        raise ModelFileError(f"{url}: cannot be downloaded: {reason}") from error
    if total is not None and received != total:
        raise ModelFileError(
            f"{url}: the connection broke off after {received} of {total} bytes: "
            "run the same command to go on from there"
        )


def _continues(response: http.client.HTTPResponse, have: int) -> bool:
    content_range = response.headers.get("Content-Range", "")
    return response.status == http.HTTPStatus.PARTIAL_CONTENT and content_range.startswith(
        f"bytes {have}-"
    )


def _total(response: http.client.HTTPResponse, have: int) -> int | None:
    length = response.headers.get("Content-Length", "")
    return have + int(length) if length.isdigit() else None


def _note_tag(response: http.client.HTTPResponse, tag_file: Path) -> None:
    tag = response.headers.get("ETag", "")
    # Weak validators are not allowed in If-Range; without one, a later try starts afresh.
    if tag and not tag.startswith("W/"):
        tag_file.write_text(tag, "utf-8")
    else:
        tag_file.unlink(missing_ok=True)


def _receive(
    response: http.client.HTTPResponse,
    target: BinaryIO,
    done: int,
    total: int | None,
    report: Report,
) -> int:
    report(Progress(done, total, "downloading"))
    try:
        while chunk := response.read(CHUNK):
            target.write(chunk)
            done += len(chunk)
            report(Progress(done, total, "downloading"))
    except (ConnectionError, TimeoutError, ssl.SSLError) as error:
        raise http.client.HTTPException(
            f"the connection broke off ({error}): run the same command to go on from there"
        ) from error
    return done


def _after_refused_range(
    url: str, partial: Path, expected: int | None, error: urllib.error.HTTPError, report: Report
) -> None:
    """Every byte is there already, or what is there belongs to another file: start afresh."""
    if error.headers.get("Content-Range") == f"bytes */{partial.stat().st_size}":
        return
    partial.unlink()
    download(url, partial, expected, report)


def _refusal(url: str, error: urllib.error.HTTPError) -> str:
    if error.code in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN):
        return (
            f"{url}: refused ({error.code}): this file needs an account at the hub: download it "
            "in a browser, then run `arigraph models add NAME PATH`"
        )
    if error.code == http.HTTPStatus.NOT_FOUND:
        return f"{url}: no such repository or file (404)"
    return f"{url}: the server answered {error.code} {error.reason}"
