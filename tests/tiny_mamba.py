"""A random recurrent model of a few kilobytes: its memory cannot drop the end of a sequence."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

WIDTH, INNER, STATE, RANK, KERNEL, LAYERS = 16, 32, 8, 2, 4, 2
_ALIGNMENT = 32
_STRING, _ARRAY, _UINT32, _INT32, _FLOAT32 = 8, 9, 4, 5, 6
_NORMAL, _CONTROL = 1, 3


def write_tiny_mamba(path: Path) -> None:
    """Write a GGUF that llama.cpp loads, with ChatML's two control tokens and every byte."""
    tensors = _tensors(len(_vocabulary()))
    data = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(_metadata())))
    for key, (kind, value) in _metadata().items():
        data += _string(key) + struct.pack("<I", kind) + _value(kind, value)
    offset = 0
    for name, tensor in tensors.items():
        shape = tensor.shape[::-1]
        data += _string(name) + struct.pack("<I", len(shape))
        data += struct.pack(f"<{len(shape)}QIQ", *shape, 0, offset)
        offset += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
    for tensor in tensors.values():
        data += b"\0" * (-len(data) % _ALIGNMENT)
        data += tensor.tobytes()
    path.write_bytes(data)


def _metadata() -> dict[str, tuple[int, Any]]:
    tokens = _vocabulary()
    kinds = [_NORMAL] * (len(tokens) - 2) + [_CONTROL] * 2
    sizes = {
        "context_length": 4096,
        "embedding_length": WIDTH,
        "feed_forward_length": 0,
        "attention.head_count": 0,
        "block_count": LAYERS,
        "ssm.conv_kernel": KERNEL,
        "ssm.inner_size": INNER,
        "ssm.state_size": STATE,
        "ssm.time_step_rank": RANK,
    }
    return {
        "general.architecture": (_STRING, "mamba"),
        **{f"mamba.{name}": (_UINT32, size) for name, size in sizes.items()},
        "mamba.attention.layer_norm_rms_epsilon": (_FLOAT32, 1e-5),
        "tokenizer.ggml.model": (_STRING, "gpt2"),
        "tokenizer.ggml.pre": (_STRING, "default"),
        "tokenizer.ggml.tokens": (_ARRAY, (_STRING, tokens)),
        "tokenizer.ggml.token_type": (_ARRAY, (_INT32, kinds)),
        "tokenizer.ggml.merges": (_ARRAY, (_STRING, ["a b"])),
        "tokenizer.ggml.eos_token_id": (_UINT32, len(tokens) - 1),
    }


def _vocabulary() -> list[str]:
    """Every byte as GPT-2 spells it, one merge, the control tokens."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    spelt = {byte: chr(byte) for byte in shown} | {
        byte: chr(256 + index) for index, byte in enumerate(hidden)
    }
    return [*(spelt[byte] for byte in range(256)), "ab", "<|im_start|>", "<|im_end|>"]


def _tensors(vocabulary: int) -> dict[str, npt.NDArray[np.float32]]:
    chance = np.random.default_rng(0)

    def random(*shape: int) -> npt.NDArray[np.float32]:
        return chance.standard_normal(shape).astype(np.float32) / np.float32(shape[-1] ** 0.5)

    tensors = {"token_embd.weight": random(vocabulary, WIDTH), "output_norm.weight": _ones(WIDTH)}
    for layer in range(LAYERS):
        tensors |= {
            f"blk.{layer}.attn_norm.weight": _ones(WIDTH),
            f"blk.{layer}.ssm_in.weight": random(2 * INNER, WIDTH),
            f"blk.{layer}.ssm_conv1d.weight": random(INNER, KERNEL),
            f"blk.{layer}.ssm_conv1d.bias": random(INNER),
            f"blk.{layer}.ssm_x.weight": random(RANK + 2 * STATE, INNER),
            f"blk.{layer}.ssm_dt.weight": random(INNER, RANK),
            f"blk.{layer}.ssm_dt.bias": random(INNER),
            f"blk.{layer}.ssm_a": -np.abs(random(INNER, STATE)) - 1,
            f"blk.{layer}.ssm_d": _ones(INNER),
            f"blk.{layer}.ssm_out.weight": random(WIDTH, INNER),
        }
    return tensors


def _ones(size: int) -> npt.NDArray[np.float32]:
    return np.ones(size, dtype=np.float32)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(kind: int, value: Any) -> bytes:
    if kind == _STRING:
        return _string(value)
    if kind == _ARRAY:
        inner, items = value
        data = b"".join(_value(inner, item) for item in items)
        return struct.pack("<IQ", inner, len(items)) + data
    return struct.pack({_UINT32: "<I", _INT32: "<i", _FLOAT32: "<f"}[kind], value)
