"""The real agent programs, offline: private homes, and a scripted model on loopback."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.paths import PROGRAMS
from tests.support.real.rookery import Rookery

#: Looks like a key, and opens nothing.
KEY = "sk-ant-dummy-000000000000000000000"


def configure(rookery: Rookery, models: str) -> None:
    """Let a Rookery know Claude Code and Codex, each with a home of its own."""
    claude, codex = rookery.folder / "claude", rookery.folder / "codex"
    seed_claude(claude, rookery.project)
    seed_codex(codex, rookery.project, models)
    environment = {
        "CLAUDE_CONFIG_DIR": str(claude),
        "ANTHROPIC_BASE_URL": models,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",
    }
    lines = [f"[agents.claude]\ncommand = [{json.dumps(str(PROGRAMS / 'claude'))}]"]
    lines.append("[agents.claude.environment]")
    lines += [f"{name} = {json.dumps(value)}" for name, value in environment.items()]
    lines.append(f"[agents.codex]\ncommand = [{json.dumps(str(PROGRAMS / 'codex'))}]")
    lines.append(f'[agents.codex.environment]\nCODEX_HOME = "{codex}"\nFAKE_KEY = "x"')
    rookery.configure("\n".join(lines) + "\n")


def seed_claude(folder: Path, project: Path) -> None:
    """Answer beforehand what Claude Code asks at its first start, for this folder only."""
    folder.mkdir()
    state = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": "99.0.0",
        "theme": "dark",
        "numStartups": 5,
        "hasSeenAutoDefaultNotice": True,
        "hasSeenAutoDefaultNudge": True,
        "hasSeenAutoModeEntryWarning": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(project.resolve()): {"hasTrustDialogAccepted": True}},
    }
    settings = {
        "spinnerTipsEnabled": False,
        "disableAutoMode": "disable",
        "permissions": {"defaultMode": "default"},
    }
    (folder / ".claude.json").write_text(json.dumps(state))
    (folder / "settings.json").write_text(json.dumps(settings))


def seed_codex(folder: Path, project: Path, models: str) -> None:
    """Trust this folder, and keep the sandbox out of the folders that all tests share.

    While Codex runs a command in its sandbox, it has an empty ``.git`` in each folder to which
    the command may write, and leaves it there if it is killed meanwhile.
    """
    folder.mkdir()
    (folder / "config.toml").write_text(
        f"""
model = "gpt-5.5"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
[model_providers.fake]
name = "fake"
base_url = "{models}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
[projects."{project.resolve()}"]
trust_level = "trusted"
[analytics]
enabled = false
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
"""
    )
