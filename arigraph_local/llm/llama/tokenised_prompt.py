"""From the turns of a request to the tokens a model reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arigraph_local.errors import ArigraphError, ContextOverflowError
from arigraph_local.llm.chat.chat_format import ChatFormat, Part
from arigraph_local.llm.engine import Message, Request
from arigraph_local.llm.llama.chunks import Chunk, in_chunks
from arigraph_local.llm.llama.llama_model import LlamaModel


@dataclass(frozen=True)
class TokenisedPrompt:
    """A prompt's text and its tokens, in chunks that its turns alone decide.

    `last_turn` is how many tokens come before the last turn: what a conversation has been so far.
    """

    text: str
    chunks: tuple[Chunk, ...]
    last_turn: int

    @property
    def size(self) -> int:
        """Tokens of the prompt."""
        return sum(len(chunk) for chunk in self.chunks)


class PromptTokeniser:
    """One model's chat format and vocabulary. Usable from many threads once it is made."""

    def __init__(self, model: LlamaModel, chat: ChatFormat, *, chunk_tokens: int) -> None:
        """`chunk_tokens` is the most tokens of one chunk."""
        self._model = model
        self._chat = chat
        self._chunk_tokens = chunk_tokens
        self._bos_text = model.text_of([model.bos])
        # What the vocabulary does with spaces is found out at the first use, which may be one of
        # several at once otherwise.
        model.tokenize("x", first=False)

    def tokenise(self, messages: Sequence[Message]) -> TokenisedPrompt:
        """Each turn is tokenised by itself and begins a chunk, unless the turn before is joined
        to it; a reply keeps the chunks it was generated in.

        Raises `ArigraphError` when there are no turns or the template refuses them.
        """
        if not messages:
            raise ArigraphError("a request needs at least one turn")
        text: list[str] = []
        chunks: list[Chunk] = []
        joined: list[int] = []
        before_last = 0
        for part in self._chat.parts(messages):
            before_last = len(chunks)
            if part.reply is not None and part.reply.chunks and text:
                chunks += in_chunks(joined, self._chunk_tokens)
                joined = []
                chunks += part.reply.chunks
                text.append(part.reply.content)
                part = replace(part, pieces=(part.closing,))
            tokens = self._tokens(part, first=not text)
            if not text and self._model.adds_bos and tokens[:1] != [self._model.bos]:
                tokens.insert(0, self._model.bos)
                text.append(self._bos_text)
            text.append(part.text)
            joined += tokens
            if not part.joined:
                chunks += in_chunks(joined, self._chunk_tokens)
                joined = []
        chunks += in_chunks(joined, self._chunk_tokens)
        last_turn = sum(len(chunk) for chunk in chunks[:before_last])
        return TokenisedPrompt("".join(text), tuple(chunks), last_turn)

    def _tokens(self, part: Part, *, first: bool) -> list[int]:
        tokens: list[int] = []
        for index, piece in enumerate(part.pieces):
            tokens += self._model.tokenize(piece, first=first and index == 0)
        return tokens


def check_room(request: Request, size: int, reasoning: int, context_tokens: int) -> None:
    """Raise `ContextOverflowError` if prompt, reasoning and reply can outgrow the context.

    `size` is the prompt's tokens, `reasoning` the most that the free part before the reply takes.
    """
    reply = reasoning + request.limits.max_tokens
    needed = size + reply
    if needed > context_tokens:
        raise ContextOverflowError(
            f"task '{request.task}' needs {needed} tokens ({size} of prompt and "
            f"{reply} for the reply), the context holds "
            f"{context_tokens}: set --context to {needed} or more"
        )
