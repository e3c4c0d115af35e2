"""Expand ~ in a path that a person has given."""

from __future__ import annotations

from pathlib import Path

from rookery.model.errors import BadInput

#: Why ~ at the start of a path cannot be expanded.
UNKNOWN_HOME = "the home of this user is not known"


def expanded(path: str) -> Path:
    """Return a path with ~ or ~user expanded. Raises ``BadInput`` for an unknown user."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise BadInput(f"{path}: {UNKNOWN_HOME}.") from error
