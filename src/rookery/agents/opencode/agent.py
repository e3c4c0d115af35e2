"""OpenCode. Level: controlled.

It has plugins instead of hooks: ours, ``plugin.js``, reports in the words of Claude's hooks,
and the session's environment names it. The native id comes with the first prompt, so the screen
tells that it is up; no plugin can report its end.

Its hint is grey, not faint, so the hint is known by its words. Pasted words are never run; only
a typed ``!`` makes a shell of the box. The second Escape ends a turn. Its own configuration
allows every tool; its permission modes are Rookery's, set in the session's environment.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rookery.agents.opencode import NAME, screen
from rookery.agents.opencode.hooks import HOOKS
from rookery.agents.opencode.keys import KEYS
from rookery.agents.opencode.settings import SETTINGS, template
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

#: The variable whose settings are added to all others.
CONFIG_VARIABLE = "OPENCODE_CONFIG_CONTENT"

#: Without one of these it follows its user's settings, which by default allow everything.
MODES: Mapping[str, Autonomy] = {
    "plan": Autonomy.READ,
    "default": Autonomy.ASK,
    "acceptEdits": Autonomy.EDIT,
}

#: What it may do unasked in every mode. Our own tools check the caller themselves.
_READING: Mapping[str, object] = {
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    **dict.fromkeys(("glob", "grep", "list", "lsp", "todoread", "todowrite"), "allow"),
    "question": "allow",
    "rookery_*": "allow",
}

#: The tools that change something. All are named: a key of the user's settings keeps its place
#: when ours are merged in, and of two keys that match a tool the later one counts.
_CHANGING = (
    *("edit", "bash", "task", "skill", "webfetch", "websearch", "codesearch"),
    *("external_directory", "doom_loop", "plan_enter", "plan_exit"),
)

#: The built-in agent that runs in these modes: another one could have rights of its own.
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
    """Write the plugin of one session, as an installation for all of them has it."""
    values = {
        "rookery-hook": shlex.split(spec.hook),
        "rookery-door": str(spec.door),
        "rookery-spool": str(spec.spool),
    }
    return fill_in(template(), values)


def _with_ours(settings: str, plugin: Path, tools: Sequence[str]) -> str:
    """Add our plugin and tools to settings; such as cannot be read stay as they are."""
    try:
        given = json.loads(settings or "{}")
    except ValueError:
        return settings
    if not isinstance(given, dict):
        return settings
    plugins, servers = given.get("plugin"), given.get("mcp")
    ours: dict[str, object] = {
        "plugin": [*(plugins if isinstance(plugins, list) else []), plugin.as_uri()]
    }
    if tools:
        server = {"type": "local", "command": [*tools]}
        ours["mcp"] = {**(servers if isinstance(servers, dict) else {}), "rookery": server}
    return json.dumps({**given, **ours})


def _restricted(settings: str, mode: str) -> str:
    """Add the permissions of a mode. Raises ``BadInput`` rather than start without them."""
    if mode not in MODES:
        raise BadInput(f"OpenCode has no permission mode {mode!r}, only {', '.join(MODES)}.")
    try:
        given = json.loads(settings)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise BadInput(
            f"{CONFIG_VARIABLE} cannot be read, so that no permission mode can be set."
        )
    allowed = permissions_of(mode)
    agents = given.get("agent")
    known = agents if isinstance(agents, dict) else {}
    ours = {"permission": allowed, "default_agent": _MAIN}
    main = {**_table(known.get(_MAIN)), "permission": allowed}
    return json.dumps({**given, **ours, "agent": {**known, _MAIN: main}})


def permissions_of(mode: str) -> dict[str, object]:
    """Return what OpenCode is to do, ask or refuse in a mode."""
    otherwise = "deny" if mode == "plan" else "ask"
    changing = dict.fromkeys(_CHANGING, otherwise)
    if mode == "acceptEdits":
        changing["edit"] = "allow"
    return {"*": otherwise, **changing, **_READING}


def _table(found: object) -> dict[str, object]:
    return found if isinstance(found, dict) else {}


OPENCODE = Agent(
    name=NAME,
    program="opencode",
    # It cannot fork: it shows its box first, so that words for the branch would go elsewhere.
    abilities=Abilities(can_resume=True),
    modes=MODES,
    command_line=command_line,
    hooks=HOOKS,
    input=InputDialect(
        quiet=5.0,  # its plugin tells of every end; this only if that has failed
        interrupt=("escape", "escape"),  # the first one only asks for the second
        clearing=("ctrl-u", "ctrl-k") * 25,  # ctrl-c would end it if its box were empty
        quit="/exit",
        pasted=re.compile(r"(?:\[Pasted ~\d+ lines\]\s*)+"),
    ),
    screen=ScreenDialect(read=screen.read, keys=KEYS),
    settings=SETTINGS,
)
