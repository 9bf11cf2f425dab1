"""What every task asks of a language model, and what it gets back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant"]
Chunks = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation.

    `chunks` is set on an assistant turn that an engine generated itself: its tokens, grouped as
    they were decoded. An engine that must compute the turn again uses the same groups, because
    logits depend on how many tokens are decoded together. A `joined` turn is never sent without
    the turn after it: both are computed together, which takes less time than one after the other.
    """

    role: Role
    content: str
    chunks: Chunks = ()
    joined: bool = False


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen. Temperature 0 is greedy.

    `top_p` keeps the likeliest tokens that together reach that probability; `min_p` keeps those
    of at least that share of the likeliest one's probability. Both look at the model's own
    distribution, before the grammar refuses anything.
    """

    temperature: float = 0.0
    seed: int = 0
    top_p: float = 1.0
    min_p: float = 0.0


@dataclass(frozen=True)
class Limits:
    """Bounds on one reply: generated tokens, and wall-clock seconds if given."""

    max_tokens: int
    seconds: float | None = None


class StopReason(StrEnum):
    """Why a reply ended."""

    END = "end"
    """The grammar was complete, or the model ended its turn."""
    MAX_TOKENS = "max_tokens"
    SECONDS = "seconds"
    STOPPED = "stopped"
    """`Request.stop_when` said so."""


@dataclass(frozen=True)
class Request:
    """One reply wanted from the model.

    `task` names the entry in the ledger (`extract`, `outdated`, `plan`, `act`).
    `conversation` names the kept token prefix that this request continues: the engine reuses
    every leading turn that equals what it last computed under that name.
    `grammar` is GBNF with a `root` rule; without one the reply is free text.
    `stop_when` sees the text generated so far after each token and ends the reply when true.
    `reasoning_tokens` bounds a free part, `<think>…</think>`, that precedes the reply and is no
    part of its text; 0: none.
    `options` are the texts that the reply can be: none is generated, the likeliest is taken, and
    the completion tells how likely each is. Grammar, sampling, limits and reasoning then have no
    say.
    """

    task: str
    conversation: str
    messages: tuple[Message, ...]
    limits: Limits
    grammar: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    stop_when: Callable[[str], bool] | None = None
    reasoning_tokens: int = 0
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Likelihood:
    """How likely a model finds a text as its reply: the natural logarithm of its probability, and
    how many tokens that is the sum of. Tokens that all options begin with are left out."""

    log_probability: float
    tokens: int

    @property
    def per_token(self) -> float:
        """The mean of the tokens' logarithms, which does not favour short texts."""
        return self.log_probability / self.tokens


@dataclass(frozen=True)
class TokenCounts:
    """Prompt tokens computed and reused, and tokens generated, of one or more requests."""

    computed: int = 0
    reused: int = 0
    generated: int = 0

    def __add__(self, other: TokenCounts) -> TokenCounts:
        return TokenCounts(
            self.computed + other.computed,
            self.reused + other.reused,
            self.generated + other.generated,
        )


@dataclass(frozen=True)
class Completion:
    """A reply: its text, the prompt exactly as sent, its cost and why it ended.

    `reasoning` is the free part before it; `cached` tells a reply that a response cache gave;
    `likelihoods` are those of the request's options, in order.
    """

    text: str
    prompt: str
    tokens: TokenCounts
    seconds: float
    stop: StopReason
    chunks: Chunks = ()
    reasoning: str = ""
    cached: bool = False
    likelihoods: tuple[Likelihood, ...] = ()

    def as_message(self) -> Message:
        """The reply as the assistant turn that a following request continues from."""
        return Message("assistant", self.text, self.chunks)


class Engine(Protocol):
    """A language model that answers requests. Implementations: llama.cpp, scripted."""

    @property
    def context_tokens(self) -> int:
        """Tokens that prompt and reply of one request may fill together."""
        ...

    @property
    def model_id(self) -> str:
        """Name and checksum of the model, as recorded in a run."""
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Prompt tokens that these turns take, chat template and BOS included."""
        ...

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer each request, in the order given.

        Raises `ContextOverflowError` when prompt and `max_tokens` do not fit in
        `context_tokens`; the message names the task and both figures.
        """
        ...

    def close(self) -> None:
        """Free the model. Closing twice is harmless."""
        ...
