"""Reading a doubtful graph in a process of its own, which a damaged file may crash or hang.

`python -m arigraph_local.memory.graph.examining KIND PATH` reads the whole graph and exits with 0
if it is sound; else it prints why not.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from arigraph_local.errors import ArigraphError, GraphError, RunError
from arigraph_local.memory.graph.graph_database import KINDS, DatabaseKind, database_files
from arigraph_local.memory.graph.graph_opening import open_graph
from arigraph_local.memory.graph.graph_schema import DamageError, FormatError
from arigraph_local.memory.graph.seal import matches_contents, read_seal, seal_file

_SECONDS = 10
_SECONDS_PER_MEBIBYTE = 2
_PATIENCE = 6
_DAMAGED = 1
_OTHER_FORMAT = 3


def damaged(where: str, reason: str) -> GraphError:
    """The error for a graph that is not whole."""
    return GraphError(
        f"{where} is damaged ({reason}): set it aside and rebuild it from the run's events"
    )


def examine(kind: DatabaseKind, path: Path, where: str) -> None:
    """Raises `RunError` naming `where` if the graph cannot be read whole. Its files stay as are."""
    files = database_files(path)
    # The child ends itself when it has computed for too long; on a busy machine that takes longer.
    seconds = _PATIENCE * _seconds_to_compute(path)
    with tempfile.TemporaryDirectory(prefix="arigraph-", ignore_cleanup_errors=True) as folder:
        # Opening a database can change it, so the child is given a copy.
        copy = Path(folder) / path.name
        try:
            for file in (*files, *([seal_file(path)] * seal_file(path).is_file())):
                shutil.copyfile(file, copy.with_name(file.name))
        except OSError as error:
            raise RunError(f"cannot examine {where}: {error.strerror}") from error
        _judge(_run(kind, copy, seconds), where, copy)


def _seconds_to_compute(path: Path) -> int:
    size = sum(file.stat().st_size for file in database_files(path))
    return _SECONDS + _SECONDS_PER_MEBIBYTE * size // 2**20


def _run(kind: DatabaseKind, copy: Path, seconds: float) -> subprocess.CompletedProcess[str] | None:
    """The child's end, or None if it took too long."""
    package = str(Path(__file__).parents[3])
    search_path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    try:
        return subprocess.run(
            [sys.executable, "-m", "arigraph_local.memory.graph.examining", kind.name, str(copy)],
            env=os.environ | {"PYTHONPATH": search_path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    except OSError as error:
        raise RunError(f"cannot examine {copy.name}: {error}") from error


def _judge(child: subprocess.CompletedProcess[str] | None, where: str, copy: Path) -> None:
    if child is None or child.returncode == -signal.SIGXCPU:
        raise damaged(where, "reading it does not end")
    reason = child.stdout.strip().replace(str(copy), where)
    if child.returncode == _OTHER_FORMAT:
        raise GraphError(reason)
    if child.returncode < 0:
        raise damaged(where, f"reading it crashes with signal {-child.returncode}")
    if child.returncode:
        last = (child.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise damaged(where, reason or last)


def _read(kind: DatabaseKind, path: Path) -> None:
    database, mirror = open_graph(kind, path, str(path))
    database.close()
    if not mirror.digests_hold():
        raise DamageError("its steps are not what was written")
    seal = read_seal(path)
    if seal is not None and not matches_contents(seal, mirror):
        raise DamageError("it is not what it was when it was last closed")


def _limit_damage(path: Path) -> None:
    """No core file from a crash, and an end to reading without end."""
    try:
        import resource
    except ImportError:
        return
    seconds = _seconds_to_compute(path)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def main(arguments: list[str]) -> int:
    """Examine one graph; the exit status is 0 if it is sound."""
    name, path = arguments
    _limit_damage(Path(path))
    try:
        _read(KINDS[name], Path(path))
    except FormatError as error:
        print(error)
        return _OTHER_FORMAT
    except ArigraphError as error:
        print(error)
        return _DAMAGED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
