"""Where Gemini CLI reads its settings, and how our hooks stand there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rookery.agents.gemini.hooks import EVENTS
from rookery.agents.shared import jsonc_edit
from rookery.agents.shared.hook_settings import Json
from rookery.ports.settings import (
    CommandFiles,
    HookShape,
    HookSwitch,
    SettingsDialect,
    SettingsLanguage,
)

#: The variable that names the folder in which its folder of settings is.
HOME = "GEMINI_CLI_HOME"


def user_folder(environment: Mapping[str, str], home: Path) -> Path:
    return Path(environment.get(HOME) or home) / ".gemini"


def files(is_project: bool) -> tuple[tuple[str, SettingsLanguage], ...]:
    return (("settings.json", Json(comments=True)),)


def is_off(text: str) -> bool:
    match jsonc_edit.parse_table(text).get("hooksConfig"):
        case {"enabled": False}:
            return True
        case {"disabled": list(names)}:
            return any("rookery" in str(name) for name in names)
        case _:
            return False


SETTINGS = SettingsDialect(
    title="Gemini",
    next_step="The hooks take effect when Gemini starts the next time.",
    user_folder=user_folder,
    files=files,
    hooks=HookShape(EVENTS, name="rookery"),
    switch=HookSwitch((".gemini/settings.json",), is_off),
    commands=CommandFiles(".gemini"),
)
