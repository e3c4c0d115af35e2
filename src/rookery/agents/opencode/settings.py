"""Where OpenCode reads its settings, and how Rookery's plugin is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from rookery.ports.settings import (
    CommandFiles,
    PluginFile,
    SettingsDialect,
    SettingsLanguage,
)


def user_folder(environment: Mapping[str, str], home: Path) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"


def settings_files(in_project: bool) -> tuple[tuple[str, SettingsLanguage], ...]:
    return ()


def template() -> str:
    """Return the text of the plugin, with ``"@name@"`` in place of each value."""
    file = resources.files("rookery.agents.opencode") / "plugin.js"
    return file.read_text(encoding="utf-8")


SETTINGS = SettingsDialect(
    title="OpenCode",
    takes_effect="The hooks take effect the next time OpenCode starts.",
    user_folder=user_folder,
    folder_variable="OPENCODE_CONFIG_DIR",
    files=settings_files,
    plugin=PluginFile("plugin/rookery.js", template),
    commands=CommandFiles(
        ".opencode",
        settings=(
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ),
    ),
)
