"""Check the folder in which a session is to start."""

from __future__ import annotations

import os
from pathlib import Path

from rookery.model.errors import ProjectUnknown


def check_folder(project: str) -> Path:
    """Return an existing folder without symbolic links. Raises ``ProjectUnknown``."""
    if "\0" in project:
        raise ProjectUnknown(repr(project))
    try:
        folder = Path(project).expanduser()
        is_there = folder.is_dir()
    except (RuntimeError, OSError, ValueError) as error:  # no such user, or far too long
        raise ProjectUnknown(f"{project[:200]!r}: {error}") from error
    if not folder.is_absolute():
        raise ProjectUnknown(f"{project!r}; give its absolute path.")
    if not is_there:
        raise ProjectUnknown(f"{project}. Create it, or name another with --project.")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise ProjectUnknown(f"{project} (permission denied).")
    return folder.resolve()
