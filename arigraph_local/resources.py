"""Where the editable data folders (`models/`, `prompts/`, `envs/`) are found.

A checkout keeps them at its top; an installed wheel carries them in `arigraph_local/data`.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """The folder `models`, `prompts` or `envs`, in a checkout or an installed wheel.

    Raises `FileNotFoundError` if the installation lacks it.
    """
    for base in (_PACKAGE / "data", _PACKAGE.parent):
        folder = base / name
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"this installation of arigraph-local has no '{name}' folder")
