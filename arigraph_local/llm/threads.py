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
        return os.cpu_count() or 1
    cpus = os.sched_getaffinity(0)
    cores = {_core(cpu) for cpu in cpus}
    return len(cpus) if None in cores else len(cores)


def _core(cpu: int) -> tuple[str, str] | None:
    try:
        package, core = (
            Path(_TOPOLOGY.format(cpu=cpu, name=name)).read_text().strip()
            for name in ("physical_package_id", "core_id")
        )
    except OSError:
        return None
    return package, core
