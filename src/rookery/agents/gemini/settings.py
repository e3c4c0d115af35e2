"""Where Gemini CLI reads its settings, and how Rookery's hooks are written there."""

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

#: The environment variable with the path of the folder that contains ``.gemini``.
HOME = "GEMINI_CLI_HOME"


def user_folder(environment: Mapping[str, str], home: Path) -> Path:
    return Path(environment.get(HOME) or home) / ".gemini"


def settings_files(in_project: bool) -> tuple[tuple[str, SettingsLanguage], ...]:
    return (("settings.json", Json(comments=True)),)


def hooks_are_disabled(text: str) -> bool:
    match jsonc_edit.parse_table(text).get("hooksConfig"):
        case {"enabled": False}:
            return True
        case {"disabled": list(names)}:
            return any("rookery" in str(name) for name in names)
        case _:
            return False


SETTINGS = SettingsDialect(
    title="Gemini",
    takes_effect="The hooks take effect the next time Gemini starts.",
    user_folder=user_folder,
    folder_variable=HOME,
    files=settings_files,
    hooks=HookShape(EVENTS, name="rookery"),
    switch=HookSwitch((".gemini/settings.json",), hooks_are_disabled),
    commands=CommandFiles(".gemini"),
)
