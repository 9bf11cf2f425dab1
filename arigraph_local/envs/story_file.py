"""Story files: checked before the interpreter, which does not survive a bad one."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path

from arigraph_local.errors import GameError

_HEADER_BYTES = 64
_TEXTWORLD_VERSION = 8
_LENGTH_UNITS = {1: 2, 2: 2, 3: 2, 4: 4, 5: 4, 6: 8, 7: 8, 8: 8}
"""The header gives the length in units of so many bytes, by version (Z-Machine Standard 1.1)."""
_SERIAL = slice(0x12, 0x18)
_FIXED_SERIAL = b"000000"
_GLULX = b"Glul"


@dataclass(frozen=True)
class StoryHeader:
    """What the first 64 bytes of a story file say (Z-Machine Standard 1.1, section 11).

    Addresses and `length` are in bytes; `length` and `checksum` are 0 in files that do not tell.
    """

    version: int
    start: int
    dictionary: int
    objects: int
    globals: int
    static: int
    length: int
    checksum: int


def read_header(story: bytes) -> StoryHeader | None:
    """The header, or None if these bytes are no Z-machine story."""
    if len(story) < _HEADER_BYTES or story[0] not in _LENGTH_UNITS:
        return None
    start, dictionary, objects, globals_, static = struct.unpack_from(">5H", story, 0x06)
    units, checksum = struct.unpack_from(">HH", story, 0x1A)
    length = units * _LENGTH_UNITS[story[0]]
    return StoryHeader(story[0], start, dictionary, objects, globals_, static, length, checksum)


def check_story_file(path: Path) -> None:
    """Raise `GameError` unless `path` is a whole, undamaged version 8 story file."""
    story = _content(path)
    header = read_header(story)
    if header is None or header.version != _TEXTWORLD_VERSION:
        raise GameError(f"'{path}' is not a Z-machine version 8 story file (.z8)")
    _check_whole(path, story, header)


def load_story(path: Path) -> bytes:
    """The Z-machine code of a story file of any version, or of a Blorb archive that holds one.

    Raises `GameError` unless it is whole and undamaged, as far as its header tells.
    """
    content = _content(path)
    story = _from_blorb(path, content) if content[:4] == b"FORM" else content
    header = read_header(story)
    if header is None:
        raise GameError(f"'{path}' is not a Z-machine story file (.z1 to .z8)")
    _check_whole(path, story, header)
    _check_addresses(path, story, header)
    return story


def story_digest(path: Path) -> str:
    """The SHA-256 of a story file; `GameError` if it cannot be read or played here."""
    return hashlib.sha256(_content(path)).hexdigest()


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise GameError(f"there is no game '{path}'") from error
    except OSError as error:
        raise GameError(f"cannot read '{path}': {error.strerror}") from error
    if content[:4] == _GLULX:
        raise GameError(
            f"'{path}' is a Glulx game, which TextWorld no longer plays: make it as a .z8"
        )
    return content


def _from_blorb(path: Path, content: bytes) -> bytes:
    """The executable chunk of an IFF archive (Blorb 2.0.4: `ZCOD` for the Z-machine)."""
    place = 12
    while place + 8 <= len(content):
        kind, size = struct.unpack_from(">4sI", content, place)
        if kind == b"ZCOD":
            return content[place + 8 : place + 8 + size]
        if kind == b"GLUL":
            raise GameError(f"'{path}' holds a Glulx game, which cannot be played here")
        place += 8 + size + size % 2
    raise GameError(f"'{path}' holds no Z-machine game")


def _check_whole(path: Path, story: bytes, header: StoryHeader) -> None:
    if len(story) < header.length:
        raise GameError(f"'{path}' is truncated: {len(story)} of {header.length} bytes")
    if not header.length:
        return
    # Early files leave the checksum out.
    if header.checksum or header.version == _TEXTWORLD_VERSION:
        found = sum(story[_HEADER_BYTES : header.length]) & 0xFFFF
        if found != header.checksum:
            raise GameError(f"'{path}' is damaged: its checksum does not match")


def _check_addresses(path: Path, story: bytes, header: StoryHeader) -> None:
    """What the interpreter looks up first must lie where it may lie: in writable memory, which
    ends at `static`, or at least in the file."""
    writable = range(_HEADER_BYTES, header.static)
    anywhere = range(_HEADER_BYTES, len(story))
    sound = (
        header.static <= len(story)
        and header.objects in writable
        and header.globals in writable
        and header.dictionary in anywhere
        and header.start in range(len(story))
    )
    if not sound:
        raise GameError(f"'{path}' is damaged: its header points outside the file")


def fix_serial(path: Path) -> None:
    """Replace the compilation date in the header, so that equal games are equal files."""
    story = bytearray(path.read_bytes())
    story[_SERIAL] = _FIXED_SERIAL
    path.write_bytes(story)
