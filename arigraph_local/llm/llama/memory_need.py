"""Whether a model fits in this machine's memory, before it is tried.

Linux promises memory it does not have and kills the process that takes it up on that, so a load
that cannot go well is refused with figures instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from arigraph_local.errors import ArigraphError
from arigraph_local.llm.files.catalogue import CatalogueEntry
from arigraph_local.llm.files.gguf import GGUFHeader
from arigraph_local.llm.files.registry import ModelKind
from arigraph_local.llm.llama.context_options import ContextOptions

_PROC = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes of the weights and of the cache of keys and values."""

    weights: int
    cache: int

    @property
    def total(self) -> int:
        """Bytes of both."""
        return self.weights + self.cache

    def __str__(self) -> str:
        return (
            f"{_size(self.total)} ({_size(self.weights)} of weights, "
            f"{_size(self.cache)} of context)"
        )


def cache_bytes(header: GGUFHeader, tokens: int, options: ContextOptions) -> int:
    """Bytes of the cached keys and values of `tokens` tokens.

    0 where the file does not tell: a recurrent model, or layers of different sizes.
    """
    prefix = header.architecture
    layers = _integer(header, f"{prefix}.block_count")
    heads = _integer(header, f"{prefix}.attention.head_count")
    kv_heads = _integer(header, f"{prefix}.attention.head_count_kv")
    width = _integer(header, f"{prefix}.embedding_length")
    if not (layers and heads and kv_heads and width):
        return 0
    keys = _integer(header, f"{prefix}.attention.key_length") or width // heads
    values = _integer(header, f"{prefix}.attention.value_length") or width // heads
    return int(tokens * layers * kv_heads * (keys + values) * options.kv_bits / 8)


def _integer(header: GGUFHeader, key: str) -> int:
    value = header.metadata.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


@dataclass(frozen=True)
class Memory:
    """Bytes of memory that this process may still take, and that there are; None: unknown."""

    available: int | None
    total: int | None


def memory_here(proc: Path = _PROC, group: Path = _GROUP) -> Memory:
    """The least of what the machine and the process's control group leave."""
    machine, limits = _machine(proc), _control_group(group)
    return Memory(_least(machine.available, limits.available), _least(machine.total, limits.total))


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _machine(proc: Path) -> Memory:
    try:
        lines = [line.split() for line in proc.read_text().splitlines()]
        fields = {words[0]: int(words[1]) * 1024 for words in lines if len(words) > 1}
        return Memory(fields["MemAvailable:"], fields["MemTotal:"])
    except (OSError, KeyError, ValueError):
        return Memory(None, None)


def _control_group(group: Path) -> Memory:
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        # Cached files count as used, though the kernel gives them up when memory is short.
        return Memory(max(0, limit - used + int(statistics["file"])), limit)
    except (OSError, KeyError, ValueError):
        return Memory(None, None)


def check_memory(
    name: str,
    need: MemoryNeed,
    memory: Memory,
    catalogue: Iterable[CatalogueEntry],
    *,
    mapped: bool,
    family: str | None = None,
) -> None:
    """Raise `ArigraphError` when a model cannot fit.

    Weights that are `mapped` may exceed what is available now, because cached files make room,
    but not the whole memory. The message names what would fit: the largest model of the
    catalogue, of the same `family` if there is one.
    """
    taken = need.cache if mapped else need.total
    if memory.available is not None and taken > memory.available:
        room = memory.available
    elif memory.total is not None and need.total > memory.total:
        room = memory.total
    else:
        return
    raise ArigraphError(
        f"no memory for {name}: it needs {need}, there are {_size(room)}; "
        f"{_remedy(need, room, catalogue, family)}"
    )


def _remedy(
    need: MemoryNeed, room: int, catalogue: Iterable[CatalogueEntry], family: str | None
) -> str:
    if need.weights <= room / 2:
        return "set --context to less, or --kv-type to q8_0"
    left = room - need.cache
    fitting = [
        entry
        for entry in catalogue
        if entry.kind is ModelKind.GGUF and entry.bytes is not None and entry.bytes < left
    ]
    fitting.sort(key=lambda entry: (entry.family == family, entry.bytes), reverse=True)
    if not fitting:
        return "no model of the catalogue would fit"
    best = fitting[0]
    return f"{best.name} ({best.quantisation}, {_size(best.bytes or 0)}) would fit"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 10**9 else f"{count / 1e6:.0f} MB"
