"""Gemini CLI, as of 0.61. Level: controlled where our hooks are installed; else observed.

It takes hooks from its user's settings only: what its environment names must be root's. No
hook can answer its dialogs; one can only refuse before them. Its hint is grey, not faint, so
that it is known by its words. What is pasted is never run, whatever it begins with; only a
``!`` that is typed makes a shell of the box.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from rookery.agents.shared import choices, keys
from rookery.agents.shared import claude_style_hooks as hooks
from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import INEXACT, Call, Outcome, Stop, Verdict, digest
from rookery.model.reach import Reach
from rookery.model.rewriting import EXACT
from rookery.model.screens import Dialog, Press, Screen, View, bounded, squeeze
from rookery.model.sessions import Sender
from rookery.ports.agent import CommandLine, Order, Payload

#: Each event, and the milliseconds it gives our hook. Not those that come with every piece of
#: an answer, and with all of the conversation.
EVENTS: Mapping[str, int] = {
    "SessionStart": hooks.TIMEOUT * 1000,
    "BeforeAgent": hooks.TIMEOUT * 1000,
    "BeforeTool": hooks.LONG_TIMEOUT * 1000,
    "Notification": hooks.TIMEOUT * 1000,
    "AfterTool": hooks.TIMEOUT * 1000,
    "AfterAgent": hooks.LONG_TIMEOUT * 1000,
    "SessionEnd": hooks.TIMEOUT * 1000,
}

MODES: Mapping[str, Reach] = {
    "plan": Reach.READ,
    "default": Reach.ASK,
    "auto_edit": Reach.EDIT,
    "yolo": Reach.ALL,
}

#: The tool by which it asks its person something.
ASKING = "ask_user"

#: What its dialogs call tools that it asks about only if it is told to.
_DISPLAYED = {
    "FindFiles": "glob",
    "GoogleSearch": "google_web_search",
    "ReadFile": "read_file",
    "ReadFolder": "list_directory",
    "ReadManyFiles": "read_many_files",
    "SearchText": "grep_search",
}

#: What it says has been answered where nothing was, be it an error or an interruption.
_NOTHING = "[no response text]"

#: Before the contents of mentioned files.
_MENTIONED = "\n--- Content from referenced files ---\n"

#: Characters of the name of a tool.
_LONGEST_NAME = 200

#: What separates all that was said from its status; and its box, where it shows no colours.
_RULE = re.compile(r"─{20,}")
#: The edges of the box, upper and lower. Words that were sent stand between such edges, too.
_EDGES = ((re.compile(r"▄{20,}"), re.compile(r"▀{20,}")), (_RULE, _RULE))
#: The first line of the box: its mark, and what stands after it. ``*`` asks for no permission.
_PROMPT = re.compile(r" (?:🎤 )?(?P<mark>[>*!]|\(r:\))(?: (?P<draft>.*))?")
#: The mark of a search in earlier prompts.
_SEARCH = "(r:)"
#: What the empty box says; the first blank is the cursor.
_HINT = re.compile(
    r" {2,3}(?:Type your (?:message or .+|shell command)|Press '\w+' for \w+ mode\.)"
)
#: The present turn, in the line above the box.
_WORKING = re.compile(r"\(esc to cancel, \d[^)]*\)")
#: The line above the box, where Tab has taken all the rest away.
_ALONE = re.compile(r"\(esc to cancel, |press tab twice for more$")
#: A frame around what it asks; those inside it are further to the right.
_FRAME_TOP, _FRAME_END = re.compile(r" ?╭─"), re.compile(r" ?╰─")
#: The answer that Enter would give, any answer, and what stands below them.
_CHOSEN = re.compile(r"[ │]*● +(?:\d+\. )?")
_OPTION = re.compile(r"[ │]*(?:● +)?\d+\. ")
_FOOTER = re.compile(r"\b(?:Enter to (?:select|submit)|Esc to (?:close|cancel|exit))\b")
#: Asked before a tool is used; everything else is a question.
_PERMISSION = re.compile(r"\b(?:Allow once|Do you want to allow)\b")
#: The line in which it leaves out the rest of a command.
_HIDDEN = re.compile(r"\.\.\. (?:first |last )?\d+ (?:lines? )?hidden \(Ctrl\+O.*\) \.\.\.")
#: The left edges of a line in the inner frame; and the file that a dialog is about.
_INNER = re.compile(r" ?│ │ ?")
_WRITTEN = re.compile(r"^\? \S+ +(?:Writing to )?(?P<path>\S.*?)(?: => .*)?$")
#: A word that it completes at Enter, instead of sending it, if there is anything to choose.
_COMPLETED = re.compile(r"@\S*$")
_LOADING = re.compile(r"Loading suggestions")
#: The line below the box that names what the last line shows.
_LABELS = re.compile(r"\(/directory\)|(?:^| )/model$")
#: How it shows a long paste.
_PASTED = re.compile(r"(?:\[Pasted Text: \d+ (?:lines|chars)(?: #\d+)?\]\s*)+")

#: It answers no more: it starts itself again, and keys would end up in its next box.
_RESTARTING = re.compile(r"Gemini CLI is restarting\b")

#: Rows above the box, at most: down from a turn's, and down from the rule.
_STATUS, _MODE = 5, 3
#: Rows below a frame, at most: what a key has done.
_TOASTS = 2


class Gemini:
    name = "gemini"
    program = "gemini"
    has_hooks = True  #: where its user has installed them
    has_box = True
    #: If it has our hooks. And it draws its box before it asks whether it may trust the folder,
    #: so that only a box that stands for a while is one.
    tells_start = True
    hook_before_tool = "BeforeTool"
    hook_when_asked = ""
    silent_stop = "AfterAgent"
    asks_when_told = True
    doubles_hooks = False
    lists_tools = False
    takes_id = True
    can_resume = True
    can_fork = False
    modes = MODES
    pause = 0.3  #: Enter is only another line for 40 ms after a paste, more if it is busy
    quiet = 1.5
    interrupt = ("escape",)
    clearing = ("ctrl-c",)
    quit = "/quit"
    rewriting = EXACT

    def command_line(self, order: Order) -> CommandLine:
        argv = [*order.command, "--resume" if order.resumes else "--session-id"]
        argv.append(order.native_id)
        if order.model:
            argv += ["--model", order.model]
        if order.permission_mode:
            argv += ["--approval-mode", order.permission_mode]
        return CommandLine(tuple(argv), {})

    def identify(self, payload: Payload) -> Sender:
        return hooks.identify(self.name, payload)

    def read_hook(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        return _read_hook(payload, session)

    def read_call(self, payload: Payload) -> Call | None:
        match payload:
            case {
                "hook_event_name": "BeforeTool",
                "tool_name": "ask_user",
                "tool_input": {"questions": [_, *_] as questions} as given,
            }:
                asked = tuple(hooks.question(each) for each in questions)
                return Call(ASKING, given, asked, mark=_mark(payload))
            case {"hook_event_name": "BeforeTool", "tool_name": str(tool)}:
                given = _input(payload)
                return Call(tool[:_LONGEST_NAME], given, is_asked=False, mark=_mark(payload))
            case {
                "hook_event_name": "Notification",
                "notification_type": "ToolPermission",
                "details": dict(details),
            } if details.get("type") != ASKING:
                return _shown(payload, details)
            case _:
                return None

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        """Write a decision. There is no word that spares its person its own dialog."""
        if payload["hook_event_name"] != "BeforeTool":
            return ""
        if verdict is None or verdict.outcome is Outcome.GONE:
            return "" if payload.get("tool_name") == ASKING else json.dumps({"decision": "ask"})
        match verdict.outcome:
            case Outcome.DENIED:
                reason = hooks.denial_reason(verdict)
            case Outcome.ANSWERED:
                said = (f"{text} {', '.join(given)}" for text, given in verdict.answers.items())
                reason = f"The person has answered: {'; '.join(said)}"
            case _:
                return ""
        return json.dumps({"decision": "deny", "reason": reason})

    def read_stop(self, payload: Payload) -> Stop | None:
        match payload:
            case {"hook_event_name": "AfterAgent", "prompt_response": str(words)}:
                return Stop(words.strip(), bool(payload.get("stop_hook_active")))
            case _:
                return None

    def go_on(self, payload: Payload, reason: str) -> str:
        return json.dumps({"decision": "deny", "reason": reason})

    def explain(self, payload: Payload, context: str) -> str:
        return hooks.explain(payload, context)

    def keys_for(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        return keys.keys_for(self.name, dialog, call, verdict)

    def why_not(self, words: str) -> str:
        return ""

    def read_screen(self, screen: Screen) -> View:
        lines = screen.lines
        while lines and not lines[-1].strip():
            lines = lines[:-1]
        found = _find_box(lines)
        if found is None:
            return View(None, _dialog(lines))
        above, below = found
        if asked := _dialog(_without_status(lines[:above])):
            return View(None, asked)
        draft = _draft(lines[above + 1 : below])
        if draft.startswith(_SEARCH):
            return View(obstacle="its history search is open")
        if _may_list(draft) and (choices := _choices(lines[below + 1 :])):
            return _offered(draft, choices)
        status = lines[max(0, above - _STATUS) : above]
        return View(draft, None, any(_WORKING.search(line) for line in status))

    def why_refused(self, screen: Screen, words: str) -> str:
        return ""

    def holds(self, box: str, words: str) -> bool:
        return bool(_PASTED.fullmatch(box.strip())) or squeeze(box) == squeeze(words)


def _read_hook(payload: Payload, session: SessionId) -> Iterator[Fact]:
    match payload:
        case {"hook_event_name": "BeforeAgent", "prompt": str(prompt)}:
            # It adds the contents of files that the words mention with "@".
            words = prompt.partition(_MENTIONED)[0]
            # What was typed during a turn is told of when that turn is over.
            yield facts.TurnStarted(session, words, is_only_one=True)
        case {"hook_event_name": "BeforeTool", "tool_name": str(tool)}:
            yield facts.ToolCalled(session, tool[:_LONGEST_NAME])
        case {"hook_event_name": "AfterTool", "tool_name": str(tool)}:
            yield facts.ToolUsed(session, tool[:_LONGEST_NAME], _mark(payload))
        case {"hook_event_name": "AfterAgent", "prompt_response": str(words)}:
            if words.strip() == _NOTHING:
                yield facts.TurnEnded(session, "", "failed")
            else:
                yield facts.TurnEnded(session, words.strip())
        case {"hook_event_name": "Notification", "notification_type": "ToolPermission"}:
            pass  # a call, which is decided: see ``read_call``
        case _:
            yield from hooks.read(payload, session)


def _input(payload: Payload) -> Mapping[str, Any]:
    given = payload.get("tool_input")
    return given if isinstance(given, dict) else {}


def _shown(payload: Payload, details: Mapping[str, Any]) -> Call:
    """Read the call that a dialog is about to show; it does not say of which tool."""
    match details:
        case {"type": "exec", "command": str(command)}:
            tool, given = "run_shell_command", {"command": command}
        case {"type": "edit", "filePath": str(file), "newContent": str(content)}:
            is_new = str(details.get("title", "")).startswith("Confirm Write")
            tool = "write_file" if is_new else "replace"
            given = {"file_path": file, "content": content}
        case {"type": "info", "title": "Confirm Web Fetch", "prompt": str(prompt)}:
            tool, given = "web_fetch", {"prompt": prompt}
        case {"type": "mcp", "serverName": str(server), "toolName": str(name)}:
            tool, given = f"mcp_{server}_{name}", {}
        case _:
            displayed = str(details.get("title", "")).removeprefix("Confirm: ")
            tool = _DISPLAYED.get(displayed, displayed)
            given = {"prompt": str(details.get("prompt", ""))}
    mark = _mark({**payload, "tool_name": tool, "tool_input": given})
    # Of a tool that is not listed the dialog tells the name, or a part of its input.
    mark = mark or f"{INEXACT}{digest(tool, given)}"
    return Call(tool[:_LONGEST_NAME], given, by_keys=True, mark=mark)


#: What its dialogs tell of the input of each tool. Only what is told whole can be allowed for
#: the session: the folder of a command and the texts of a ``replace`` are not told.
_TOLD_WHOLE = {"web_fetch": {"prompt"}, "write_file": {"file_path", "content"}}
_TOLD_IN_PART = {"run_shell_command": "command", "replace": "file_path"}


def _mark(payload: Payload) -> str:
    """Name a call by what is told of it before, in and after its dialog."""
    tool, given = str(payload.get("tool_name")), _input(payload)
    if tool in _TOLD_WHOLE and given.keys() == _TOLD_WHOLE[tool]:
        return digest(tool, _with_whole_path(payload, given))
    if isinstance(given.get(name := _TOLD_IN_PART.get(tool, "")), str):
        part = {name: given[name]}
        return f"{INEXACT}{digest(tool, _with_whole_path(payload, part))}"
    return ""


def _with_whole_path(payload: Payload, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an input with the path that a dialog shows, where it may be relative."""
    file = given.get("file_path")
    if not isinstance(file, str):
        return given
    return {**given, "file_path": str(PurePath(str(payload.get("cwd")), file))}


def _find_box(lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the rows of its edges: nothing of a frame or of another box is below them."""
    for below in range(len(lines) - 1, -1, -1):
        if _FRAME_END.match(lines[below]):
            return None
        for top, bottom in _EDGES:
            if bottom.fullmatch(lines[below]):
                found = _above(lines, below, top)
                return found or _find_plain_box(lines)
    return _find_plain_box(lines)


def _find_plain_box(lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the blank rows around the box of a terminal without true colour.

    There the box is a background colour, of which the text of a screen shows nothing: it is
    found between the rule above the status and the labels below.
    """
    labels = _last_row(lines, _LABELS.search)
    rule = _last_row(lines[: labels or 0], _RULE.fullmatch)
    if labels is None or rule is None:
        return None
    above = _next_blank(lines, rule + 1)
    if above > rule + _MODE or above + 1 >= labels:
        return None
    if _PROMPT.fullmatch(lines[above + 1]) is None:
        return None
    below = _next_blank(lines, above + 2)
    if not _may_list(_draft(lines[above + 1 : below])):
        below = labels - 1  # a draft may have blank lines of its own
    return (above, below) if below < labels and not lines[below].strip() else None


def _last_row(lines: Sequence[str], is_wanted: Callable[[str], object]) -> int | None:
    return next((row for row in reversed(range(len(lines))) if is_wanted(lines[row])), None)


def _next_blank(lines: Sequence[str], row: int) -> int:
    while row < len(lines) and lines[row].strip():
        row += 1
    return row


def _above(lines: Sequence[str], below: int, top: re.Pattern[str]) -> tuple[int, int] | None:
    for above in range(below - 1, -1, -1):
        if top.fullmatch(lines[above]):
            is_box = above + 1 < below and _PROMPT.fullmatch(lines[above + 1])
            return (above, below) if is_box and _is_last(lines[:above]) else None
    return None


def _is_last(over: Sequence[str]) -> bool:
    """Tell the box from words that were sent, if the screen is drawn only down to these."""
    has_status = any(_RULE.fullmatch(line) for line in over[-_MODE:])
    return has_status or bool(over and (not over[-1].strip() or _ALONE.search(over[-1])))


def _draft(inside: Sequence[str]) -> str:
    first = _PROMPT.fullmatch(inside[0])
    mark, draft = (first["mark"], first["draft"] or "") if first else ("", "")
    if _HINT.fullmatch(draft):
        draft = ""
    # A shell, or a search in what was sent before: not a box for words.
    other = mark if mark in {"!", _SEARCH} else ""
    return other + "\n".join([draft.strip(), *(line.strip() for line in inside[1:])]).strip()


def _may_list(draft: str) -> bool:
    """Return whether a draft may have a list of completions below it."""
    return draft.startswith("/") or bool(_COMPLETED.search(draft))


def _choices(below: Sequence[str]) -> Sequence[str]:
    """Read the list under the box, from which Enter would take something."""
    listed: list[str] = []
    for line in below:
        if not line.strip() or _LABELS.search(line):
            break
        listed.append(line.strip())
    return listed


def _offered(draft: str, choices: Sequence[str]) -> View:
    if _COMPLETED.search(draft) and not _LOADING.match(choices[0]):
        listed = ", ".join(choices)[:200]
        return View(None, Dialog("question", f"It offers to complete a word: {listed}"))
    if _LOADING.match(choices[0]):
        return View()
    # Enter does what is typed, if that is first. At first anything may still be listed.
    first = choices[0].split()[0]
    is_first = draft.rsplit(maxsplit=1)[-1].lstrip("/") == first
    return View(draft, instead="" if is_first else f"/{first}")


def _without_status(lines: Sequence[str]) -> Sequence[str]:
    """Take away what stands between all that was said and the box."""
    rows = [row for row, line in enumerate(lines) if _RULE.fullmatch(line)]
    end = rows[-1] if rows and rows[-1] >= len(lines) - _STATUS else len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _dialog(lines: Sequence[str]) -> Dialog | None:
    """Read what the last frame asks, if nothing was said after it."""
    ends = [row for row, line in enumerate(lines) if _FRAME_END.match(line)]
    if not ends or sum(bool(line.strip()) for line in lines[ends[-1] + 1 :]) > _TOASTS:
        return None
    if any(_RESTARTING.search(line) for line in lines[ends[-1] + 1 :]):
        return None
    tops = [row for row in range(ends[-1]) if _FRAME_TOP.match(lines[row])]
    inside = lines[tops[-1] + 1 if tops else 0 : ends[-1]]
    if not any(_CHOSEN.match(line) or _FOOTER.search(line) for line in inside):
        return None
    found = choices.read(inside)
    # A wrapped line of a command may begin like an option: only the last list has options.
    first = found.rows[0] if found.rows else 0
    is_option = [row >= first and bool(_OPTION.match(line)) for row, line in enumerate(inside)]
    said = (line for row, line in enumerate(inside) if not is_option[row])
    asked = [line.strip(" │╭╮╰╯─") for line in said]
    text = " ".join(line for line in asked if line and not _FOOTER.search(line))
    is_permission = any(_PERMISSION.search(line) for line in inside)
    subjects = _subjects(inside, found.rows)
    parts = _HIDDEN.split("\n".join(subjects))
    # Without the top of its frame, the beginning has scrolled away.
    is_cut = is_permission and (len(parts) > 1 or not tops)
    dialog = Dialog(
        "permission" if is_permission else "question",
        text,
        found.options,
        found.chosen,
        subjects=tuple(filter(str.strip, parts)) if is_cut else subjects,
        is_cut=is_cut,
    )
    return bounded(dialog)


def _subjects(inside: Sequence[str], options: Sequence[int]) -> tuple[str, ...]:
    """Say what a dialog is about: the command in the inner frame, whole, or its path."""
    above = list(inside[: options[0]] if options else inside)
    framed = [line for line in above if _INNER.match(line)]
    head = next((line.strip(" │") for line in above if line.strip(" │")), "")
    if head.startswith("? Shell"):
        return ("\n".join(_INNER.sub("", line).rstrip(" │") for line in framed),)
    if found := _WRITTEN.search(head):
        return (found["path"],)
    return tuple(line.strip(" │╭╮╰╯─") for line in above if line.strip(" │╭╮╰╯─"))
