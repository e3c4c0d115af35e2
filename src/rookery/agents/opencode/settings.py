"""Where OpenCode reads its settings, and how our plugin stands there."""

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


def files(is_project: bool) -> tuple[tuple[str, SettingsLanguage], ...]:
    return ()


def template() -> str:
    """Read the plugin, with ``"@name@"`` where the values of a home go."""
    file = resources.files("rookery.agents.opencode") / "plugin.js"
    return file.read_text(encoding="utf-8")


SETTINGS = SettingsDialect(
    title="OpenCode",
    next_step="The hooks take effect when OpenCode starts the next time.",
    user_folder=user_folder,
    files=files,
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
