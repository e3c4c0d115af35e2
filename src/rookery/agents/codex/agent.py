"""Codex CLI: how it is started, and how text is typed into it. Level: controlled.

Codex runs trusted hooks only, which it identifies by a hash of their command. The command line
of a session declares its hooks as trusted. The start hook comes with the first prompt, so only
the screen shows that Codex is up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from rookery.agents.codex import NAME, acp, screen
from rookery.agents.codex.driven import driver_line
from rookery.agents.codex.hooks import HOOKS
from rookery.agents.codex.keys import KEYS
from rookery.agents.codex.launch_settings import hook_settings, tool_settings
from rookery.agents.codex.settings import SETTINGS
from rookery.agents.codex.transcript import TRANSCRIPT
from rookery.agents.shared.acp import ACP
from rookery.model.autonomy import Autonomy
from rookery.model.text_rewriting import from_first_visible
from rookery.ports.agent import (
    Abilities,
    Agent,
    CommandLine,
    InputDialect,
    LaunchSpec,
    QueueAccess,
    ScreenDialect,
)
from rookery.ports.arguments import NOTHING, ReservedArguments

#: ``plan`` and ``default`` are Rookery's names; the others are Codex's sandboxes, in which it
#: runs commands.
MODES: Mapping[str, Autonomy] = {
    "plan": Autonomy.READ,
    "default": Autonomy.ASK,
    "read-only": Autonomy.ASK,
    "workspace-write": Autonomy.RUN,
    "danger-full-access": Autonomy.ALL,
}

#: Arguments that leave approvals to a person, even if the user's settings name a model.
_ASKS_A_PERSON = ("--sandbox", "read-only", "-c", 'approvals_reviewer="user"')

#: The arguments for the modes with Rookery's names.
_OUR_MODES = {
    "plan": ("--sandbox", "read-only", "--ask-for-approval", "never"),
    "default": (*_ASKS_A_PERSON, "--ask-for-approval", "on-request"),
}


def command_line(spec: LaunchSpec) -> CommandLine:
    # Without this option, Codex starts a daemon that outlives it and keeps the environment of
    # the first session.
    argv = [*spec.command, "--no-daemon"]
    for setting in (*hook_settings(spec.hook), *tool_settings(spec.tools)):
        argv += ["-c", setting]
    if spec.model:
        argv += ["--model", spec.model]
    if spec.permission_mode:
        argv += _OUR_MODES.get(spec.permission_mode, ("--sandbox", spec.permission_mode))
    if spec.resumes:
        argv += ["resume", spec.native_id]
    elif spec.forks:
        argv += ["fork", spec.forks]
    return CommandLine(tuple(argv), {})


def why_not(words: str) -> str:
    if from_first_visible(words).startswith("!"):
        return "Codex would run them as a shell command; begin with another word than '!'."
    return ""


#: Options that would replace Rookery's hooks or tools, or run Codex somewhere else.
RESERVED = ReservedArguments(
    options={
        **dict.fromkeys(("--no-daemon", "--remote"), NOTHING),
        **dict.fromkeys(("-C", "--cd"), "--project"),
        **dict.fromkeys(("-m", "--model"), "--model"),
        **dict.fromkeys(("-s", "--sandbox", "--full-auto"), "--permission-mode"),
        "--dangerously-bypass-approvals-and-sandbox": "--permission-mode",
    },
    setting_options={
        "-c": "",
        "--config": "",
        "--enable": "features.",
        "--disable": "features.",
    },
    settings=("hooks", "features.hooks", "mcp_servers.rookery"),
)


CODEX = Agent(
    name=NAME,
    program="codex",
    abilities=Abilities(can_resume=True, can_fork=True, server_argument="app-server"),
    modes=MODES,
    command_line=command_line,
    hooks=HOOKS,
    input=InputDialect(
        quiet=5.0,  # for errors of its model, which only the screen shows
        interrupt=("escape",),
        # Each pair clears a line, before and after the cursor. ctrl-c would end Codex if its
        # box were empty.
        clearing=("ctrl-u", "ctrl-k") * 25,
        quit="/quit",
        pasted=re.compile(r"(?:\[Pasted Content \d+ chars\](?: #\d+)?\s*)+"),
        why_not=why_not,
    ),
    screen=ScreenDialect(
        read=screen.read, keys=KEYS, why_refused=screen.why_refused, speech=screen.SPEECH
    ),
    transcript=TRANSCRIPT,
    settings=SETTINGS,
    reserved=RESERVED,
    queue=QueueAccess("codex", ("app-server",)),
    driven={"codex": driver_line, ACP: partial(acp.over_acp, modes=MODES)},
    without_cost=frozenset({"codex", ACP}),
    driven_programs={ACP: acp.PROGRAM},
)
