"""How a llama.cpp context computes and stores: batch sizes, attention kernel, cache precision.

Independent of where the settings come from, so that an engine takes one `ContextOptions`, calls
`options.apply(params)` on its `llama_context_params` before `llama_init_from_model`, and
`model.apply_adapters(context_handle)` after it. What belongs to the weights is in
`model_options.ModelOptions`, which `LlamaModel` takes as `options=`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

FlashAttention: TypeAlias = Literal["auto", "on", "off"]
KvType: TypeAlias = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]

_FLASH: dict[FlashAttention, int] = {"auto": -1, "off": 0, "on": 1}
_GGML: dict[KvType, int] = {
    "f32": 0,
    "f16": 1,
    "q4_0": 2,
    "q4_1": 3,
    "q5_0": 6,
    "q5_1": 7,
    "q8_0": 8,
    "bf16": 30,
}
_BITS: dict[KvType, float] = {
    "f32": 32.0,
    "f16": 16.0,
    "bf16": 16.0,
    "q8_0": 8.5,
    "q5_1": 6.0,
    "q5_0": 5.5,
    "q4_1": 5.0,
    "q4_0": 4.5,
}


def is_quantised(kv_type: KvType) -> bool:
    """Whether the type packs values in blocks, which llama.cpp's plain attention cannot read."""
    return kv_type.startswith("q")


@dataclass(frozen=True)
class ContextOptions:
    """What a context is made with, beyond its size, sequences and threads.

    `batch` is the most tokens of one decode call, `micro_batch` the most that are computed
    together inside it (llama.cpp's `n_batch` and `n_ubatch`); both decide the last bits of
    logits. `kv_type` stores keys and values alike.
    """

    batch: int = 512
    micro_batch: int = 512
    flash_attention: FlashAttention = "auto"
    kv_type: KvType = "f16"

    def apply(self, params: Any) -> None:
        """Set these options on a `llama_context_params`; nothing else of it is touched."""
        params.n_batch = self.batch
        params.n_ubatch = self.micro_batch
        params.flash_attn_type = _FLASH[self.flash_attention]
        params.type_k = params.type_v = _GGML[self.kv_type]

    @property
    def kv_bits(self) -> float:
        """Bits that one cached value takes, block scales included."""
        return _BITS[self.kv_type]
