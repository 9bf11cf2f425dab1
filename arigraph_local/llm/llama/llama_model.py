"""A GGUF model through llama.cpp's low-level API: weights, vocabulary, metadata."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from arigraph_local.errors import ArigraphError, ModelFileError, UsageError
from arigraph_local.llm.files.model_file import Fingerprint
from arigraph_local.llm.grammar.token_grammar import TokenGrammars
from arigraph_local.llm.llama.adapters import LoadedAdapters
from arigraph_local.llm.llama.llama_api import (
    api,
    first_log_error,
    forget_log_errors,
    start_backend,
)
from arigraph_local.llm.llama.mapped_pages import release_pages
from arigraph_local.llm.llama.model_options import ModelOptions

_MAGIC = b"GGUF"
_PIECE_BYTES = 256
_LOAD_MODES = {  # (mmap, mlock)
    (False, False): api.LLAMA_LOAD_MODE_NONE,
    (True, False): api.LLAMA_LOAD_MODE_MMAP,
    (False, True): api.LLAMA_LOAD_MODE_MLOCK,
    (True, True): api.LLAMA_LOAD_MODE_MMAP_MLOCK,
}


class LlamaModel:
    """Weights and vocabulary of one GGUF file."""

    def __init__(self, path: Path, *, name: str, options: ModelOptions | None = None) -> None:
        """`name` is what errors call the model.

        Raises `ModelFileError` when the file is missing, is not a GGUF, or does not load, or an
        adapter does not; `ArigraphError` when there is no memory for the weights.
        """
        options = options or ModelOptions()
        _check_header(path)
        self.name = name
        self._path = path
        self._file = Fingerprint.of(path)
        self.handle = _load(path, name, options)
        try:
            self._adapters = LoadedAdapters(self.handle, name, options.adapters)
        except ArigraphError:
            self.free()
            raise
        if options.mmap and not options.mlock:
            release_pages(path)
        self.vocab = api.llama_model_get_vocab(self.handle)
        self._buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        self.vocab_size = int(api.llama_vocab_n_tokens(self.vocab))

    def free(self) -> None:
        """Release the weights. Freeing twice is harmless."""
        if self.handle:
            api.llama_model_free(self.handle)
            self.handle = None

    def check_unchanged(self) -> None:
        """Raise `ModelFileError` if the file was replaced or written to since it was loaded."""
        self._file.check(self._path)

    def apply_adapters(self, context: Any) -> None:
        """Lay the LoRA adapters, if there are any, over the weights for one context's handle."""
        self._adapters.apply(context)

    def check_context(self, context_tokens: int) -> None:
        """Raise `UsageError` if the model was trained for fewer tokens than asked."""
        trained = int(api.llama_model_n_ctx_train(self.handle))
        if 0 < trained < context_tokens:
            raise UsageError(
                f"{self.name} was trained for {trained} tokens of context, "
                f"{context_tokens} is more: set --context to {trained} or less"
            )

    @cached_property
    def chat_template(self) -> str | None:
        """The Jinja chat template in the file, if it has one."""
        template = api.llama_model_chat_template(self.handle, None)
        return template.decode(errors="replace") if template else None

    @cached_property
    def adds_bos(self) -> bool:
        """Whether every prompt must begin with the BOS token."""
        return bool(api.llama_vocab_get_add_bos(self.vocab))

    @cached_property
    def bos(self) -> int:
        """The BOS token, -1 if the vocabulary has none."""
        return int(api.llama_vocab_bos(self.vocab))

    @cached_property
    def eos(self) -> int:
        """The EOS token, -1 if the vocabulary has none."""
        return int(api.llama_vocab_eos(self.vocab))

    @cached_property
    def ends(self) -> frozenset[int]:
        """Every token that ends a turn (EOS, EOT and the like)."""
        tokens = range(self.vocab_size)
        return frozenset(token for token in tokens if api.llama_vocab_is_eog(self.vocab, token))

    @cached_property
    def control_texts(self) -> list[str]:
        """The texts of control tokens, which content must not be able to spell."""
        return [
            self.piece(token, special=True).decode(errors="replace")
            for token in range(self.vocab_size)
            if token in self.ends or api.llama_vocab_is_control(self.vocab, token)
        ]

    @cached_property
    def grammars(self) -> TokenGrammars:
        """Grammars over this vocabulary; made at the first use, which takes about a second."""
        import llguidance

        tokenizer = llguidance.LLTokenizer.from_llamacpp(
            tokens=[self._grammar_bytes(token) for token in range(self.vocab_size)],
            vocab_ptr=self.vocab,
            tokenize_fptr=ctypes.cast(api._lib.llama_tokenize, ctypes.c_void_p).value,
            eos_token=sorted(self.ends) or self.eos,
        )
        return TokenGrammars(tokenizer, self.ends)

    def _grammar_bytes(self, token: int) -> bytes:
        """The bytes of a token as llguidance wants them: 0xFF before one that is no text."""
        piece = self.piece(token, special=True)
        attributes = api.llama_vocab_get_attr(self.vocab, token)
        special = token in self.ends or attributes & api.LLAMA_TOKEN_ATTR_CONTROL
        if attributes & api.LLAMA_TOKEN_ATTR_USER_DEFINED:
            special = special or (piece.startswith(b"<") and piece.endswith(b">"))
        return b"\xff" + piece if special else piece

    @cached_property
    def _space_prefix(self) -> list[int] | None:
        """The tokens of a newline, where the vocabulary puts a space before every text."""
        if not self.piece(self._tokenize("x")[0]).startswith(b" "):
            return None
        return self._tokenize("\n")

    def tokenize(self, text: str, *, first: bool) -> list[int]:
        """Tokens of a text, control tokens recognised, no BOS added.

        A text that is not the `first` of a prompt gets no space put before it, which
        SentencePiece vocabularies would do.
        """
        if not text:
            return []
        if not first and self._space_prefix:
            guarded = self._tokenize(f"\n{text}")
            if guarded[: len(self._space_prefix)] == self._space_prefix:
                return guarded[len(self._space_prefix) :]
        return self._tokenize(text)

    def _tokenize(self, text: str) -> list[int]:
        data = text.encode(errors="replace")
        room = len(data) + 8
        tokens = (api.llama_token * room)()
        count = api.llama_tokenize(self.vocab, data, len(data), tokens, room, False, True)
        if count < 0:
            tokens = (api.llama_token * -count)()
            count = api.llama_tokenize(self.vocab, data, len(data), tokens, -count, False, True)
        return list(tokens[:count])

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of one token; empty for a control token unless `special`."""
        buffer = self._buffer
        size = api.llama_token_to_piece(self.vocab, token, buffer, len(buffer), 0, special)
        if size < 0:
            buffer = self._buffer = ctypes.create_string_buffer(-size)
            size = api.llama_token_to_piece(self.vocab, token, buffer, len(buffer), 0, special)
        return buffer.raw[:size]

    def text_of(self, tokens: Iterable[int]) -> str:
        """The text of tokens, control tokens included."""
        data = b"".join(self.piece(token, special=True) for token in tokens if token >= 0)
        return data.decode(errors="replace")


def _load(path: Path, name: str, options: ModelOptions) -> Any:
    start_backend()
    forget_log_errors()
    params = api.llama_model_default_params()
    params.n_gpu_layers = options.gpu_layers
    params.load_mode = _LOAD_MODES[options.mmap, options.mlock]
    handle = api.llama_model_load_from_file(os.fsencode(path), params)
    if handle:
        return handle
    reason = first_log_error()
    if "alloc" in reason:
        size = path.stat().st_size / 1e9
        raise ArigraphError(f"no memory for {name}: its weights need {size:.1f} GB: {reason}")
    raise ModelFileError(f"{path} does not load: {reason}")


def _check_header(path: Path) -> None:
    try:
        with path.open("rb") as file:
            header = file.read(len(_MAGIC))
    except OSError as error:
        raise ModelFileError(f"cannot read the model {path}: {error.strerror}") from error
    if header != _MAGIC:
        raise ModelFileError(f"{path} is not a GGUF file")
