"""The objects and global variables of a Z-machine game, read from its memory.

Jericho knows the object tree of some fifty games only; the memory itself is laid out alike in all
(Z-Machine Standard 1.1, sections 3, 11 and 12).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arigraph_local.envs.story_file import StoryHeader, read_header

Bytes: TypeAlias = NDArray[np.uint8]

_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    " \n0123456789.,!?_#'\"/\\-:()",
)
_FIRST_LETTER = 6
_FULL_CHARACTER = 6
"""In the third alphabet: the next two codes are one character."""
_SHIFTS = {4: 1, 5: 2}
_LAST_ABBREVIATION = 3
_LAST_WORD = 0x8000
_ABBREVIATIONS = 0x18
_STRINGS_OFFSET = 0x2A
_OWN_ALPHABETS = 0x34
_PACKED = {1: 2, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 4, 8: 8}
_LONGEST_NAME = 96
_MOST_SMALL, _MOST_LARGE = 255, 65535
_TIME_GAME = 0x02
_INFORM = re.compile(rb"\d\.\d\d")


@dataclass(frozen=True)
class _Layout:
    """Bytes of an object's entry: in all, of attributes, of a number of another object."""

    entry: int
    attributes: int
    number: int

    @property
    def properties(self) -> int:
        return self.attributes + 3 * self.number


_SMALL, _LARGE = _Layout(9, 4, 1), _Layout(14, 6, 2)


class StoryMemory:
    """What can be read of a game. `story` is the file; the writable memory is given as it is now.

    The tables stay where they are for the whole of a game, so they are located once.
    """

    def __init__(self, story: bytes) -> None:
        header = read_header(story)
        assert header is not None
        self._story = story
        self._header = header
        self._small = header.version <= 3
        self._layout = _SMALL if self._small else _LARGE
        self._strings = StoryText(story, header)

    @property
    def from_inform(self) -> bool:
        """Whether Inform made the game: the header then holds its version, such as `6.33`."""
        return _INFORM.fullmatch(self._story[0x3C:0x40]) is not None

    @property
    def word_codes(self) -> int:
        """To how many codes the words of the dictionary are cut."""
        return 6 if self._small else 9

    @property
    def has_status_line(self) -> bool:
        """Whether the interpreter draws the status line: the first global variable is then the
        room."""
        return self._small

    @property
    def shows_score(self) -> bool:
        """Whether that line shows a score: the second global variable is then the score."""
        return self._small and not self._story[1] & _TIME_GAME

    @cached_property
    def count(self) -> int:
        """How many objects there are: their entries end where the first property table begins."""
        lowest, number = self._header.static, 0
        while number < (_MOST_SMALL if self._small else _MOST_LARGE):
            place = self._entry(number + 1)
            if place + self._layout.entry > lowest:
                break
            properties = self._word(place + self._layout.properties)
            if not place < properties < self._header.static:
                break
            lowest = min(lowest, properties)
            number += 1
        return number

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Where in memory the world is: every object's attributes, its holder, its properties."""
        layout, numbers = self._layout, range(1, self.count + 1)
        attributes = [self._entry(n) + byte for n in numbers for byte in range(layout.attributes)]
        holders = [
            self._entry(n) + layout.attributes + byte
            for n in numbers
            for byte in range(layout.number)
        ]
        properties = [
            place
            for n in numbers
            for _, begin, size in self._properties(n)
            for place in range(begin, begin + size)
        ]
        return np.array([*attributes, *holders, *properties], dtype=np.intp)

    def world(self, ram: Bytes) -> Bytes:
        """The objects with all their attributes, holders and properties."""
        return ram[self._places]

    def spread(self, difference: Bytes) -> Bytes:
        """A difference of two worlds, with each attribute that differs for one object marked for
        all: an attribute that the game changes unasked is its own note of something."""
        marked = difference.copy()
        attributes = marked[: self.count * self._layout.attributes]
        attributes = attributes.reshape(self.count, self._layout.attributes)
        attributes |= np.bitwise_or.reduce(attributes, axis=0)
        return marked

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The short names by number, beginning with an empty one for number 0."""
        numbers = range(1, self.count + 1)
        names = {number: self._short_name(number) for number in numbers}
        printed = self._printed_names()
        return ("", *(names[number] or printed.get(number, "") for number in numbers))

    def parents(self, ram: Bytes) -> list[int]:
        """What holds each object, by number, 0 for nothing; the first entry stands for none."""
        size, found = self._layout.number, [0]
        for number in range(1, self.count + 1):
            place = self._entry(number) + self._layout.attributes
            parent = int.from_bytes(bytes(ram[place : place + size]))
            found.append(parent if parent <= self.count else 0)
        return found

    def global_variable(self, ram: Bytes, number: int) -> int:
        """The value of a global variable, signed."""
        place = self._header.globals + 2 * number
        return int.from_bytes(bytes(ram[place : place + 2]), signed=True)

    def _entry(self, number: int) -> int:
        defaults = 2 * (31 if self._small else 63)
        return self._header.objects + defaults + (number - 1) * self._layout.entry

    def _word(self, place: int) -> int:
        return int.from_bytes(self._story[place : place + 2])

    def _property_table(self, number: int) -> int:
        return self._word(self._entry(number) + self._layout.properties)

    def _short_name(self, number: int) -> str:
        table = self._property_table(number)
        return self._strings.at(table + 1) if self._story[table] else ""

    def _properties(self, number: int) -> Iterator[tuple[int, int, int]]:
        """Each property's number, where its data begin, and their size in bytes."""
        table = self._property_table(number)
        place = table + 1 + 2 * self._story[table]
        while place < self._header.static and (size := self._story[place]):
            if self._small:
                property_, begin, length = size & 31, place + 1, (size >> 5) + 1
            elif size & 0x80:
                property_, begin, length = size & 63, place + 2, self._story[place + 1] & 63 or 64
            else:
                property_, begin, length = size & 63, place + 1, 2 if size & 0x40 else 1
            yield property_, begin, length
            place = begin + length

    def _printed_names(self) -> dict[int, str]:
        """The names that Inform 7 keeps in a property: the one that holds `north` and `south`.

        Which property that is, and whether it is a string or points to one, differs between
        releases of Inform.
        """
        if not self.from_inform:
            return {}
        found: dict[tuple[int, bool], dict[int, str]] = {}
        for number in range(1, self.count + 1):
            for property_, place, size in self._properties(number):
                if size != 2:
                    continue
                value = self._word(place)
                for direct in (True, False):
                    text = self._strings.packed(value if direct else self._word(value + 2))
                    if text and text.isprintable():
                        found.setdefault((property_, direct), {})[number] = text
        for names in found.values():
            if {"north", "south"} <= set(names.values()):
                return names
        return {}


class StoryText:
    """The strings of a game (Z-Machine Standard 1.1, section 3)."""

    def __init__(self, story: bytes, header: StoryHeader) -> None:
        self._story = story
        self._header = header

    def packed(self, address: int) -> str | None:
        """The string of a packed address, or None if none can be there; at most 64 letters."""
        version = self._header.version
        place = address * _PACKED[version]
        if version in (6, 7):
            place += 8 * self._word(_STRINGS_OFFSET)
        if not self._header.static <= place < len(self._story):
            return None
        return self.at(place, _LONGEST_NAME)

    def at(self, place: int, most_letters: int = 1 << 16) -> str:
        """The string encoded at that address."""
        return "".join(self._decoded(self._codes(place, most_letters), True))

    def _word(self, place: int) -> int:
        return int.from_bytes(self._story[place : place + 2])

    def _codes(self, place: int, most: int) -> list[int]:
        codes: list[int] = []
        while place + 1 < len(self._story) and len(codes) < most:
            word = self._word(place)
            codes += [word >> 10 & 31, word >> 5 & 31, word & 31]
            if word & _LAST_WORD:
                break
            place += 2
        return codes

    def _decoded(self, codes: list[int], abbreviations: bool) -> Iterator[str]:
        rest = iter(codes)
        alphabet = 0
        for code in rest:
            used, alphabet = alphabet, 0
            if code == 0:
                yield " "
            elif code <= _LAST_ABBREVIATION and abbreviations:
                yield from self._abbreviation(32 * (code - 1) + next(rest, 0))
            elif code in _SHIFTS:
                alphabet = _SHIFTS[code]
            elif used == 2 and code == _FULL_CHARACTER:
                yield chr(next(rest, 1) << 5 | next(rest, 0))
            elif code >= _FIRST_LETTER:
                yield self._alphabets[used][code - _FIRST_LETTER]

    def _abbreviation(self, number: int) -> Iterator[str]:
        place = 2 * self._word(self._word(_ABBREVIATIONS) + 2 * number)
        yield from self._decoded(self._codes(place, _LONGEST_NAME), False)

    @cached_property
    def _alphabets(self) -> tuple[str, ...]:
        place = self._word(_OWN_ALPHABETS) if self._header.version >= 5 else 0
        if not place:
            return _ALPHABETS
        own = self._story[place : place + 78].decode("latin-1")
        return own[:26], own[26:52], own[52:]
