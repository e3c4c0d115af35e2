"""Gemini CLI. Level: controlled where Rookery's hooks are installed; else readable.

Gemini reads hooks from the user's settings only: settings named by the environment must belong
to root. A hook cannot answer its dialogs, but can deny a call before them. The hint in its box
is grey, not faint, so it is recognised by its text. Pasted text is never run; only a typed
``!`` turns the box into a shell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from rookery.agents.gemini import NAME, NEEDS_INSTALLED_HOOKS, acp, screen
from rookery.agents.gemini.hooks import HOOKS
from rookery.agents.gemini.keys import KEYS
from rookery.agents.gemini.settings import SETTINGS
from rookery.agents.gemini.transcript import TRANSCRIPT
from rookery.agents.shared.acp import ACP
from rookery.model.autonomy import Autonomy
from rookery.ports.agent import (
    Abilities,
    Agent,
    CommandLine,
    InputDialect,
    LaunchSpec,
    ScreenDialect,
)
from rookery.ports.arguments import NOTHING, ReservedArguments

MODES: Mapping[str, Autonomy] = {
    "plan": Autonomy.READ,
    "default": Autonomy.ASK,
    "auto_edit": Autonomy.EDIT,
    "yolo": Autonomy.ALL,
}


def command_line(spec: LaunchSpec) -> CommandLine:
    argv = [*spec.command, "--resume" if spec.resumes else "--session-id"]
    argv.append(spec.native_id)
    if spec.model:
        argv += ["--model", spec.model]
    if spec.permission_mode:
        argv += ["--approval-mode", spec.permission_mode]
    return CommandLine(tuple(argv), {})


#: Options that would replace Rookery's session id, or run something other than a conversation
#: in this terminal.
RESERVED = ReservedArguments(
    options={
        **dict.fromkeys(("--session-id", "--list-sessions", "--delete-session"), NOTHING),
        **dict.fromkeys(("-p", "--prompt", "--acp", "--experimental-acp"), NOTHING),
        **dict.fromkeys(("-i", "--prompt-interactive"), "PROMPT"),
        **dict.fromkeys(("-r", "--resume"), "rookery resume"),
        **dict.fromkeys(("-m", "--model"), "--model"),
        **dict.fromkeys(("-y", "--yolo", "--approval-mode"), "--permission-mode"),
    }
)


GEMINI = Agent(
    name=NAME,
    program="gemini",
    abilities=Abilities(
        takes_id=True, can_resume=True, needs_installed_hooks=NEEDS_INSTALLED_HOOKS
    ),
    modes=MODES,
    command_line=command_line,
    hooks=HOOKS,
    input=InputDialect(
        quiet=1.5,
        interrupt=("escape",),
        pause=0.3,  # for 40 ms after a paste, more if Gemini is busy, Enter is a line break
        settle=3.0,  # it restarts itself once a folder is trusted, and ignores keys meanwhile
        clearing=("ctrl-c",),
        quit="/quit",
        # Gemini expands each mention, even in an e-mail address, unless the ``@`` is escaped.
        mentions=re.compile(r"@(?![ \t\n]|\Z)"),
        suspends=True,
        pasted=re.compile(r"(?:\[Pasted Text: \d+ (?:lines|chars)(?: #\d+)?\]\s*)+"),
    ),
    screen=ScreenDialect(read=screen.read, keys=KEYS, speech=screen.SPEECH),
    transcript=TRANSCRIPT,
    settings=SETTINGS,
    reserved=RESERVED,
    driven={ACP: partial(acp.over_acp, modes=MODES)},
    without_cost=frozenset({ACP}),
)
