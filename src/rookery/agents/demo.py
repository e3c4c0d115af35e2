"""The demo agent that comes with Rookery. Level: controlled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rookery.agents.shared import choices
from rookery.agents.shared.acp import (
    ACP,
    driver_line,
    options_of,
    refuse_system_prompt,
    services_in,
)
from rookery.agents.shared.claude_style_hooks import ClaudeStyleHooks, hook_settings
from rookery.agents.shared.keys import DialogKeys
from rookery.drivers.acp.tools import AcpCall, NamedCall, by_kind
from rookery.model.autonomy import Autonomy
from rookery.model.screens import Dialog, Screen, View, bounded
from rookery.ports.agent import (
    Abilities,
    Agent,
    CommandLine,
    DriverLine,
    HookTraits,
    InputDialect,
    LaunchSpec,
    ScreenDialect,
)
from rookery.ports.arguments import NOTHING, ReservedArguments
from rookery.ports.transcript import Kind, Line, PassageTexts, TranscriptDialect

NAME = "demo"

EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse"),
    *("Stop", "StopFailure", "Interrupt", "SessionEnd"),
)

MODES: Mapping[str, Autonomy] = {
    "plan": Autonomy.READ,
    "default": Autonomy.ASK,
    "acceptEdits": Autonomy.EDIT,
    "bypassPermissions": Autonomy.ALL,
}

_RULE = re.compile(r"─{10,}")
_OPTION = re.compile(r"\s*(?:❯ )?\d+\. ")
_WORKING = "esc to interrupt)"
#: The last line of a permission dialog above its options.
_PROMPT = "Do you want to proceed?"


def command_line(spec: LaunchSpec) -> CommandLine:
    file = spec.folder / "settings.json"
    how = "--resume" if spec.resumes else "--session-id"
    argv = [*spec.command, how, spec.native_id, "--settings", str(file)]
    if spec.model:
        argv += ["--model", spec.model]
    if spec.permission_mode:
        argv += ["--permission-mode", spec.permission_mode]
    return CommandLine(tuple(argv), {file: hook_settings(spec.hook, EVENTS)})


def over_acp(spec: LaunchSpec) -> DriverLine:
    refuse_system_prompt(spec, "The demo agent")
    argv = spec.command if "--acp" in spec.command else (*spec.command, "--acp")
    options = options_of(
        spec,
        mode=spec.permission_mode,
        services=services_in(MODES.get(spec.permission_mode, Autonomy.ASK)),
        dialect=f"{__name__}:{name_tool.__name__}",
    )
    return driver_line(argv, options)


def name_tool(call: AcpCall) -> NamedCall:
    """Name a call by its title, which is the tool's name."""
    return by_kind(call) if call.method else NamedCall(call.title, call.input)


def read_screen(screen: Screen) -> View:
    lines = screen.lines
    rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line.strip())]
    if len(rules) < 2:  # noqa: PLR2004 - the box stands between two
        return View(None, _cut_dialog(lines[: rules[0]])) if rules else View()
    above, below = rules[-2:]
    inside = lines[above + 1 : below]
    working = any(_WORKING in line for line in lines[max(0, above - 3) : above])
    # A typed draft may contain a list of its own.
    if (draft := _draft(inside)) is None and any(map(_OPTION.match, inside)):
        return View(None, _dialog(inside), working)
    return View(draft, None, working)


def _dialog(inside: Sequence[str]) -> Dialog:
    options = choices.read(inside)
    text_lines = inside[: options.rows[0]]
    text = " ".join(line.strip() for line in text_lines)
    # The title begins in the second column, its subject in the fourth.
    title = inside[0].strip()
    about = "\n".join(line[3:] for line in text_lines[1:] if line.startswith("   "))
    kind = "permission" if text_lines[-1].strip() == _PROMPT else "question"
    dialog = Dialog(
        "permission" if kind == "permission" else "question",
        text,
        options.options,
        options.chosen,
        subjects=(about,) if about else (title,),
    )
    return bounded(dialog)


def _cut_dialog(above: Sequence[str]) -> Dialog | None:
    """Read a dialog whose head has scrolled off the screen, above its lower rule."""
    options = choices.read(above)
    if not options.options or not options.is_numbered:
        return None
    text_lines = [line for line in above[: options.rows[0]] if line.strip()]
    is_permission = bool(text_lines) and text_lines[-1].strip() == _PROMPT
    about = "\n".join(line[3:] for line in text_lines if line.startswith("   "))
    dialog = Dialog(
        "permission" if is_permission else "question",
        " ".join(line.strip() for line in text_lines),
        options.options,
        options.chosen,
        subjects=(about,) if about else (),
        is_cut=True,
    )
    return bounded(dialog)


def _draft(inside: Sequence[str]) -> str | None:
    if not inside or not inside[0].startswith("❯"):
        return None
    return "\n".join([inside[0][1:].strip(), *(line.strip() for line in inside[1:])]).strip()


def read_transcript(line: Line) -> PassageTexts:
    kinds: Mapping[str, Kind] = {
        "user": "prompt",
        "assistant": "words",
        "error": "error",
        "interrupted": "interruption",
    }
    match line:
        case {"type": str(kind), "text": str(text)} if kind in kinds:
            yield kinds[kind], text or kind
        case _:
            return


RESERVED = ReservedArguments(
    options={
        **dict.fromkeys(("--session-id", "--settings", "--no-hooks"), NOTHING),
        "--resume": "rookery resume",
        "--model": "--model",
        "--permission-mode": "--permission-mode",
    }
)


DEMO = Agent(
    name=NAME,
    program="",
    abilities=Abilities(takes_id=True, can_resume=True),
    modes=MODES,
    command_line=command_line,
    hooks=ClaudeStyleHooks(
        agent=NAME,
        traits=HookTraits(
            before_tool="PreToolUse",
            permission="PermissionRequest",
            obeys_ask=True,
            reports_start=True,
        ),
        tells_mode=True,
        edits={"Edit": "command", "Write": "command"},
    ),
    input=InputDialect(
        quiet=5.0,
        interrupt=("escape",),
        clearing=("ctrl-u",),
        quit="/exit",
        pasted=re.compile(r"\[Pasted text #\d+(?: \+(\d+) lines)?\]"),
    ),
    screen=ScreenDialect(
        read=read_screen,
        keys=DialogKeys("1", re.compile("Yes"), "escape", re.compile(r"No, .*\(esc\)")),
    ),
    # The transcript has the messages, and no token counts.
    transcript=TranscriptDialect(name=r"{id}\.jsonl", read=read_transcript),
    reserved=RESERVED,
    driven={ACP: over_acp},
    without_cost=frozenset({ACP}),
)
