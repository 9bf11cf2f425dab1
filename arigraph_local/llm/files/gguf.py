"""Reading the header of a GGUF file, without loading the model.

Layout and tensor sizes follow the format's specification (ggml, `docs/gguf.md`) and the block
sizes of llama.cpp. Everything read is bounded by the size of the file.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from arigraph_local.errors import ModelFileError

Scalar = int | float | bool | str

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_MAX_KEY_BYTES = 65535
_MAX_KEYS = 65536
_MAX_STRING_BYTES = 1 << 20
_MAX_DIMENSIONS = 8
_SMALLEST_KEY_VALUE = 8 + 4 + 1
_SMALLEST_TENSOR_INFO = 8 + 4 + 4 + 8
_MAX_ALIGNMENT = 1 << 20

_BLOCKS = {  # tensor type: (elements in a block, bytes of a block)
    0: (1, 4),
    1: (1, 2),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
    40: (64, 36),
}

_KNOWN_STARTS = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file it stands for"),
    (b"PK\x03\x04", "a zip archive"),
    (b"<", "a web page or XML"),
    (b"{", "JSON"),
    (b"lmgg", "a GGML file, the format before GGUF"),
    (b"tjgg", "a GGJT file, the format before GGUF"),
    (b"\x1f\x8b", "a gzip archive"),
)


@dataclass(frozen=True)
class GGUFHeader:
    """What the header of a GGUF file says.

    `metadata` holds the single values (strings up to 1 MiB); arrays are left out.
    `parameters` counts the elements of all tensors; `bytes_needed` is the size the file must have.
    """

    version: int
    metadata: Mapping[str, Scalar]
    tensors: int
    parameters: int
    bytes_needed: int

    @property
    def architecture(self) -> str | None:
        """Name of the architecture (`llama`, `qwen2`, ...)."""
        return self._text("general.architecture")

    @property
    def name(self) -> str | None:
        """The model's name for people."""
        return self._text("general.name")

    @property
    def context_length(self) -> int | None:
        """Tokens the model was trained to attend to."""
        value = self.metadata.get(f"{self.architecture}.context_length")
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def chat_template(self) -> str | None:
        """The jinja2 template of its conversations."""
        return self._text("tokenizer.chat_template")

    @property
    def has_chat_template(self) -> bool:
        """Whether the file says how a conversation is written."""
        return bool(self.chat_template)

    def _text(self, key: str) -> str | None:
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None


class _Reader:
    """Reads little-endian values, never past the end of the file."""

    def __init__(self, stream: BinaryIO, path: Path, size: int) -> None:
        self.stream = stream
        self.path = path
        self.size = size
        self.position = 0

    def fail(self, why: str) -> ModelFileError:
        return ModelFileError(f"{self.path}: {why}")

    def require(self, count: int) -> None:
        if count > self.size - self.position:
            raise self.fail(
                f"truncated GGUF: its header needs at least {self.position + count} bytes, "
                f"the file has {self.size}"
            )

    def take(self, count: int) -> bytes:
        self.require(count)
        data = self.stream.read(count)
        if len(data) != count:
            raise self.fail("the file shrank while it was read")
        self.position += count
        return data

    def skip(self, count: int) -> None:
        self.require(count)
        self.stream.seek(count, 1)
        self.position += count

    def integer(self, code: str) -> int:
        value: int = struct.unpack(code, self.take(struct.calcsize(code)))[0]
        return value

    def scalar(self, kind: int) -> int | float | bool:
        code = _SCALARS[kind]
        value: int | float | bool = struct.unpack(code, self.take(struct.calcsize(code)))[0]
        return value

    def key(self) -> str:
        length = self.integer("<Q")
        if length > _MAX_KEY_BYTES:
            raise self.fail(f"damaged GGUF: a name of {length} bytes at byte {self.position - 8}")
        return self.take(length).decode("utf-8", errors="replace")

    def string(self) -> str | None:
        length = self.integer("<Q")
        if length > _MAX_STRING_BYTES:
            self.skip(length)
            return None
        return self.take(length).decode("utf-8", errors="replace")

    def skip_array(self) -> None:
        kind, count = self.integer("<I"), self.integer("<Q")
        if kind in _SCALARS:
            self.skip(count * struct.calcsize(_SCALARS[kind]))
        elif kind == _STRING:
            self.require(count * 8)
            for _ in range(count):
                self.skip(self.integer("<Q"))
        else:
            raise self.fail(f"damaged GGUF: an array of unknown type {kind}")


def read_header(path: Path) -> GGUFHeader:
    """The header of the GGUF file at `path`.

    Raises `ModelFileError` when there is no such file, it cannot be read, is not a GGUF, has a
    version other than 2 or 3, is damaged, or is shorter than its tensors need.
    """
    try:
        if not path.is_file():
            raise ModelFileError(f"{path}: {'a folder' if path.is_dir() else 'no such file'}")
        size = path.stat().st_size
        with path.open("rb") as stream:
            return _parse(_Reader(stream, path, size))
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror or error}") from error


def _parse(reader: _Reader) -> GGUFHeader:
    _check_magic(reader)
    version = _version(reader)
    tensors, keys = reader.integer("<Q"), reader.integer("<Q")
    if keys > _MAX_KEYS:
        raise reader.fail(f"damaged GGUF: it claims {keys} metadata keys")
    reader.require(keys * _SMALLEST_KEY_VALUE + tensors * _SMALLEST_TENSOR_INFO)
    metadata = _metadata(reader, keys)
    parameters, data_bytes = _tensor_infos(reader, tensors)
    data_start = reader.position
    if tensors:
        alignment = _alignment(reader, metadata)
        data_start = (data_start + alignment - 1) // alignment * alignment
    needed = data_start + data_bytes
    if needed > reader.size:
        raise reader.fail(f"truncated GGUF: {needed} bytes needed, the file has {reader.size}")
    return GGUFHeader(version, metadata, tensors, parameters, needed)


def _check_magic(reader: _Reader) -> None:
    start = reader.stream.read(32)
    if not start.startswith(_MAGIC):
        if not start:
            raise reader.fail("not a GGUF file: it is empty")
        known = next((what for prefix, what in _KNOWN_STARTS if start.startswith(prefix)), None)
        is_like = f", like {known}" if known else ""
        raise reader.fail(f"not a GGUF file: it starts with {start[:8]!r}{is_like}")
    reader.stream.seek(len(_MAGIC))
    reader.position = len(_MAGIC)


def _version(reader: _Reader) -> int:
    raw = reader.take(4)
    version = int.from_bytes(raw, "little")
    if version in _VERSIONS:
        return version
    if int.from_bytes(raw, "big") in _VERSIONS:
        raise reader.fail("a big-endian GGUF, which is not supported")
    raise reader.fail(f"GGUF version {version} is not supported (versions 2 and 3 are)")


def _metadata(reader: _Reader, count: int) -> dict[str, Scalar]:
    metadata: dict[str, Scalar] = {}
    for _ in range(count):
        key, kind = reader.key(), reader.integer("<I")
        if kind in _SCALARS:
            metadata[key] = reader.scalar(kind)
        elif kind == _STRING:
            text = reader.string()
            if text is not None:
                metadata[key] = text
        elif kind == _ARRAY:
            reader.skip_array()
        else:
            raise reader.fail(f"damaged GGUF: metadata {key[:80]!r} has unknown type {kind}")
    return metadata


def _alignment(reader: _Reader, metadata: Mapping[str, Scalar]) -> int:
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 0 < alignment <= _MAX_ALIGNMENT:
        raise reader.fail(f"damaged GGUF: alignment {alignment!r}")
    return alignment


def _tensor_infos(reader: _Reader, count: int) -> tuple[int, int]:
    """Elements of all tensors, and the bytes from the first tensor's start to the last's end."""
    parameters = data_bytes = 0
    for _ in range(count):
        name, dimensions = reader.key(), reader.integer("<I")
        if dimensions > _MAX_DIMENSIONS:
            raise reader.fail(f"damaged GGUF: tensor {name[:80]!r} has {dimensions} dimensions")
        elements = math.prod(reader.integer("<Q") for _ in range(dimensions))
        kind, offset = reader.integer("<I"), reader.integer("<Q")
        # A type newer than this table still has to start inside the file.
        block_elements, block_bytes = _BLOCKS.get(kind, (1, 0))
        parameters += elements
        data_bytes = max(data_bytes, offset + -(-elements // block_elements) * block_bytes)
    return parameters, data_bytes
