"""How the settings of a project switch an agent's hooks off. Pure: it is given their text.

Where Rookery starts an agent, what it gives it wins over these; Gemini CLI takes hooks from its
user's settings only, so there they always count.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rookery.agents.shared import jsonc_edit as json_text
from rookery.model.errors import ConfigBroken


@dataclass(frozen=True, slots=True)
class Switch:
    """The settings files of a project, and whether the text of one switches hooks off."""

    files: tuple[str, ...]
    is_off: Callable[[str], bool]
    #: Whether the files of the folders above count, up to the root of the repository.
    in_parents: bool = False


def _settings(text: str) -> Mapping[str, Any]:
    try:
        found = json_text.parse(text, comments=True)
    except ConfigBroken:
        return {}  # the agent does not read it either
    return found if isinstance(found, dict) else {}


def _is_off_in_claude(text: str) -> bool:
    return _settings(text).get("disableAllHooks") is True


def _is_off_in_gemini(text: str) -> bool:
    match _settings(text).get("hooksConfig"):
        case {"enabled": False}:
            return True
        case {"disabled": list(names)}:
            return any("rookery" in str(name) for name in names)
        case _:
            return False


def _is_off_in_codex(text: str) -> bool:
    try:
        features = tomllib.loads(text).get("features")
    except tomllib.TOMLDecodeError:
        return False
    names = ("hooks", "codex_hooks")
    return isinstance(features, dict) and any(features.get(each) is False for each in names)


SWITCHES: Mapping[str, Switch] = {
    "claude": Switch(
        (".claude/settings.json", ".claude/settings.local.json"), _is_off_in_claude
    ),
    "codex": Switch((".codex/config.toml",), _is_off_in_codex, in_parents=True),
    "gemini": Switch((".gemini/settings.json",), _is_off_in_gemini),
}
