"""OpenCode, as of 1.18. Level: controlled.

It has no hooks but plugins: ours, ``plugin.js``, tells what it does in the
words of Claude's hooks, and is given to each session by its environment. Its native id comes
with the first prompt, so that it is up is read off its screen; of its end no plugin can tell.

Its hint is grey, not faint, so that it is known by its words. What is pasted is never run,
whatever it begins with; only a ``!`` that is typed makes a shell of the box. A turn ends at
the second Escape. It asks for permissions as its own configuration says, and that allows all:
its permission modes are ours, and stand in the configuration of the session's environment.
"""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from rookery.agents import installations
from rookery.agents.shared import choices, keys
from rookery.agents.shared import claude_style_hooks as hooks
from rookery.model import facts
from rookery.model.errors import BadInput
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import (
    INEXACT,
    Call,
    Outcome,
    Question,
    Stop,
    Verdict,
    digest,
)
from rookery.model.reach import Reach
from rookery.model.rewriting import EXACT
from rookery.model.screens import Dialog, Press, Screen, View, bounded, squeeze
from rookery.model.sessions import Sender
from rookery.ports.agent import CommandLine, Order, Payload

#: The settings that its environment adds to all others.
SETTINGS = "OPENCODE_CONFIG_CONTENT"

#: Without a mode of ours it does whatever its user's settings say, at first everything.
MODES: Mapping[str, Reach] = {
    "plan": Reach.READ,
    "default": Reach.ASK,
    "acceptEdits": Reach.EDIT,
}

#: What it may do unasked in every mode. Our own tools check the caller themselves.
_READING: Mapping[str, object] = {
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    **dict.fromkeys(("glob", "grep", "list", "lsp", "todoread", "todowrite"), "allow"),
    "question": "allow",
    "rookery_*": "allow",
}

#: What changes something. All are named: a key of the user's own settings keeps its place there
#: when ours are merged in, and of two keys that match a tool the later one counts.
_CHANGING = (
    *("edit", "bash", "task", "skill", "webfetch", "websearch", "codesearch"),
    *("external_directory", "doom_loop", "plan_enter", "plan_exit"),
)

#: The agent of its own that runs in a mode of ours: another could have rights of its own.
_MAIN = "build"

#: The tool by which it asks its person something.
ASKING = "question"

#: It cannot be made to ask its person: where nobody decides, the answer is no.
_NOBODY = Verdict(Outcome.DENIED, "nobody", "Nobody was there to decide this.")

#: The lower edge of the box: its width is the box's.
_EDGE = re.compile(r" *╹▀{20,}")
#: The left edge of the box, of words that were sent, of results and of questions.
_BAR = "┃"
#: What the empty box says before the first prompt.
_HINT = re.compile(r"(?:Ask anything|Run a command)… \".*\"")
#: The last line of the box, if what is typed is run.
_SHELL = re.compile(r"Shell")
#: The present turn, in the line below the box.
_WORKING = re.compile(r"\besc (?:again to )?interrupt\b")
#: The line below each answer, which names who gives it.
_ANSWER = re.compile(r" *▣ ")
#: The last line of what asks something in the box's place.
_FOOTER = re.compile(r"\b(?:enter (?:confirm|submit|toggle|select)|esc (?:dismiss|cancel))\b")
#: Asked before a tool is used; everything else is a question.
_PERMISSION = re.compile(r"△ (?:Permission required|Always allow|Reject permission)")
#: The file that a permission is about.
_FILE = re.compile(r"[→←] \w+ (?P<path>\S.*)")
#: An answer that one may choose.
_OPTION = re.compile(r"\d+\. ")
#: The head of a list or a notice that is laid over all the rest; above and below it is nothing.
_OVERLAY = re.compile(r"(?:^|  )(?P<title>\S(?: ?\S)*) {6,}esc(?:   |$)")
#: A word that it completes at Enter, instead of sending it, if there is anything to choose.
_COMPLETED = re.compile(r"(?:^|\s)@\S*$")
#: How it shows a long paste.
_PASTED = re.compile(r"(?:\[Pasted ~\d+ lines\]\s*)+")
#: Rows of a permission at most: it leaves out the rest of a longer command.
_MOST_ROWS = 15
#: What separates the conversation from the column beside it.
_GAP = re.compile(r" {6,}")


class OpenCode:
    name = "opencode"
    program = "opencode"
    has_hooks = True
    has_box = True
    tells_start = False
    hook_before_tool = "PreToolUse"
    hook_when_asked = "PermissionRequest"
    silent_stop = ""
    asks_when_told = False
    doubles_hooks = False
    lists_tools = False
    takes_id = False
    can_resume = True
    modes = MODES
    can_fork = False  #: it shows its box first: words for the branch would go elsewhere
    pause = 0.0
    quiet = 5.0  #: its plugin tells of every end; this only if that has failed
    interrupt = ("escape", "escape")  #: the first one only asks for the second
    clearing = ("ctrl-u", "ctrl-k") * 25  #: ctrl-c would end it if its box were empty
    quit = "/exit"
    rewriting = EXACT

    def command_line(self, order: Order) -> CommandLine:
        argv = [*order.command]
        if order.model:
            argv += ["--model", order.model]
        if order.resumes:
            argv += ["--session", order.native_id]
        plugin = order.folder / "rookery.js"
        settings = _with_ours(order.environment.get(SETTINGS, ""), plugin, order.tools)
        if order.permission_mode:
            settings = _restricted(settings, order.permission_mode)
        return CommandLine(tuple(argv), {plugin: _plugin(order)}, {SETTINGS: settings})

    def identify(self, payload: Payload) -> Sender:
        return hooks.identify(self.name, payload)

    def read_hook(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        match payload:
            case {"hook_event_name": "Usage"}:
                return _usage(payload, session)
            case {"hook_event_name": "PermissionSettled"}:
                return [facts.InputSettled(session, "terminal")]
            case _:
                return hooks.read(payload, session)

    def read_call(self, payload: Payload) -> Call | None:
        match payload:
            case {
                "hook_event_name": "PermissionRequest",
                "tool_name": "question",
                "tool_input": {"questions": [_, *_] as questions} as given,
            }:
                asked = Call(ASKING, given, tuple(map(_question, questions)))
                return hooks.identified(asked, payload)
            case {"is_partial": True}:
                call = hooks.read_call(payload)
                return call and replace(call, mark=f"{INEXACT}{digest(call.tool, call.input)}")
            case _:
                return hooks.read_call(payload)

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        """Write a decision in the words that our plugin reads."""
        if payload["hook_event_name"] == "PreToolUse":
            said = _said_before(verdict)
        elif verdict is None or verdict.outcome is Outcome.GONE:
            return ""  # its dialog is on the screen already
        elif payload.get("tool_name") == ASKING:
            said = {"decision": "answer", "answers": _answers(payload, verdict)}
        elif verdict.outcome is Outcome.ALLOWED:
            said = {"decision": "allow"}
        else:
            said = _denial(verdict)
        return json.dumps(said) if said else ""

    def read_stop(self, payload: Payload) -> Stop | None:
        return None

    def go_on(self, payload: Payload, reason: str) -> str:
        return ""

    def explain(self, payload: Payload, context: str) -> str:
        return ""

    def keys_for(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        return keys.keys_for(self.name, dialog, call, verdict)

    def why_not(self, words: str) -> str:
        return ""

    def read_screen(self, screen: Screen) -> View:
        lines = screen.lines
        if title := _overlay(lines):
            return View(None, Dialog("question", title))
        edges = [row for row, line in enumerate(lines) if _EDGE.match(line)]
        if not edges:
            return View(None, _dialog(lines))
        row = edges[-1]
        top = _top_of_box(lines, row)
        draft, choices = _read_box(lines[top : row + 1])
        if choices:
            return _offered(draft or "", choices)
        working = any(_WORKING.search(line) for line in lines[row + 1 :])
        return View(draft, None, working or _is_first_prompt(lines[:top]))

    def why_refused(self, screen: Screen, words: str) -> str:
        return ""

    def holds(self, box: str, words: str) -> bool:
        return bool(_PASTED.fullmatch(box.strip())) or squeeze(box) == squeeze(words)


def _plugin(order: Order) -> str:
    """Write the plugin of one session, as an installation for all of them has it."""
    template = resources.files("rookery.agents.opencode") / "plugin.js"
    values = {
        "rookery-hook": shlex.split(order.hook),
        "rookery-door": str(order.door),
        "rookery-spool": str(order.spool),
    }
    return installations.plugin(template.read_text(encoding="utf-8"), values)


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
        raise BadInput(f"{SETTINGS} cannot be read, so that no permission mode can be set.")
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


def _said_before(verdict: Verdict | None) -> dict[str, object]:
    if verdict is None or verdict.outcome is Outcome.GONE:
        return _denial(_NOBODY)  # saying nothing would let the call run
    return _denial(verdict) if verdict.outcome is Outcome.DENIED else {}


def _denial(verdict: Verdict) -> dict[str, object]:
    return {"decision": "deny", "reason": hooks.denial_reason(verdict)}


def _question(asked: Any) -> Question:  # noqa: ANN401 - JSON of others
    several = isinstance(asked, dict) and bool(asked.get("multiple"))
    return replace(hooks.question(asked), takes_several=several)


def _answers(payload: Payload, verdict: Verdict) -> list[list[str]]:
    """Say what is answered to each question; that nobody does is an answer, too."""
    none = ("No answer.", verdict.reason)
    asked = (hooks.question(each).text for each in payload["tool_input"]["questions"])
    return [list(verdict.answers.get(text, [" ".join(none).strip()])) for text in asked]


def _usage(payload: Payload, session: SessionId) -> Iterator[Fact]:
    match payload:
        case {
            "tokens": {
                "input": int(fresh),
                "output": int(written),
                "reasoning": int(thought),
                "cache": {"read": int(read), "write": int(kept)},
            }
        } if fresh or written or read:
            cost = payload.get("cost")
            # Nothing is what it says of a model whose price it does not know.
            dollars = cost if isinstance(cost, int | float) and cost > 0 else None
            micro = None if dollars is None else round(dollars * 1_000_000)
            yield facts.UsageReported(session, fresh + read + kept, written + thought, micro)
        case _:
            pass


def _top_of_box(lines: Sequence[str], edge: int) -> int:
    left, top = lines[edge].index("╹"), edge
    while top and lines[top - 1][left : left + 1] == _BAR:
        top -= 1
    return top


def _is_first_prompt(said: Sequence[str]) -> bool:
    """Whether there is a prompt and no answer yet: for a while, that is all it shows."""
    is_sent = any(line.lstrip().startswith(_BAR) for line in said)
    return is_sent and not any(_ANSWER.match(line) for line in said)


def _read_box(box: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return what stands in the box, and what the list above it offers."""
    *rows, edge = box
    left, width = edge.index("╹"), edge.count("▀")
    inside: list[str] = []
    choices: list[str] = []
    for line in reversed(rows):
        text = _cut(line[left + 1 :], width).strip()
        if text.endswith(_BAR):  # a list has a right edge, the box has none
            choices.insert(0, text.removesuffix(_BAR).strip())
        elif choices:
            break  # the list covers what was said
        else:
            inside.insert(0, text)
    if not inside:
        return None, ()
    draft = "\n".join(inside[:-1]).strip()
    if _HINT.fullmatch(draft):
        draft = ""
    return ("!" + draft if _SHELL.fullmatch(inside[-1]) else draft), choices


def _offered(draft: str, choices: Sequence[str]) -> View:
    if _COMPLETED.search(draft):
        listed = ", ".join(choices)[:200]
        return View(None, Dialog("question", f"It offers to complete a word: {listed}"))
    # Enter does what is typed, if that is first. At first anything may still be listed.
    first = choices[0].split(" ")[0]
    return View(draft, instead="" if draft == first else first)


def _cut(text: str, width: int) -> str:
    """Return what stands in the first columns; a column beside them may follow."""
    for number, character in enumerate(text):
        if unicodedata.combining(character):
            continue
        width -= 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width < 0:
            return text[:number]
    return text


def _overlay(lines: Sequence[str]) -> str:
    for row, line in enumerate(lines):
        if found := _OVERLAY.search(line):
            left, right = found.start("title"), found.end()
            around = (*lines[max(0, row - 1) : row], *lines[row + 1 : row + 2])
            if not any(each[left:right].strip() for each in around):
                return found["title"]
    return ""


def _dialog(lines: Sequence[str]) -> Dialog | None:
    """Read what is asked at the bottom, where the box would be."""
    rows = [row for row, line in enumerate(lines) if line.lstrip().startswith(_BAR)]
    if not rows:
        return None
    first = last = rows[-1]
    while first - 1 in rows:
        first -= 1
    block = [line.lstrip().removeprefix(_BAR) for line in lines[first : last + 1]]
    if not any(_FOOTER.search(line) for line in block):
        return None
    is_permission = any(_PERMISSION.search(line) for line in block)
    found = choices.read(block)
    # A wrapped line of a command may begin like an option: only the last list has options.
    first_option = found.rows[0] if found.rows else len(block)
    said = (
        (row, _GAP.split(line)[0].strip(" △"))
        for row, line in enumerate(block)
        if not _FOOTER.search(line)
    )
    asked = [line for row, line in said if row < first_option or not _OPTION.match(line)]
    text = " ".join(filter(None, asked))
    dialog = Dialog(
        "permission" if is_permission else "question",
        text,
        found.options or _buttons(block),
        # Its mark is a colour, which is not read.
        is_numbered=bool(found.options),
        subjects=_subjects(asked),
        is_cut=is_permission and len(block) >= _MOST_ROWS,
    )
    return bounded(dialog)


def _subjects(asked: Sequence[str]) -> tuple[str, ...]:
    """Say what a dialog is about: all from the first ``$`` on, or the file, or each line."""
    for row, line in enumerate(asked):
        if line.startswith("$ "):
            return ("\n".join([line[2:], *asked[row + 1 :]]).strip(),)
        if found := _FILE.fullmatch(line):
            return (found["path"],)
    return tuple(line for line in asked if line)


def _buttons(block: Sequence[str]) -> tuple[str, ...]:
    """Read what stands side by side in the last line, before the keys that one may press."""
    last = next(line for line in reversed(block) if _FOOTER.search(line))
    named = _GAP.split(last.strip())[0]
    return () if _FOOTER.search(named) else tuple(re.split(" {2,}", named))
