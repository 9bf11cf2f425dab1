"""How a model's weights are loaded, and the adapters laid over them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Adapter:
    """A LoRA adapter in GGUF, added to the weights times `scale`."""

    path: Path
    scale: float = 1.0


@dataclass(frozen=True)
class ModelOptions:
    """What weights are loaded with.

    `gpu_layers` of them go to the GPU (-1: all). `mmap` maps the file, which starts faster and
    shares memory between processes; without it the file is read into memory of its own. `mlock`
    keeps the weights from being swapped out, if the system allows that much.
    """

    gpu_layers: int = 0
    mmap: bool = True
    mlock: bool = False
    adapters: tuple[Adapter, ...] = ()
