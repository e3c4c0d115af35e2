"""Where Claude Code reads its settings, and how Rookery's hooks are written there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rookery.agents.claude import hook_variables
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

#: The environment variable with the path of Claude Code's settings folder.
CONFIG_DIR = "CLAUDE_CONFIG_DIR"


def user_folder(environment: Mapping[str, str], home: Path) -> Path:
    return Path(environment.get(CONFIG_DIR) or home / ".claude")


def settings_files(in_project: bool) -> tuple[tuple[str, SettingsLanguage], ...]:
    # The hook command contains a path on this computer, so it must not go into the project's
    # settings.json, which is usually committed.
    return (("settings.local.json" if in_project else "settings.json", Json()),)


def hooks_are_disabled(text: str) -> bool:
    settings = jsonc_edit.parse_table(text)
    return settings.get("disableAllHooks") is True or hook_variables.are_set(settings)


SETTINGS = SettingsDialect(
    title="Claude Code",
    takes_effect="The hooks take effect immediately, also in running Claude Code sessions.",
    user_folder=user_folder,
    folder_variable=CONFIG_DIR,
    files=settings_files,
    hooks=HookShape({event: timeout_of(event) for event in EVENTS}),
    switch=HookSwitch(
        (".claude/settings.json", ".claude/settings.local.json"), hooks_are_disabled
    ),
    commands=CommandFiles(".claude", skills=SKILLS),
)
