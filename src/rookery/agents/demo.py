"""The demo agent that comes with Rookery. Level: controlled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rookery.agents.shared import choices, keys
from rookery.agents.shared import claude_style_hooks as hooks
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import Call, Stop, Verdict
from rookery.model.reach import Reach
from rookery.model.rewriting import EXACT
from rookery.model.screens import Dialog, Press, Screen, View, bounded, squeeze
from rookery.model.sessions import Sender
from rookery.ports.agent import CommandLine, Order, Payload

EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse"),
    *("Stop", "StopFailure", "Interrupt", "SessionEnd"),
)

MODES: Mapping[str, Reach] = {
    "plan": Reach.READ,
    "default": Reach.ASK,
    "acceptEdits": Reach.EDIT,
    "bypassPermissions": Reach.ALL,
}

_RULE = re.compile(r"─{10,}")
_OPTION = re.compile(r"\s*(?:❯ )?\d+\. ")
_WORKING = "esc to interrupt)"
#: The last line of a permission, above its options.
_PROMPT = "Do you want to proceed?"
_PASTED = re.compile(r"\[Pasted text #\d+(?: \+(\d+) lines)?\]")


class Demo:
    name = "demo"
    program = ""
    has_hooks = True
    has_box = True
    tells_start = True
    hook_before_tool = "PreToolUse"
    hook_when_asked = "PermissionRequest"
    silent_stop = ""
    asks_when_told = True
    doubles_hooks = False
    lists_tools = False
    takes_id = True
    can_resume = True
    can_fork = False
    modes = MODES
    pause = 0.0
    quiet = 5.0
    interrupt = ("escape",)
    clearing = ("ctrl-u",)
    quit = "/exit"
    rewriting = EXACT

    def command_line(self, order: Order) -> CommandLine:
        settings = order.folder / "settings.json"
        how = "--resume" if order.resumes else "--session-id"
        argv = [*order.command, how, order.native_id, "--settings", str(settings)]
        if order.model:
            argv += ["--model", order.model]
        if order.permission_mode:
            argv += ["--permission-mode", order.permission_mode]
        return CommandLine(tuple(argv), {settings: hooks.settings(order.hook, EVENTS)})

    def identify(self, payload: Payload) -> Sender:
        return hooks.identify_with_mode(self.name, payload)

    def read_hook(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        return hooks.read(payload, session)

    def read_call(self, payload: Payload) -> Call | None:
        return hooks.read_call(payload)

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        return hooks.answer(payload, verdict)

    def read_stop(self, payload: Payload) -> Stop | None:
        return hooks.read_stop(payload)

    def go_on(self, payload: Payload, reason: str) -> str:
        return hooks.go_on(reason)

    def explain(self, payload: Payload, context: str) -> str:
        return hooks.explain(payload, context)

    def keys_for(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        return keys.keys_for(self.name, dialog, call, verdict)

    def why_not(self, words: str) -> str:
        return ""

    def read_screen(self, screen: Screen) -> View:
        lines = screen.lines
        rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line.strip())]
        if len(rules) < 2:  # noqa: PLR2004 - the box stands between two
            return View(None, _cut_dialog(lines[: rules[0]])) if rules else View()
        above, below = rules[-2:]
        inside = lines[above + 1 : below]
        working = any(_WORKING in line for line in lines[max(0, above - 3) : above])
        # Words that are typed may have a list of their own.
        if (draft := _draft(inside)) is None and any(map(_OPTION.match, inside)):
            return View(None, _dialog(inside), working)
        return View(draft, None, working)

    def why_refused(self, screen: Screen, words: str) -> str:
        return ""

    def holds(self, box: str, words: str) -> bool:
        return bool(_PASTED.fullmatch(box.strip())) or squeeze(box) == squeeze(words)


def _dialog(inside: Sequence[str]) -> Dialog:
    found = choices.read(inside)
    asked = inside[: found.rows[0]]
    text = " ".join(line.strip() for line in asked)
    # The title begins in the second column, what it is about in the fourth.
    title = inside[0].strip()
    about = "\n".join(line[3:] for line in asked[1:] if line.startswith("   "))
    kind = "permission" if asked[-1].strip() == _PROMPT else "question"
    dialog = Dialog(
        "permission" if kind == "permission" else "question",
        text,
        found.options,
        found.chosen,
        subjects=(about,) if about else (title,),
    )
    return bounded(dialog)


def _cut_dialog(above: Sequence[str]) -> Dialog | None:
    """Read a dialog whose head has scrolled off the screen, above its lower rule."""
    found = choices.read(above)
    if not found.options or not found.is_numbered:
        return None
    asked = [line for line in above[: found.rows[0]] if line.strip()]
    is_permission = bool(asked) and asked[-1].strip() == _PROMPT
    about = "\n".join(line[3:] for line in asked if line.startswith("   "))
    dialog = Dialog(
        "permission" if is_permission else "question",
        " ".join(line.strip() for line in asked),
        found.options,
        found.chosen,
        subjects=(about,) if about else (),
        is_cut=True,
    )
    return bounded(dialog)


def _draft(inside: Sequence[str]) -> str | None:
    if not inside or not inside[0].startswith("❯"):
        return None
    return "\n".join([inside[0][1:].strip(), *(line.strip() for line in inside[1:])]).strip()
