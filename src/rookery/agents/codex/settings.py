"""Where Codex reads its settings, and how our hooks stand there."""

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

#: The file of all its settings; the hooks that its user trusts are kept there, too.
_FILE = "config.toml"


def user_folder(environment: Mapping[str, str], home: Path) -> Path:
    return Path(environment.get("CODEX_HOME") or home / ".codex")


def files(is_project: bool) -> tuple[tuple[str, SettingsLanguage], ...]:
    return (("hooks.json", Json()), (_FILE, Toml()))


def is_off(text: str) -> bool:
    try:
        features = tomllib.loads(text).get("features")
    except tomllib.TOMLDecodeError:
        return False
    names = ("hooks", "codex_hooks")
    return isinstance(features, dict) and any(features.get(each) is False for each in names)


#: It takes slash commands from its user only, so that a project defines none.
SETTINGS = SettingsDialect(
    title="Codex",
    next_step="The hooks take effect when Codex starts the next time.",
    user_folder=user_folder,
    files=files,
    hooks=HookShape({event: timeout for event, (_, timeout) in EVENTS.items()}),
    trust=TrustFile(
        _FILE, 'Codex will ask at its next start: choose "Trust all and continue".', trust
    ),
    switch=HookSwitch((".codex/config.toml",), is_off, in_parents=True),
)
