"""Where Claude Code reads its settings, and how our hooks stand there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rookery.agents.claude.hooks import EVENTS
from rookery.agents.claude.skills import SKILLS
from rookery.agents.shared import jsonc_edit
from rookery.agents.shared.claude_style_hooks import timeout_of
from rookery.agents.shared.hook_settings import Json
from rookery.ports.settings import (
    CommandFiles,
    HookShape,
    HookSwitch,
    SettingsDialect,
    SettingsLanguage,
)

#: The variable that names its folder of settings.
CONFIG_DIR = "CLAUDE_CONFIG_DIR"


def user_folder(environment: Mapping[str, str], home: Path) -> Path:
    return Path(environment.get(CONFIG_DIR) or home / ".claude")


def files(is_project: bool) -> tuple[tuple[str, SettingsLanguage], ...]:
    # Our command is good on this computer only: not for a file that is shared.
    return (("settings.local.json" if is_project else "settings.json", Json()),)


def is_off(text: str) -> bool:
    return jsonc_edit.parse_table(text).get("disableAllHooks") is True


SETTINGS = SettingsDialect(
    title="Claude Code",
    next_step="The hooks take effect at once, also where Claude Code runs already.",
    user_folder=user_folder,
    files=files,
    hooks=HookShape({event: timeout_of(event) for event in EVENTS}),
    switch=HookSwitch((".claude/settings.json", ".claude/settings.local.json"), is_off),
    commands=CommandFiles(".claude", skills=SKILLS),
)
