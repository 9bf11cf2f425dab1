"""Grammar-constrained decoding: GBNF run by llguidance, which sees bytes and tokens.

llguidance matches terminals greedily, so `[a-z]+ "x"` translated terminal by terminal would never
match "abx". Two translations keep GBNF's meaning exactly: a grammar without recursion becomes one
terminal, that is one regular expression; a recursive one gets a terminal for every single
character, which leaves nothing to be greedy about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.grammar.constraint import Constraint, first_line
from arigraph_local.llm.grammar.gbnf import (
    Chars,
    Choice,
    Literal,
    Node,
    Reference,
    Repeat,
    Sequence,
    parse_gbnf,
    references,
)
from arigraph_local.llm.grammar.no_repeats import NoRepeats, Vocabulary

__all__ = ["Constraint", "TokenGrammars", "begins", "byte_grammars", "matches", "to_lark"]

NO_REPEATS = "# no repeats"
"""A first line of a grammar that asks for no item of a list twice; a comment to other readers."""

_BYTE_END = 256
_KEPT = 64


def to_lark(gbnf: str) -> list[str]:
    """A GBNF grammar in llguidance's Lark dialect: equivalent texts, the fastest first.

    Raises `ArigraphError` naming the line of a syntax error or an undefined rule.
    """
    return list(_translations(gbnf))


def _translations(gbnf: str) -> Iterator[str]:
    """As `to_lark`, each made when it is wanted."""
    rules = parse_gbnf(gbnf)
    leads_to = {
        name: {reference.name for reference in references(node)} for name, node in rules.items()
    }
    reachable = _closure("root", leads_to) | {"root"}
    recursive = any(name in _closure(name, leads_to) for name in reachable)
    kept = {name: node for name, node in rules.items() if name in reachable}
    for by_char in (True,) if recursive else (False, True):
        yield _translate(kept, by_char=by_char)


def _translate(rules: Mapping[str, Node], *, by_char: bool) -> str:
    prefix = "r" if by_char else "T"
    names = {name: f"{prefix}{index}" for index, name in enumerate(rules)}
    lines = [f"start: {names['root']}"]
    lines += [
        f"{names[name]}: {_lark(node, names, by_char=by_char)}" for name, node in rules.items()
    ]
    return "\n".join(lines) + "\n"


def _closure(name: str, leads_to: Mapping[str, set[str]]) -> set[str]:
    """Every rule that `name` leads to; `name` itself only if it is recursive."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = leads_to[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _lark(node: Node, names: Mapping[str, str], *, by_char: bool) -> str:
    match node:
        case Literal(text=""):
            return '""'
        case Literal(text=text) if by_char:
            return "(" + " ".join(f"/{_escape(ord(char))}/" for char in text) + ")"
        case Literal(text=text):
            return "/" + "".join(map(_plain_or_escape, text)) + "/"
        case Chars():
            return f"/{_char_class(node)}/"
        case Reference(name=name):
            return names[name]
        case Repeat(low=low, high=high, item=item):
            if high == 0:
                return '""'
            bounds = f"{{{low},{'' if high is None else high}}}"
            return f"({_lark(item, names, by_char=by_char)}){bounds}"
        case Sequence(items=()):
            return '""'
        case Sequence(items=items):
            return "(" + " ".join(_lark(item, names, by_char=by_char) for item in items) + ")"
        case Choice(options=options):
            return "(" + " | ".join(_lark(o, names, by_char=by_char) for o in options) + ")"


def _char_class(chars: Chars) -> str:
    parts = [f"{_escape(low)}-{_escape(high)}" for low, high in chars.ranges]
    return f"[{'^' if chars.negated else ''}{''.join(parts)}]"


def _plain_or_escape(char: str) -> str:
    """Letters and digits as they are, which is read faster."""
    return char if char.isascii() and char.isalnum() else _escape(ord(char))


def _escape(code_point: int) -> str:
    return f"\\x{{{code_point:x}}}"


class TokenGrammars:
    """Compiles grammars for one vocabulary, and keeps those compiled last."""

    def __init__(self, tokenizer: Any, ends: frozenset[int]) -> None:
        """`tokenizer` is an `llguidance.LLTokenizer`; `ends` are the ids that end a turn."""
        self._tokenizer = tokenizer
        self._ends = ends
        self._vocabulary = Vocabulary(tokenizer)
        self._compiled: dict[str, Any] = {}

    def constraint(self, gbnf: str) -> Constraint:
        """A fresh constraint at the start of the grammar.

        It refuses an item that the reply's list already has if the grammar begins with the line
        `NO_REPEATS`. Raises `ArigraphError` if the grammar does not compile.
        """
        matcher, size = self._matcher(gbnf), int(self._tokenizer.vocab_size)
        if gbnf.startswith(NO_REPEATS):
            return NoRepeats(matcher, self._ends, size, self._vocabulary)
        return Constraint(matcher, self._ends, size)

    def derives(self, gbnf: str, tokens: Iterable[int], *, partly: bool = False) -> bool:
        """Whether the grammar derives exactly these tokens, or `partly`, something that begins
        with them; it says nothing about repeats.
        """
        constraint = Constraint(self._matcher(gbnf), self._ends, int(self._tokenizer.vocab_size))
        taken = all(constraint.try_consume(token) for token in tokens)
        return taken and (partly or constraint.accepting)

    def _matcher(self, gbnf: str) -> Any:
        """A matcher of its own for one reply, at the start of the grammar."""
        matcher = self._compiled.pop(gbnf, None) or self._compile(gbnf)
        self._compiled[gbnf] = matcher
        if len(self._compiled) > _KEPT:
            del self._compiled[next(iter(self._compiled))]
        return matcher.deep_copy()

    def _compile(self, gbnf: str) -> Any:
        import llguidance

        error = ""
        for lark in _translations(gbnf):
            grammar = llguidance.LLMatcher.grammar_from_lark(lark)
            matcher = llguidance.LLMatcher(self._tokenizer, grammar, log_level=0)
            if not matcher.is_error():
                return matcher
            # A few regular expressions make llguidance panic: then character by character.
            error = matcher.get_error()
        raise ArigraphError(f"grammar: {first_line(error)}")


class _ByteVocabulary:
    """Every byte is a token; what llguidance's `TokenizerWrapper` asks of a tokenizer."""

    eos_token_id = _BYTE_END
    bos_token_id = None
    tokens = (*(bytes([value]) for value in range(_BYTE_END)), b"\xff<end>")
    special_token_ids = (_BYTE_END,)

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


@lru_cache(maxsize=1)
def byte_grammars() -> TokenGrammars:
    """Grammars over bytes, which need no model: token ids are byte values, 256 ends the text."""
    import llguidance

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(_ByteVocabulary()))
    return TokenGrammars(tokenizer, frozenset({_BYTE_END}))


def matches(gbnf: str, text: str) -> bool:
    """Whether the grammar derives exactly `text`.

    Raises `ArigraphError` if the grammar does not compile.
    """
    return byte_grammars().derives(gbnf, text.encode())


def begins(gbnf: str, text: str) -> bool:
    """Whether the grammar derives some text that begins with `text`.

    Raises `ArigraphError` if the grammar does not compile.
    """
    return byte_grammars().derives(gbnf, text.encode(), partly=True)
