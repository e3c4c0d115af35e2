"""Find out whether the user has told Claude Code to trust a folder.

Without a terminal it does not ask whether to trust a folder: it would run the hooks and MCP
servers of any project.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rookery.drivers.project_folder import project_of

#: The variable with the path of its settings folder, and the name of its file of answers.
_CONFIG_DIR, _ANSWERS = "CLAUDE_CONFIG_DIR", ".claude.json"

#: What is noted about a folder that the user has not accepted.
NOTICE = (
    "Claude Code does not trust this folder yet, so the settings, hooks and MCP servers of the"
    " project are not used. Run claude there once and accept it."
)


def is_trusted(folder: Path, environment: Mapping[str, str]) -> bool:
    """Return whether the user has accepted the folder; an unclear answer is no."""
    home = environment.get(_CONFIG_DIR) or environment.get("HOME")
    if not home:
        return False
    with suppress(OSError, ValueError):
        answers = json.loads((Path(home) / _ANSWERS).read_bytes())
        match answers:
            case {"projects": dict(projects)}:
                found = projects.get(str(project_of(folder.resolve())))
                return isinstance(found, dict) and found.get("hasTrustDialogAccepted") is True
    return False
