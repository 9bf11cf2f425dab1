"""GBNF, llama.cpp's grammar notation: text to a syntax tree.

The notation is that of llama.cpp's `grammars/README.md`: rules `name ::= ...`, literals, character
classes, `.`, groups, `|`, and the repetitions `*`, `+`, `?`, `{m}`, `{m,}`, `{m,n}`. Token
references (`<[12]>`, `<think>`) are refused, because a grammar here must suit any vocabulary.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import TypeAlias

from arigraph_local.errors import ArigraphError

MAX_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_NAME = frozenset(string.ascii_letters + string.digits + "-_")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]"}
_BLANK = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_PLAIN = re.compile(r'[^"\\]+')
_HEX_LENGTHS = {"x": 2, "u": 4, "U": 8}


@dataclass(frozen=True)
class Chars:
    """One character in (or, if negated, outside) inclusive ranges of code points."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False


@dataclass(frozen=True)
class Literal:
    """Exactly this text."""

    text: str


@dataclass(frozen=True)
class Reference:
    """Whatever the named rule matches; `line` is where the name was written."""

    name: str
    line: int


@dataclass(frozen=True)
class Repeat:
    """`item` from `low` to `high` times; no upper bound if `high` is None."""

    item: Node
    low: int
    high: int | None


@dataclass(frozen=True)
class Sequence:
    """All items in order; nothing at all if there are none."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """Any one of the options."""

    options: tuple[Node, ...]


Node: TypeAlias = Chars | Literal | Reference | Repeat | Sequence | Choice


def parse_gbnf(text: str) -> dict[str, Node]:
    """The rules of a grammar by name, in the order written.

    Raises `ArigraphError` naming the line: bad syntax, a rule defined twice or never, no `root`.
    """
    rules = _Parser(text).rules()
    if "root" not in rules:
        raise ArigraphError("grammar: there is no rule named 'root'")
    for rule in rules.values():
        for reference in references(rule):
            if reference.name not in rules:
                raise ArigraphError(
                    f"grammar line {reference.line}: rule '{reference.name}' is not defined"
                )
    return rules


def references(node: Node) -> list[Reference]:
    """Every rule reference below a node."""
    match node:
        case Reference():
            return [node]
        case Repeat(item=item):
            return references(item)
        case Sequence(items=children) | Choice(options=children):
            return [found for child in children for found in references(child)]
        case _:
            return []


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def rules(self) -> dict[str, Node]:
        rules: dict[str, Node] = {}
        self._skip(newlines=True)
        while self._peek():
            name = self._name()
            if name in rules:
                raise self._error(f"rule '{name}' is defined twice")
            self._skip(newlines=False)
            if not self._text.startswith("::=", self._at):
                raise self._error(f"expected '::=' after '{name}'")
            self._at += 3
            self._skip(newlines=True)
            rules[name] = self._choice(nested=False)
            if self._peek() not in ("", "\n", "\r"):
                raise self._error(f"unexpected {self._peek()!r}")
            self._skip(newlines=True)
        return rules

    def _choice(self, *, nested: bool) -> Node:
        options = [self._sequence(nested=nested)]
        while self._peek() == "|":
            self._at += 1
            self._skip(newlines=True)
            options.append(self._sequence(nested=nested))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self, *, nested: bool) -> Node:
        items: list[Node] = []
        while (item := self._item()) is not None:
            self._skip(newlines=nested)
            while (bounds := self._bounds()) is not None:
                item = Repeat(item, *bounds)
                self._skip(newlines=nested)
            items.append(item)
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _item(self) -> Node | None:
        char = self._peek()
        if char == '"':
            return self._literal()
        if char == "[":
            return self._chars()
        if char == ".":
            self._at += 1
            return Chars(((0, MAX_CODE_POINT),))
        if char == "(":
            return self._group()
        if char and char in _NAME:
            line = self._line()
            return Reference(self._name(), line)
        if char and char in "<!":
            raise self._error("token references are not supported")
        return None

    def _group(self) -> Node:
        self._at += 1
        self._skip(newlines=True)
        inner = self._choice(nested=True)
        if self._peek() != ")":
            raise self._error("expected ')'")
        self._at += 1
        return inner

    def _literal(self) -> Node:
        self._at += 1
        # Nearly all of a long grammar is literals without escapes.
        plain = _PLAIN.match(self._text, self._at)
        chars = [plain[0]] if plain else []
        self._at += len(chars[0]) if plain else 0
        while self._peek() != '"':
            chars.append(self._char("a literal"))
        self._at += 1
        return Literal("".join(chars))

    def _chars(self) -> Node:
        self._at += 1
        negated = self._peek() == "^"
        self._at += negated
        ranges: list[tuple[int, int]] = []
        while self._peek() != "]":
            low = high = ord(self._char("a character class"))
            if self._peek() == "-" and self._peek(1) != "]":
                self._at += 1
                high = ord(self._char("a character class"))
            if high < low:
                raise self._error(f"the range {chr(low)!r}-{chr(high)!r} is reversed")
            ranges.append((low, high))
        self._at += 1
        if not ranges:
            raise self._error("empty character class")
        return Chars(tuple(ranges), negated)

    def _char(self, where: str) -> str:
        char = self._peek()
        if not char:
            raise self._error(f"{where} is never closed")
        self._at += 1
        if char != "\\":
            return char
        escape = self._peek()
        self._at += 1
        if escape in _HEX_LENGTHS:
            return self._code_point(escape)
        if not escape or escape not in _ESCAPES:
            raise self._error(f"unknown escape '\\{escape if escape.isprintable() else '?'}'")
        return _ESCAPES[escape]

    def _code_point(self, escape: str) -> str:
        length = _HEX_LENGTHS[escape]
        digits = self._text[self._at : self._at + length]
        if len(digits) != length or any(digit not in string.hexdigits for digit in digits):
            raise self._error(f"'\\{escape}' needs {length} hexadecimal digits")
        value = int(digits, 16)
        if value > MAX_CODE_POINT or value in _SURROGATES:
            raise self._error(f"'\\{escape}{digits}' is no character")
        self._at += length
        return chr(value)

    def _bounds(self) -> tuple[int, int | None] | None:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        char = self._peek()
        if char in simple:
            self._at += 1
            return simple[char]
        if char != "{":
            return None
        self._at += 1
        low = self._number()
        high: int | None = low
        if self._peek() == ",":
            self._at += 1
            self._skip(newlines=True)
            high = None if self._peek() == "}" else self._number()
        if self._peek() != "}":
            raise self._error("expected '}'")
        self._at += 1
        if high is not None and high < low:
            raise self._error(f"the repetition {{{low},{high}}} is reversed")
        return low, high

    def _number(self) -> int:
        self._skip(newlines=True)
        start = self._at
        while self._peek() and self._peek() in string.digits:
            self._at += 1
        if start == self._at:
            raise self._error("expected a number")
        value = int(self._text[start : self._at])
        self._skip(newlines=True)
        return value

    def _name(self) -> str:
        start = self._at
        while self._text[self._at : self._at + 1] in _NAME:
            self._at += 1
        if start == self._at:
            raise self._error("expected a rule name")
        return self._text[start : self._at]

    def _skip(self, *, newlines: bool) -> None:
        """Past blanks and comments; past line ends too if `newlines`."""
        blank = (_BLANK_LINES if newlines else _BLANK).match(self._text, self._at)
        self._at = blank.end() if blank else self._at

    def _peek(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1

    def _error(self, message: str) -> ArigraphError:
        return ArigraphError(f"grammar line {self._line()}: {message}")
