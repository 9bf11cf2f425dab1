"""Chat templates: turns of a conversation to the text a model was trained on.

The template is the one in the GGUF (`tokenizer.chat_template`, Jinja) or one of the built-in
formats. A rendering is split at turn boundaries, because an engine keeps and reuses whole turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NoReturn

from arigraph_local.errors import ArigraphError, ModelFileError, unknown_name
from arigraph_local.llm.engine import Message

FORMATS: Mapping[str, str] = {
    "chatml": (
        "{% for message in messages %}"
        "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
        "{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    "llama-3": (
        "{{ bos_token }}{% for message in messages %}"
        "<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n"
        "{{ message.content }}<|eot_id|>"
        "{% endfor %}"
        "{% if add_generation_prompt %}"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
        "{% endif %}"
    ),
    "plain": (
        "{{ bos_token }}{% for message in messages %}"
        "{% if message.role == 'user' %}User:\n{% elif message.role == 'assistant' %}"
        "Assistant:\n{% endif %}"
        "{{ message.content }}\n\n"
        "{% endfor %}"
        "{% if add_generation_prompt %}Assistant:\n{% endif %}"
    ),
}

_MARK = "\ufdd0"
_FIXED_DATE = datetime(2024, 7, 26)


@dataclass(frozen=True)
class Part:
    """What one turn (or several that cannot be told apart) adds to the rendering.

    `pieces` joined are the text. Between two pieces runs the middle of something that looks like a
    control token inside a turn's content: pieces must be tokenised one by one, so that it stays
    text. `reply` is the assistant turn this part renders, with `closing` the text the template
    puts after it; both unset where the part is anything else. `joined` says that the next part
    always follows.
    """

    pieces: tuple[str, ...]
    reply: Message | None = None
    closing: str = ""
    joined: bool = False

    @property
    def text(self) -> str:
        """The text of the part, as the model reads it."""
        return "".join(self.pieces)


class ChatFormat:
    """A compiled chat template with the token texts of one model."""

    def __init__(
        self,
        template: str,
        *,
        name: str,
        bos: str = "",
        eos: str = "",
        control: Iterable[str] = (),
    ) -> None:
        """`name` is what errors call the template; `control` are the texts of control tokens.

        Raises `ModelFileError` if the template is not valid Jinja.
        """
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        self._name = name
        self._tokens = {"bos_token": bos, "eos_token": eos}
        # Some vocabularies have thousands of control tokens, nearly all beginning alike.
        self._control: dict[str, list[str]] = {}
        for text in control:
            if len(text) > 1:
                self._control.setdefault(text[:2], []).append(text)
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = _strftime_fixed
        try:
            self._template = environment.from_string(template)
        except jinja2.TemplateError as error:
            raise ModelFileError(
                f"the chat template of {name} is not valid: {_one_line(error)}; "
                f"choose one with --chat-format ({', '.join(FORMATS)})"
            ) from error

    def render(self, messages: Sequence[Message]) -> str:
        """The whole rendering, ready for the next reply; equals the joined parts."""
        return "".join(self.render_parts(messages))

    def render_parts(self, messages: Sequence[Message]) -> list[str]:
        """What each turn adds; the generation prompt belongs to the turn before a reply.

        Raises `ArigraphError` if the template refuses these turns.
        """
        return [part.text for part in self.parts(messages)]

    def parts(self, messages: Sequence[Message]) -> list[Part]:
        """As `render_parts`, with what an engine needs to tokenise and reuse each part.

        Turns whose rendering changes when later turns follow share one part.
        """
        turns = [replace(m, content=self._marked(m.content)) for m in self._folded(messages)]
        whole = self._render(turns, for_reply=_awaits_reply(turns, len(turns)))
        parts: list[Part] = []
        start = first = 0
        for count in range(1, len(turns) + 1):
            text = whole if count == len(turns) else self._prefix(turns, count)
            if text is None or len(text) < start or not whole.startswith(text):
                continue
            alone = turns[first] if count == first + 1 else None
            part = _part(whole[start : len(text)], alone)
            parts.append(replace(part, joined=turns[count - 1].joined))
            start, first = len(text), count
        return parts

    @cached_property
    def has_system_role(self) -> bool:
        """Whether the template shows a system turn at all."""
        probe = [Message("system", "sys§probe"), Message("user", "user§probe")]
        try:
            return "sys§probe" in self._render(probe, for_reply=True)
        except ArigraphError:
            return False

    def _folded(self, messages: Sequence[Message]) -> list[Message]:
        turns = list(messages)
        if not turns or turns[0].role != "system" or self.has_system_role:
            return turns
        if len(turns) > 1 and turns[1].role == "user":
            both = f"{turns[0].content}\n\n{turns[1].content}"
            return [replace(turns[1], content=both), *turns[2:]]
        return [Message("user", turns[0].content), *turns[1:]]

    def _marked(self, content: str) -> str:
        marked = content.replace(_MARK, "")
        for beginning, texts in self._control.items():
            if beginning in marked:
                for text in texts:
                    marked = marked.replace(text, f"{text[0]}{_MARK}{text[1:]}")
        return marked

    def _prefix(self, turns: Sequence[Message], count: int) -> str | None:
        """The rendering of the first `count` turns, None if the template refuses them alone."""
        try:
            return self._render(turns[:count], for_reply=_awaits_reply(turns, count))
        except ArigraphError:
            return None

    def _render(self, turns: Sequence[Message], *, for_reply: bool) -> str:
        import jinja2

        try:
            return self._template.render(
                messages=[{"role": turn.role, "content": turn.content} for turn in turns],
                add_generation_prompt=for_reply,
                enable_thinking=False,
                **self._tokens,
            )
        # A template is foreign code: it can fail as a template or as any expression can.
        except (jinja2.TemplateError, TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise ArigraphError(
                f"the chat template of {self._name} refuses these turns "
                f"({', '.join(turn.role for turn in turns)}): {_one_line(error)}"
            ) from error


def choose_format(
    requested: str | None,
    *,
    model_id: str,
    template: str | None,
    bos: str = "",
    eos: str = "",
    control: Iterable[str] = (),
) -> ChatFormat:
    """The format asked for by name, else the model's own template.

    Raises `UsageError` for an unknown name and `ModelFileError` when there is neither.
    """
    if requested is not None:
        if requested not in FORMATS:
            raise unknown_name("chat format", requested, FORMATS)
        text, name = FORMATS[requested], f"the format '{requested}'"
    elif template:
        text, name = template, model_id
    else:
        raise ModelFileError(
            f"{model_id} has no chat template: choose one with --chat-format "
            f"({', '.join(FORMATS)}; plain for base models)"
        )
    return ChatFormat(text, name=name, bos=bos, eos=eos, control=control)


def _part(marked: str, turn: Message | None) -> Part:
    pieces = tuple(marked.split(_MARK))
    if turn is None or turn.role != "assistant":
        return Part(pieces)
    # Templates often trim a turn; what follows the reply is then found after the trimmed text.
    for content in (turn.content, turn.content.strip()):
        if marked.startswith(content):
            closing = marked[len(content) :]
            reply = replace(turn, content=turn.content.replace(_MARK, ""))
            return Part(pieces, reply, closing)
    return Part(pieces)


def _awaits_reply(turns: Sequence[Message], count: int) -> bool:
    """Whether the generation prompt belongs after the first `count` turns."""
    if turns and turns[count - 1].role == "assistant":
        return False
    return count == len(turns) or turns[count].role == "assistant"


def _raise_exception(message: str) -> NoReturn:
    import jinja2

    raise jinja2.TemplateError(message)


def _strftime_fixed(pattern: str) -> str:
    # A template that writes today's date would make the same run differ from day to day.
    return _FIXED_DATE.strftime(pattern)


def _one_line(error: Any) -> str:
    return " ".join(str(error).split())
