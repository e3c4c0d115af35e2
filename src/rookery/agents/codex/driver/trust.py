"""Find out whether the user has told Codex to trust a folder, as of 0.166."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rookery.drivers.project_folder import project_of

#: The variable with the path of its settings folder, and the name of its file of settings.
_HOME, _SETTINGS = "CODEX_HOME", "config.toml"


def is_trusted(folder: Path, environment: Mapping[str, str]) -> bool:
    """Return whether the user has accepted the folder; an unclear answer is no."""
    home = environment.get(_HOME) or Path(environment.get("HOME") or "/", ".codex")
    with suppress(OSError, ValueError):
        settings = tomllib.loads((Path(home) / _SETTINGS).read_text(encoding="utf-8"))
        match settings:
            case {"projects": dict(projects)}:
                own = folder.resolve()
                found = projects.get(str(own), projects.get(str(project_of(own))))
                return isinstance(found, dict) and found.get("trust_level") == "trusted"
    return False
