from __future__ import annotations

from pathlib import Path

import pytest

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.files.catalogue import load_catalogue
from arigraph_local.llm.files.gguf import GGUFHeader
from arigraph_local.llm.llama.context_options import ContextOptions
from arigraph_local.llm.llama.memory_need import (
    Memory,
    MemoryNeed,
    cache_bytes,
    check_memory,
    memory_here,
)

CATALOGUE = load_catalogue()
GB = 10**9
SMOLLM: dict[str, str | int] = {
    "general.architecture": "llama",
    "llama.block_count": 30,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "llama.embedding_length": 576,
}


def header(metadata: dict[str, str | int]) -> GGUFHeader:
    return GGUFHeader(3, metadata, 0, 0, 0)


def refusal(need: MemoryNeed, memory: Memory, *, mapped: bool, family: str | None = None) -> str:
    with pytest.raises(ArigraphError) as caught:
        check_memory("big", need, memory, CATALOGUE.values(), mapped=mapped, family=family)
    return str(caught.value)


def test_the_cache_grows_with_tokens_layers_and_bits() -> None:
    plain = cache_bytes(header(SMOLLM), 1000, ContextOptions())
    assert plain == 1000 * 30 * 3 * (64 + 64) * 2
    assert cache_bytes(header(SMOLLM), 2000, ContextOptions()) == 2 * plain
    assert cache_bytes(header(SMOLLM), 1000, ContextOptions(kv_type="q8_0")) == plain * 8.5 / 16
    wide = SMOLLM | {"llama.attention.key_length": 128, "llama.attention.value_length": 128}
    assert cache_bytes(header(wide), 1000, ContextOptions()) == 2 * plain


def test_a_file_that_does_not_tell_counts_nothing() -> None:
    assert cache_bytes(header({"general.architecture": "mamba"}), 1000, ContextOptions()) == 0


def test_weights_that_fit_only_unmapped_are_refused_with_what_would_fit() -> None:
    need = MemoryNeed(5 * GB, GB // 2)
    message = refusal(need, Memory(2 * GB, 16 * GB), mapped=False)
    assert message == (
        "no memory for big: it needs 5.5 GB (5.0 GB of weights, 500 MB of context), there are "
        "2.0 GB; qwen2.5-coder-1.5b (Q4_K_M, 1.1 GB) would fit"
    )
    check_memory("big", need, Memory(2 * GB, 16 * GB), CATALOGUE.values(), mapped=True)


def test_mapped_weights_are_refused_where_the_whole_memory_is_too_small() -> None:
    need = MemoryNeed(5 * GB, GB // 2)
    assert "there are 4.0 GB" in refusal(need, Memory(3 * GB, 4 * GB), mapped=True)


def test_a_model_of_the_same_family_comes_first() -> None:
    message = refusal(MemoryNeed(5 * GB, 0), Memory(2 * GB, 4 * GB), mapped=False, family="smollm2")
    assert message.endswith("; smollm2-135m (Q4_1, 98 MB) would fit")


def test_a_context_too_large_is_what_is_named_for_a_small_model() -> None:
    message = refusal(MemoryNeed(GB // 10, 9 * GB), Memory(8 * GB, 16 * GB), mapped=True)
    assert message.endswith("set --context to less, or --kv-type to q8_0")
    assert "no model" in refusal(MemoryNeed(5 * GB, 0), Memory(1, 1), mapped=False)


def test_where_nothing_is_known_nothing_is_refused(tmp_path: Path) -> None:
    memory = memory_here(tmp_path / "absent", tmp_path)
    assert memory == Memory(None, None)
    check_memory("big", MemoryNeed(GB, GB), memory, [], mapped=False)


def test_a_control_group_leaves_less_than_the_machine(tmp_path: Path) -> None:
    proc = tmp_path / "meminfo"
    proc.write_text("MemTotal: 8000 kB\nMemFree: 1 kB\nMemAvailable: 4000 kB\n")
    assert memory_here(proc, tmp_path) == Memory(4000 * 1024, 8000 * 1024)
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_here(proc, tmp_path) == Memory(4000 * 1024, 8000 * 1024)
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("900000\n")
    (tmp_path / "memory.stat").write_text("anon 500000\nfile 400000\nslab 1\n")
    assert memory_here(proc, tmp_path) == Memory(500000, 1000000)
