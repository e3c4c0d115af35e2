"""Where Codex reads its settings, and how Rookery's hooks are written there."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from rookery.agents.codex import trust
from rookery.agents.codex.hooks import EVENTS
from rookery.agents.shared.hook_settings import Json, Toml
from rookery.ports.settings import (
    HookShape,
    HookSwitch,
    SettingsDialect,
    SettingsLanguage,
    TrustFile,
)

#: The file with all settings of Codex, and with the list of hooks that its user trusts.
_FILE = "config.toml"


#: The environment variable with the path of Codex's own folder.
HOME = "CODEX_HOME"


def user_folder(environment: Mapping[str, str], home: Path) -> Path:
    return Path(environment.get(HOME) or home / ".codex")


def settings_files(in_project: bool) -> tuple[tuple[str, SettingsLanguage], ...]:
    return (("hooks.json", Json()), (_FILE, Toml()))


def hooks_are_disabled(text: str) -> bool:
    try:
        features = tomllib.loads(text).get("features")
    except tomllib.TOMLDecodeError:
        return False
    names = ("hooks", "codex_hooks")
    return isinstance(features, dict) and any(features.get(each) is False for each in names)


#: Codex reads slash commands from the user's folder only: a project cannot define any.
SETTINGS = SettingsDialect(
    title="Codex",
    takes_effect="The hooks take effect the next time Codex starts.",
    user_folder=user_folder,
    folder_variable=HOME,
    files=settings_files,
    hooks=HookShape({event: timeout for event, (_, timeout) in EVENTS.items()}),
    trust=TrustFile(
        _FILE, 'Codex will ask at its next start: choose "Trust all and continue".', trust
    ),
    switch=HookSwitch((".codex/config.toml",), hooks_are_disabled, in_parents=True),
)
