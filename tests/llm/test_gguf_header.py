from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from arigraph_local.errors import ModelFileError
from arigraph_local.llm.files.gguf import read_header


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def tensor(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + dimensions + struct.pack("<IQ", kind, offset)


def gguf(pairs: list[bytes], tensors: list[bytes], data: bytes = b"", version: int = 3) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
    body = head + b"".join(pairs) + b"".join(tensors)
    return body + b"\0" * (-len(body) % 32) + data


PAIRS = [
    pair("general.architecture", 8, text("llama")),
    pair("general.name", 8, text("Tiny")),
    pair("llama.context_length", 4, struct.pack("<I", 2048)),
    pair("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("bb")),
    pair("tokenizer.ggml.scores", 9, struct.pack("<IQ2f", 6, 2, 0.5, 1.5)),
    pair("tokenizer.chat_template", 8, text("{{ messages }}")),
    pair("general.flag", 7, b"\1"),
]
# 64 elements of Q4_0: two blocks of 18 bytes; then, aligned, 3 single floats.
TENSORS = [tensor("a", (32, 2), 2, 0), tensor("b", (3,), 0, 64)]
DATA = bytes(64 + 12)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return path


def test_the_header_of_a_whole_file(tmp_path: Path) -> None:
    content = gguf(PAIRS, TENSORS, DATA)
    header = read_header(written(tmp_path, content))
    assert (header.architecture, header.name, header.context_length) == ("llama", "Tiny", 2048)
    assert header.has_chat_template
    assert header.metadata["general.flag"] is True
    assert "tokenizer.ggml.tokens" not in header.metadata
    assert (header.version, header.tensors, header.parameters) == (3, 2, 67)
    assert header.bytes_needed == len(content)


def test_a_file_without_template_or_context_says_so(tmp_path: Path) -> None:
    header = read_header(written(tmp_path, gguf(PAIRS[:2], [])))
    assert not header.has_chat_template
    assert header.context_length is None


def test_the_alignment_of_the_file_is_used(tmp_path: Path) -> None:
    alignment = pair("general.alignment", 4, struct.pack("<I", 4096))
    with pytest.raises(ModelFileError, match=r"truncated GGUF: 4108 bytes needed"):
        read_header(written(tmp_path, gguf([alignment], [tensor("b", (3,), 0, 0)], bytes(12))))


def test_one_missing_byte_is_told_with_both_sizes(tmp_path: Path) -> None:
    content = gguf(PAIRS, TENSORS, DATA)
    path = written(tmp_path, content[:-1])
    with pytest.raises(ModelFileError) as caught:
        read_header(path)
    assert str(caught.value) == (
        f"{path}: truncated GGUF: {len(content)} bytes needed, the file has {len(content) - 1}"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a GGUF file: it is empty"),
        (b"GG", "not a GGUF file: it starts with b'GG'"),
        (b"PK\x03\x04....", "like a zip archive"),
        (b"<!DOCTYPE html>", "like a web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
        (b"GGUF", "truncated GGUF: its header needs at least 8 bytes, the file has 4"),
        (gguf([], [], version=1), r"GGUF version 1 is not supported \(versions 2 and 3 are\)"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(16), "big-endian"),
        (gguf([pair("k", 99, b"\0" * 8)], []), "metadata 'k' has unknown type 99"),
        (gguf([pair("k", 9, struct.pack("<IQ", 9, 1))], []), "array of unknown type 9"),
        (gguf([pair("general.alignment", 4, bytes(4))], [tensor("b", (3,), 0, 0)]), "alignment 0"),
        (gguf([], [tensor("b", (1,) * 9, 0, 0)]), "tensor 'b' has 9 dimensions"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "truncated GGUF"),
        (gguf([pair("k", 9, struct.pack("<IQ", 8, 1 << 61))], []), "truncated GGUF"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ModelFileError, match=reason) as caught:
        read_header(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_folder_and_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="a folder"):
        read_header(tmp_path)
    with pytest.raises(ModelFileError, match="no such file"):
        read_header(tmp_path / "none.gguf")


def survives(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        needed = read_header(path).bytes_needed
    except ModelFileError as error:
        needed, message = 0, str(error)
    else:
        message = ""
    assert needed <= len(content)
    assert "\n" not in message


@given(st.binary(max_size=200), st.booleans())
@example(struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 4, 1 << 63), True)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_bytes_give_a_header_or_a_model_file_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, with_magic: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    survives(path, (b"GGUF" if with_magic else b"") + content)


@given(st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_damaged_file_gives_a_header_or_a_model_file_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(gguf(PAIRS, TENSORS, DATA))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(4, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    survives(tmp_path_factory.getbasetemp() / "damaged.gguf", bytes(content[:cut]))
