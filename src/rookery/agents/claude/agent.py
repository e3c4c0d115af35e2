"""Claude Code: how it is started, and how text is typed into it. Level: controlled."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial

from rookery.agents.claude import NAME, acp, driven, hook_variables, screen
from rookery.agents.claude.hooks import EVENTS, HOOKS
from rookery.agents.claude.keys import KEYS
from rookery.agents.claude.settings import SETTINGS
from rookery.agents.claude.transcript import TRANSCRIPT
from rookery.agents.shared.acp import ACP
from rookery.agents.shared.claude_style_hooks import hook_settings
from rookery.model.autonomy import Autonomy
from rookery.model.text_rewriting import DIRECTIONS, Rewriting, from_first_visible
from rookery.ports.agent import (
    Abilities,
    Agent,
    CommandLine,
    DriverLine,
    InputDialect,
    LaunchSpec,
    ScreenDialect,
)
from rookery.ports.arguments import NOTHING, ReservedArguments

#: ``dontAsk`` denies what it would ask about; in ``auto`` a model decides instead of a person.
MODES: Mapping[str, Autonomy] = {
    "plan": Autonomy.READ,
    "default": Autonomy.ASK,
    "manual": Autonomy.ASK,
    "dontAsk": Autonomy.ASK,
    "acceptEdits": Autonomy.EDIT,
    "auto": Autonomy.ALL,
    "bypassPermissions": Autonomy.ALL,
}

#: Observed with 2.1: short pastes are composed and trimmed, long ones only stripped. Text that
#: changes the writing direction is put back into the box for the user to check.
REWRITING = Rewriting(
    tab="    ", trims=True, strips=True, splits=True, composes=True, reviews=DIRECTIONS
)

#: Claude Code expands a mention at the beginning of a word, also after some punctuation. The
#: ``@`` of an e-mail address is no mention.
MENTIONS = re.compile(r"(?<![\w.%+-])@(?![ \t\n]|\Z)")


def command_line(spec: LaunchSpec, events: Sequence[str] = EVENTS) -> CommandLine:
    file = spec.folder / "settings.json"
    how = "--resume" if spec.resumes else "--session-id"
    argv = [*spec.command, how, spec.native_id]
    if spec.forks:
        argv += ["--resume", spec.forks, "--fork-session"]
    argv += ["--settings", str(file)]
    if spec.model:
        argv += ["--model", spec.model]
    if spec.permission_mode:
        argv += ["--permission-mode", spec.permission_mode]
    if not spec.tools:
        return CommandLine(tuple(argv), {file: _settings(spec, events)})
    tools = spec.folder / "mcp.json"
    argv += ["--mcp-config", str(tools)]
    return CommandLine(tuple(argv), {file: _settings(spec, events), tools: _tools(spec)})


def _settings(spec: LaunchSpec, events: Sequence[str]) -> str:
    added: dict[str, object] = {"env": hook_variables.of_launch(spec.environment)}
    if spec.tools:
        # These tools need no permission: Rookery's MCP server checks the badge of each caller.
        added["permissions"] = {"allow": ["mcp__rookery"]}
    return hook_settings(spec.hook, events, added)


def _tools(spec: LaunchSpec) -> str:
    program, *arguments = spec.tools
    server = {"command": program, "args": arguments, "env": {"ROOKERY_BADGE": spec.badge}}
    return json.dumps({"mcpServers": {"rookery": server}}, indent=1)


def driver_line(spec: LaunchSpec) -> DriverLine:
    return driven.driver_line(spec, command_line(spec, driven.EVENTS))


def why_not(words: str) -> str:
    if from_first_visible(words).startswith("!"):
        return "Claude would run them as a shell command; begin with another word than '!'."
    if not REWRITING.rewritten(words).strip():
        return "Claude removes invisible characters, and there is nothing else in them."
    return ""


#: Options that would replace Rookery's settings, tools or session id, that disable hooks, or
#: that run something other than a conversation in this terminal.
RESERVED = ReservedArguments(
    options={
        **dict.fromkeys(("--settings", "--mcp-config", "--session-id"), NOTHING),
        **dict.fromkeys(("--bare", "--safe-mode"), NOTHING),
        **dict.fromkeys(("-p", "--print", "--bg", "--background"), NOTHING),
        **dict.fromkeys(("--cloud", "--environment", "--desktop", "--teleport"), NOTHING),
        **dict.fromkeys(("-c", "--continue", "-r", "--resume"), "rookery resume"),
        **dict.fromkeys(("--from-pr", "--fork-session"), "rookery fork"),
        "--model": "--model",
        **dict.fromkeys(
            ("--permission-mode", "--dangerously-skip-permissions"), "--permission-mode"
        ),
    }
)


CLAUDE = Agent(
    name=NAME,
    program="claude",
    abilities=Abilities(
        takes_id=True, can_resume=True, can_fork=True, can_steer=True, lists_tools=True
    ),
    modes=MODES,
    command_line=command_line,
    hooks=HOOKS,
    input=InputDialect(
        quiet=5.0,  # for interruptions that its session file does not report
        interrupt=("escape",),
        clearing=("ctrl-c",),
        quit="/exit",
        suspends=True,
        stop_subagents=(
            "ctrl-x",
            "ctrl-k",
            "ctrl-x",
            "ctrl-k",
        ),  # the first pair opens a confirmation
        rewriting=REWRITING,
        mentions=MENTIONS,
        pasted=re.compile(r"(?:\[Pasted text #\d+(?: \+\d+ lines)?\]\s*)+"),
        why_not=why_not,
    ),
    screen=ScreenDialect(read=screen.read, keys=KEYS),
    transcript=TRANSCRIPT,
    settings=SETTINGS,
    reserved=RESERVED,
    driven={driven.SDK: driver_line, ACP: partial(acp.over_acp, modes=MODES)},
    driven_programs={ACP: acp.PROGRAM},
)
