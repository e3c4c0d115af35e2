"""Prepare and start the real Gemini CLI and OpenCode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import MORE_PROGRAMS
from tests.support.real.rookery import Rookery
from tests.support.scripted_model.server import ModelServer

PROGRAMS = MORE_PROGRAMS


#: Seconds for a program that needs several to start, while others do so too.
SLOWLY = 90.0


@dataclass(frozen=True)
class Case:
    """What differs between the two."""

    agent: str
    model: str
    dialog: str  #: stands on the screen while it asks
    yes: str
    no: str
    shell: str  #: its tool that runs commands
    question: str  #: its tool that asks its person
    #: What its screen says of the Escape key while it works, and then before each further one.
    escapes: tuple[str, ...]


CASES = [
    Case(
        *("gemini", "gemini-2.5-flash", "Allow once", "enter", "escape"),
        *("run_shell_command", "ask_user", ("(esc to cancel",)),
    ),
    Case(
        *("opencode", "fake/fake-model", "Permission required", "enter", "escape"),
        *("bash", "question", ("esc interrupt", "esc again")),
    ),
]


def prepare(cold: Rookery, models: ModelServer, *, relaunches: bool = False) -> None:
    """Let a Rookery know both, each with a home of its own.

    ``relaunches``: Gemini starts itself again, as it does unless it is told not to.
    """
    once = {} if relaunches else {"GEMINI_CLI_NO_RELAUNCH": "true"}
    gemini, opencode = cold.folder / "gemini", cold.folder / "opencode"
    seed_gemini(gemini, cold.project)
    seed_opencode(opencode, models.url)
    cold.configure(
        agent_settings(
            "gemini",
            {
                "HOME": str(gemini),
                "GEMINI_API_KEY": "x",
                "GOOGLE_GEMINI_BASE_URL": models.url,
                **once,
            },
        )
        + agent_settings(
            "opencode",
            {
                "HOME": str(opencode),
                "XDG_CONFIG_HOME": str(opencode / "config"),
                "XDG_DATA_HOME": str(opencode / "data"),
                "XDG_STATE_HOME": str(opencode / "state"),
                "XDG_CACHE_HOME": str(opencode / "cache"),
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            },
        )
    )


def agent_settings(agent: str, environment: Mapping[str, str]) -> str:
    lines = [f"[agents.{agent}]", f"command = [{json.dumps(str(PROGRAMS / agent))}]"]
    lines.append(f"[agents.{agent}.environment]")
    lines += [f"{name} = {json.dumps(value)}" for name, value in environment.items()]
    return "\n".join(lines) + "\n"


def seed_gemini(home: Path, project: Path) -> None:
    """Answer beforehand what Gemini CLI asks at its first start, for this folder only."""
    folder = home / ".gemini"
    folder.mkdir(parents=True)
    settings = {
        "security": {
            "auth": {"selectedType": "gemini-api-key"},
            "folderTrust": {"enabled": True},
        },
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "ide": {"enabled": False, "hasSeenNudge": True},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    trusted = {str(project.resolve()): "TRUST_FOLDER"}
    (folder / "trustedFolders.json").write_text(json.dumps(trusted))


def seed_opencode(home: Path, models: str) -> None:
    folder = home / "config" / "opencode"
    folder.mkdir(parents=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{models}/v1", "apiKey": "x"},
        "models": {
            "fake-model": {
                "name": "Fake",
                "tool_call": True,
                "limit": {"context": 200_000, "output": 8_000},
                "cost": {"input": 3, "output": 15},
            }
        },
    }
    settings = {
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"fake": provider},
        "permission": {"bash": "ask", "edit": "ask"},
    }
    (folder / "opencode.json").write_text(json.dumps(settings))


def start(rookery: Rookery, case: Case, **more: object) -> dict[str, object]:
    """Start it and wait until it is up."""
    given = {"agent": case.agent, "name": "it", "model": case.model, **more}
    rookery.client.post("sessions", **{"project": str(rookery.project), **given})
    found: dict[str, object] = rookery.client.get(
        "sessions", "it", "wait", until="up", timeout=SLOWLY
    )
    return found


def waits_at(models: ModelServer, gate: str) -> bool:
    return any(record.gate == gate for record in models.log)


def is_(rookery: Rookery, activity: str) -> bool:
    (listed,) = rookery.json("ls")["sessions"]
    return bool(listed["activity"] == activity)
