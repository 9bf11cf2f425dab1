"""Text windows and menus that the game lays over the map, read from the lines of the screen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_END = re.compile(r"--More--|\(end\)|\((?P<page>\d+) of (?P<pages>\d+)\)")
_CHOICE = re.compile(r"(?P<letter>[a-zA-Z$#]) [-+#] (?P<text>.+)")


@dataclass(frozen=True)
class Window:
    """What a window shows: its lines, and for a menu the choices by letter.

    `more_pages` when this is not the last page.
    """

    lines: tuple[str, ...]
    choices: dict[str, str]
    is_menu: bool
    more_pages: bool


def read_window(rows: Sequence[str]) -> Window | None:
    """The window on a screen that waits for a key, or None if it is the line of messages.

    A window's lines begin in the column of the mark that ends it (`(end)`, `--More--`).
    """
    found = _end_mark(rows)
    if found is None:
        return None
    row, mark = found
    if row == 0 or (row == 1 and mark[0] == "--More--" and mark.start() > 0):
        return None
    # The text of a window as wide as the screen begins one column before its mark.
    start = mark.start() if mark.start() > 1 else 0
    lines = [text for line in rows[:row] if (text := line[start:].strip())]
    matches = [match for line in lines if (match := _CHOICE.fullmatch(line))]
    return Window(
        lines=tuple(lines),
        choices={match["letter"]: match["text"] for match in matches},
        is_menu=mark[0] != "--More--",
        more_pages=mark["page"] is not None and mark["page"] != mark["pages"],
    )


def _end_mark(rows: Sequence[str]) -> tuple[int, re.Match[str]] | None:
    for row in range(len(rows) - 1, -1, -1):
        match = _END.search(rows[row])
        if match is not None:
            return row, match
    return None
