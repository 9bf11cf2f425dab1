"""How many cores to compute on."""

from __future__ import annotations

import os
from pathlib import Path

_TOPOLOGY = "/sys/devices/system/cpu/cpu{cpu}/topology/{name}"


def physical_cores() -> int:
    """Physical cores this process may use; logical ones where the system does not tell.

    Two threads on one core share its arithmetic units, which slows matrix products down.
    """
    if not hasattr(os, "sched_getaffinity"):
        return logical_cores()
    cpus = os.sched_getaffinity(0)
    cores = {_core(cpu) for cpu in cpus}
    return len(cpus) if None in cores else len(cores)


def logical_cores() -> int:
    """Logical cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _core(cpu: int) -> tuple[str, str] | None:
    try:
        package, core = (
            Path(_TOPOLOGY.format(cpu=cpu, name=name)).read_text().strip()
            for name in ("physical_package_id", "core_id")
        )
    except OSError:
        return None
    return package, core
