"""Z-machine story files: checked before the interpreter, which does not survive a bad one."""

from __future__ import annotations

import struct
from pathlib import Path

from arigraph_local.errors import GameError

_HEADER_BYTES = 64
_VERSION = 8
_LENGTH_UNIT = 8
"""The header of a version 8 file gives its length in units of 8 bytes (Z-Machine Standard 1.1)."""
_SERIAL = slice(0x12, 0x18)
_FIXED_SERIAL = b"000000"


def check_story_file(path: Path) -> None:
    """Raise `GameError` unless `path` is a whole, undamaged version 8 story file."""
    try:
        story = path.read_bytes()
    except FileNotFoundError as error:
        raise GameError(f"there is no game '{path}'") from error
    except OSError as error:
        raise GameError(f"cannot read '{path}': {error.strerror}") from error
    if len(story) < _HEADER_BYTES or story[0] != _VERSION:
        raise GameError(f"'{path}' is not a Z-machine version 8 story file (.z8)")
    units, checksum = struct.unpack_from(">HH", story, 0x1A)
    length = units * _LENGTH_UNIT
    if len(story) < length:
        raise GameError(f"'{path}' is truncated: {len(story)} of {length} bytes")
    if sum(story[_HEADER_BYTES:length]) & 0xFFFF != checksum:
        raise GameError(f"'{path}' is damaged: its checksum does not match")


def fix_serial(path: Path) -> None:
    """Replace the compilation date in the header, so that equal games are equal files."""
    story = bytearray(path.read_bytes())
    story[_SERIAL] = _FIXED_SERIAL
    path.write_bytes(story)
