"""Prepare the real agents that speak ACP, for a scripted model on loopback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rookery.agents.catalog import AGENTS
from rookery.model.sessions import NativeId
from rookery.ports.agent import DriverLine, LaunchSpec
from tests.support.paths import MORE_PROGRAMS, PROGRAMS
from tests.support.real.agents import KEY, seed_claude, seed_codex
from tests.support.real.more_agents import seed_gemini, seed_opencode

#: The adapter of Claude Code needs node 22, which is installed beside it.
NODE = MORE_PROGRAMS / "node"


@dataclass(frozen=True)
class AcpCase:
    """What differs between the agents."""

    agent: str
    command: tuple[str, ...]
    shell: str  #: its tool that runs commands
    seed: Callable[[Path, Path, str], Mapping[str, str]]  #: prepares a home
    #: The steps of the scripted model that run a command for which it asks.
    run: str = "bash: touch {file};;"
    goes_on: bool = True  #: after a refusal, the model is asked what to do next
    model: str = ""
    write: str = "write: {file} hello;;"
    editor: str = ""  #: its tool that writes files
    more: Mapping[str, str] = field(default_factory=dict)


def _claude(home: Path, project: Path, models: str) -> Mapping[str, str]:
    seed_claude(home / "claude", project)
    return {
        "CLAUDE_CONFIG_DIR": str(home / "claude"),
        "CLAUDE_CODE_EXECUTABLE": str((PROGRAMS / "claude").resolve()),
        "ANTHROPIC_BASE_URL": models,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",
    }


def _codex(home: Path, project: Path, models: str) -> Mapping[str, str]:
    seed_codex(home / "codex", project, models)
    return {"CODEX_HOME": str(home / "codex"), "FAKE_KEY": "x", "OPENAI_API_KEY": "x"}


def _gemini(home: Path, project: Path, models: str) -> Mapping[str, str]:
    seed_gemini(home / "gemini", project)
    return {
        "HOME": str(home / "gemini"),
        "GEMINI_API_KEY": "x",
        "GOOGLE_GEMINI_BASE_URL": models,
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }


def _opencode(home: Path, project: Path, models: str) -> Mapping[str, str]:
    folder = home / "opencode"
    seed_opencode(folder, models)
    return {
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


#: Codex asks about a command only if it is to run outside the sandbox.
_ESCALATED = (
    'tool: exec_command {{"cmd":"touch {file}","sandbox_permissions":"require_escalated",'
    '"justification":"it is needed"}};;'
)

CASES = [
    AcpCase(
        "claude",
        (str(NODE), str(MORE_PROGRAMS / "claude-agent-acp")),
        "Bash",
        _claude,
        editor="Write",
    ),
    AcpCase(
        "codex",
        (str(MORE_PROGRAMS / "codex-acp"),),
        "Bash",
        _codex,
        run=_ESCALATED,
        goes_on=False,
        editor="apply_patch",
    ),
    AcpCase(
        "gemini",
        (str(MORE_PROGRAMS / "gemini"),),
        "run_shell_command",
        _gemini,
        model="gemini-2.5-flash",
        editor="write_file",
    ),
    AcpCase(
        "opencode",
        (str(MORE_PROGRAMS / "opencode"),),
        "bash",
        _opencode,
        goes_on=False,
        editor="write",
    ),
]


def line_of(
    case: AcpCase, place: Path, *, resumes: str = "", forks: str = "", mode: str = ""
) -> DriverLine:
    """Return how Rookery starts the agent."""
    folder = place / "session"
    folder.mkdir(exist_ok=True)
    spec = LaunchSpec(
        command=case.command,
        native_id=NativeId(resumes),
        model=case.model,
        permission_mode=mode,
        hook="true",
        folder=folder,
        resumes=bool(resumes),
        forks=NativeId(forks),
    )
    return AGENTS[case.agent].driven["acp"](spec)
