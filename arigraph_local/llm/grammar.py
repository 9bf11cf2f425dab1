"""Grammar-constrained decoding: GBNF run by llguidance, which sees bytes and tokens.

llguidance matches terminals greedily, so `[a-z]+ "x"` translated terminal by terminal would never
match "abx". Two translations keep GBNF's meaning exactly: a grammar without recursion becomes one
terminal, that is one regular expression; a recursive one gets a terminal for every single
character, which leaves nothing to be greedy about.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.gbnf import (
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

_BYTE_END = 256
_KEPT = 64


def to_lark(gbnf: str) -> list[str]:
    """A GBNF grammar in llguidance's Lark dialect: equivalent texts, the fastest first.

    Raises `ArigraphError` naming the line of a syntax error or an undefined rule.
    """
    rules = parse_gbnf(gbnf)
    reachable = _closure("root", rules) | {"root"}
    recursive = any(name in _closure(name, rules) for name in reachable)
    kept = {name: node for name, node in rules.items() if name in reachable}
    return [
        _translate(kept, by_char=by_char) for by_char in ((True,) if recursive else (False, True))
    ]


def _translate(rules: Mapping[str, Node], *, by_char: bool) -> str:
    prefix = "r" if by_char else "T"
    names = {name: f"{prefix}{index}" for index, name in enumerate(rules)}
    lines = [f"start: {names['root']}"]
    lines += [
        f"{names[name]}: {_lark(node, names, by_char=by_char)}" for name, node in rules.items()
    ]
    return "\n".join(lines) + "\n"


def _closure(name: str, rules: Mapping[str, Node]) -> set[str]:
    """Every rule that `name` leads to; `name` itself only if it is recursive."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for reference in references(rules[waiting.pop()]):
            if reference.name not in found:
                found.add(reference.name)
                waiting.append(reference.name)
    return found


def _lark(node: Node, names: Mapping[str, str], *, by_char: bool) -> str:
    match node:
        case Literal(text=""):
            return '""'
        case Literal(text=text) if by_char:
            return "(" + " ".join(f"/{_escape(ord(char))}/" for char in text) + ")"
        case Literal(text=text):
            return "/" + "".join(_escape(ord(char)) for char in text) + "/"
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


def _escape(code_point: int) -> str:
    return f"\\x{{{code_point:x}}}"


class Constraint:
    """Where one reply stands in its grammar.

    Tokens are ids of the vocabulary the `TokenGrammars` was made for. Ids that end a turn are
    allowed exactly where the text so far is complete; they are never consumed.
    """

    def __init__(self, matcher: Any, ends: frozenset[int], vocab_size: int) -> None:
        self._matcher = matcher
        self._ends = ends
        self._vocab_size = vocab_size

    def try_consume(self, token: int) -> bool:
        """Take `token` if the grammar allows it here; otherwise change nothing."""
        if token in self._ends:
            return False
        return bool(self._matcher.try_consume_tokens([token]) == 1)

    def allowed(self) -> npt.NDArray[np.bool_]:
        """For each id of the vocabulary, whether it may come next; shape (vocabulary,).

        Raises `ArigraphError` when the grammar has grown too complex to follow.
        """
        packed = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        if self._matcher.is_error():
            raise ArigraphError(f"grammar: {_first_line(self._matcher.get_error())}")
        mask = np.unpackbits(packed, bitorder="little")[: self._vocab_size].astype(np.bool_)
        if mask.size < self._vocab_size:
            mask = np.pad(mask, (0, self._vocab_size - mask.size))
        mask[list(self._ends)] = self.accepting
        return mask

    def forced(self) -> list[int]:
        """Tokens that must come next whatever the model prefers; often none."""
        return [int(token) for token in self._matcher.compute_ff_tokens()]

    @property
    def accepting(self) -> bool:
        """Whether the text so far is complete; more may still be allowed."""
        return bool(self._matcher.is_accepting())

    @property
    def finished(self) -> bool:
        """Whether the text so far is complete and nothing can follow."""
        return bool(self._matcher.is_stopped() and not self._matcher.is_error())


class TokenGrammars:
    """Compiles grammars for one vocabulary, and keeps those compiled last."""

    def __init__(self, tokenizer: Any, ends: frozenset[int]) -> None:
        """`tokenizer` is an `llguidance.LLTokenizer`; `ends` are the ids that end a turn."""
        self._tokenizer = tokenizer
        self._ends = ends
        self._compiled: dict[str, Any] = {}

    def constraint(self, gbnf: str) -> Constraint:
        """A fresh constraint at the start of the grammar.

        Raises `ArigraphError` if the grammar does not compile.
        """
        matcher = self._compiled.pop(gbnf, None) or self._compile(gbnf)
        self._compiled[gbnf] = matcher
        if len(self._compiled) > _KEPT:
            del self._compiled[next(iter(self._compiled))]
        return Constraint(matcher.deep_copy(), self._ends, int(self._tokenizer.vocab_size))

    def _compile(self, gbnf: str) -> Any:
        import llguidance

        error = ""
        for lark in to_lark(gbnf):
            grammar = llguidance.LLMatcher.grammar_from_lark(lark)
            matcher = llguidance.LLMatcher(self._tokenizer, grammar, log_level=0)
            if not matcher.is_error():
                return matcher
            # A few regular expressions make llguidance panic: then character by character.
            error = matcher.get_error()
        raise ArigraphError(f"grammar: {_first_line(error)}")


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
    constraint = byte_grammars().constraint(gbnf)
    return all(constraint.try_consume(byte) for byte in text.encode()) and constraint.accepting


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0] if message.strip() else "unknown error"
