"""OpenCode. Level: controlled.

OpenCode has plugins instead of hooks. Rookery's plugin, ``plugin.js``, reports in the format of
Claude's hooks, and the session's environment names it. The native id comes with the first
prompt, so only the screen shows that OpenCode is up; no plugin can report its end.

The hint in its box is grey, not faint, so it is recognised by its text. Pasted text is never
run; only a typed ``!`` turns the box into a shell. The second Escape ends a turn. OpenCode's
own configuration allows every tool; its permission modes are Rookery's, set in the session's
environment.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from rookery.agents.opencode import NAME, acp, screen
from rookery.agents.opencode.driven import over_http
from rookery.agents.opencode.hooks import HOOKS
from rookery.agents.opencode.keys import KEYS
from rookery.agents.opencode.settings import SETTINGS, template
from rookery.agents.shared.acp import ACP
from rookery.agents.shared.hook_settings import fill_in
from rookery.model.autonomy import Autonomy
from rookery.model.errors import BadInput
from rookery.ports.agent import (
    Abilities,
    Agent,
    CommandLine,
    InputDialect,
    LaunchSpec,
    ScreenDialect,
)
from rookery.ports.arguments import NOTHING, ReservedArguments

#: The environment variable with settings that are added to all others.
CONFIG_VARIABLE = "OPENCODE_CONFIG_CONTENT"

#: Without one of these modes, the user's settings apply, which by default allow everything.
MODES: Mapping[str, Autonomy] = {
    "plan": Autonomy.READ,
    "default": Autonomy.ASK,
    "acceptEdits": Autonomy.EDIT,
}

#: What every mode allows unasked. Rookery's own tools check the caller themselves.
_READING: Mapping[str, object] = {
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    **dict.fromkeys(("glob", "grep", "list", "lsp", "todoread", "todowrite"), "allow"),
    "question": "allow",
    "rookery_*": "allow",
}

#: The tools that change something. All are named: a key of the user's settings keeps its
#: position when these are merged in, and of two keys that match a tool, the later key counts.
_CHANGING = (
    *("edit", "bash", "task", "skill", "webfetch", "websearch", "codesearch"),
    *("external_directory", "doom_loop", "plan_enter", "plan_exit"),
)

#: The built-in agent that runs in these modes: another agent could have its own permissions.
_MAIN = "build"


def command_line(spec: LaunchSpec) -> CommandLine:
    argv = [*spec.command]
    if spec.model:
        argv += ["--model", spec.model]
    if spec.resumes:
        argv += ["--session", spec.native_id]
    plugin = spec.folder / "rookery.js"
    settings = _with_ours(spec.environment.get(CONFIG_VARIABLE, ""), plugin, spec.tools)
    if spec.permission_mode:
        settings = _restricted(settings, spec.permission_mode)
    return CommandLine(tuple(argv), {plugin: _plugin(spec)}, {CONFIG_VARIABLE: settings})


def _plugin(spec: LaunchSpec) -> str:
    """Return the plugin file of one session, with the same text as an installed plugin."""
    values = {
        "rookery-hook": shlex.split(spec.hook),
        "rookery-door": str(spec.door),
        "rookery-spool": str(spec.spool),
    }
    return fill_in(template(), values)


def _with_ours(settings: str, plugin: Path, tools: Sequence[str]) -> str:
    """Add Rookery's plugin and tools to settings; unreadable settings stay unchanged."""
    try:
        parsed = json.loads(settings or "{}")
    except ValueError:
        return settings
    if not isinstance(parsed, dict):
        return settings
    plugins, servers = parsed.get("plugin"), parsed.get("mcp")
    ours: dict[str, object] = {
        "plugin": [*(plugins if isinstance(plugins, list) else []), plugin.as_uri()]
    }
    if tools:
        server = {"type": "local", "command": [*tools]}
        ours["mcp"] = {**(servers if isinstance(servers, dict) else {}), "rookery": server}
    return json.dumps({**parsed, **ours})


def _restricted(settings: str, mode: str) -> str:
    """Add the permissions of a mode. Raises ``BadInput`` if that is impossible."""
    if mode not in MODES:
        raise BadInput(f"OpenCode has no permission mode {mode!r}, only {', '.join(MODES)}.")
    try:
        parsed = json.loads(settings)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise BadInput(
            f"{CONFIG_VARIABLE} cannot be read, so that no permission mode can be set."
        )
    allowed = permissions_of(mode)
    agents = parsed.get("agent")
    agent_tables = agents if isinstance(agents, dict) else {}
    ours = {"permission": allowed, "default_agent": _MAIN}
    main = {**_table(agent_tables.get(_MAIN)), "permission": allowed}
    return json.dumps({**parsed, **ours, "agent": {**agent_tables, _MAIN: main}})


def permissions_of(mode: str) -> dict[str, object]:
    """Return what OpenCode allows, asks about or denies in a mode."""
    otherwise = "deny" if mode == "plan" else "ask"
    changing = dict.fromkeys(_CHANGING, otherwise)
    if mode == "acceptEdits":
        changing["edit"] = "allow"
    return {"*": otherwise, **changing, **_READING}


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


#: Options that would choose another conversation, or run without Rookery's plugin.
RESERVED = ReservedArguments(
    options={
        "--pure": NOTHING,
        "--prompt": "PROMPT",
        **dict.fromkeys(("-s", "--session", "-c", "--continue"), "rookery resume"),
        "--fork": "rookery fork",
        **dict.fromkeys(("-m", "--model"), "--model"),
        "--agent": "--permission-mode",
    }
)


OPENCODE = Agent(
    name=NAME,
    program="opencode",
    # In a terminal, OpenCode cannot fork: its box appears before the branch exists, so text for
    # the branch would go to the old conversation.
    abilities=Abilities(can_fork_driven=True, can_resume=True),
    modes=MODES,
    command_line=command_line,
    hooks=HOOKS,
    input=InputDialect(
        quiet=5.0,  # its plugin reports every end; this is only used if that fails
        interrupt=("escape", "escape"),  # the first one only asks for a second
        clearing=("ctrl-u", "ctrl-k") * 25,  # ctrl-c would end OpenCode if its box were empty
        quit="/exit",
        suspends=True,
        pasted=re.compile(r"(?:\[Pasted ~\d+ lines\]\s*)+"),
    ),
    screen=ScreenDialect(read=screen.read, keys=KEYS),
    settings=SETTINGS,
    reserved=RESERVED,
    driven={
        NAME: partial(over_http, command_line=command_line),
        ACP: partial(acp.over_acp, command_line=command_line),
    },
)
