"""Codex CLI, as of 0.166. Level: controlled.

It runs hooks only that were trusted, by a hash of what they run; for those that we give it for
one session we say so ourselves, on the same command line. Its start hook comes with the first
prompt, so that it is up is read off its screen.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from msgspec import structs

from rookery.agents.shared import choices, keys
from rookery.agents.shared import claude_style_hooks as hooks
from rookery.model.facts import Fact, SessionId, ToolUsed
from rookery.model.permissions import Call, Outcome, Stop, Verdict
from rookery.model.reach import Reach
from rookery.model.rewriting import EXACT, from_first_visible
from rookery.model.screens import Dialog, Press, Screen, View, bounded, squeeze
from rookery.model.sessions import Sender
from rookery.ports.agent import CommandLine, Order, Payload

#: Each event, what Codex calls it in its keys, and the most seconds it gives it.
EVENTS: Mapping[str, tuple[str, int]] = {
    "SessionStart": ("session_start", hooks.TIMEOUT),
    "UserPromptSubmit": ("user_prompt_submit", hooks.TIMEOUT),
    "PreToolUse": ("pre_tool_use", hooks.LONG_TIMEOUT),
    "PermissionRequest": ("permission_request", hooks.LONG_TIMEOUT),
    "PostToolUse": ("post_tool_use", hooks.TIMEOUT),
    "Stop": ("stop", hooks.LONG_TIMEOUT),
    "Interrupt": ("interrupt", 3),
    "SessionEnd": ("session_end", 3),
}

#: ``plan`` and ``default`` are ours; the others are its sandboxes, in which it runs commands.
MODES: Mapping[str, Reach] = {
    "plan": Reach.READ,
    "default": Reach.ASK,
    "read-only": Reach.ASK,
    "workspace-write": Reach.RUN,
    "danger-full-access": Reach.ALL,
}

#: What is asked is asked of a person, whatever its user's settings say: they can name a model.
_ASKS_A_PERSON = ("--sandbox", "read-only", "-c", 'approvals_reviewer="user"')

#: The arguments of the modes that are ours.
_OUR_MODES = {
    "plan": ("--sandbox", "read-only", "--ask-for-approval", "never"),
    "default": (*_ASKS_A_PERSON, "--ask-for-approval", "on-request"),
}

_FOOTER = re.compile(
    r"\b(?:enter|esc)\b.*\b(?:confirm|cancel|close|back|skip|select|continue|quit|insert)\b"
)
#: The line in which it leaves out the rest of a command.
_HIDDEN = re.compile(r"\[… \d+ lines?\] .*")
#: What every dialog about a permission begins with.
_PERMISSION = "Would you like"
#: The last line of a turn.
_TURN_END = re.compile(r"\s*Worked for .{1,40} • \d\d:\d\d\s*")
_OPTION = re.compile(r"\s*(?:› )?\d+\. ")
#: The last line while keys go to the search in earlier prompts; the box stays on the screen.
_SEARCH = re.compile(r"\s*reverse-i-search:")
#: A draft that has a list of commands above it, and a command of that list.
_COMMAND = re.compile(r"/\S*")
_OFFER = re.compile(r"(?P<mark>[› ]) (?P<name>/\S+)(?: {2}|$)")
#: What it says of a slash command that it does not know; the words stay in its box.
_UNRECOGNIZED = re.compile(r"\W*(?P<said>Unrecognized command '(?P<name>/\S*)'.*)")
_PASTED = re.compile(r"(?:\[Pasted Content \d+ chars\](?: #\d+)?\s*)+")


class Codex:
    name = "codex"
    program = "codex"
    has_hooks = True
    has_box = True
    tells_start = False
    hook_before_tool = "PreToolUse"
    hook_when_asked = "PermissionRequest"
    silent_stop = ""
    asks_when_told = False
    doubles_hooks = True
    lists_tools = False
    takes_id = False
    can_resume = True
    can_fork = True
    modes = MODES
    pause = 0.0
    quiet = 5.0  #: only an error of its model is told by nothing else
    interrupt = ("escape",)
    #: Before and behind the cursor, a line each; ctrl-c would end it if its box were empty.
    clearing = ("ctrl-u", "ctrl-k") * 25
    quit = "/quit"
    rewriting = EXACT

    def command_line(self, order: Order) -> CommandLine:
        # Else it starts a daemon that outlives it, with the first session's environment.
        argv = [*order.command, "--no-daemon"]
        for setting in (*_hook_settings(order.hook), *_tool_settings(order.tools)):
            argv += ["-c", setting]
        if order.model:
            argv += ["--model", order.model]
        if order.permission_mode:
            argv += _OUR_MODES.get(order.permission_mode, ("--sandbox", order.permission_mode))
        if order.resumes:
            argv += ["resume", order.native_id]
        elif order.forks:
            argv += ["fork", order.forks]
        return CommandLine(tuple(argv), {})

    def identify(self, payload: Payload) -> Sender:
        return hooks.identify(self.name, payload)

    def read_hook(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        for fact in hooks.read(payload, session):
            # The hook tells the folder that the model has named for a command, if it has.
            is_use = isinstance(fact, ToolUsed)
            yield structs.replace(fact, folder=payload["cwd"]) if is_use else fact

    def read_call(self, payload: Payload) -> Call | None:
        match payload:
            case {
                "hook_event_name": "PreToolUse",
                "tool_name": "request_user_input" as tool,
                "tool_input": {"questions": [_, *_] as questions} as given,
            }:
                asked = Call(tool, given, tuple(hooks.question(each) for each in questions))
                return hooks.identified(asked, payload)
            case _:
                return hooks.read_call(payload)

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        """Write a decision. What it does not understand, such as "ask", lets the tool run."""
        if payload["hook_event_name"] != "PreToolUse":
            return hooks.answer(payload, verdict)
        if verdict is None or verdict.outcome is Outcome.GONE:
            return hooks.answer(payload, NOBODY)
        if verdict.outcome is Outcome.ANSWERED:
            return hooks.answer(payload, _refused_with(verdict))
        return hooks.answer(payload, verdict) if verdict.outcome is Outcome.DENIED else ""

    def read_stop(self, payload: Payload) -> Stop | None:
        return hooks.read_stop(payload)

    def go_on(self, payload: Payload, reason: str) -> str:
        return hooks.go_on(reason)

    def explain(self, payload: Payload, context: str) -> str:
        return hooks.explain(payload, context)

    def keys_for(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        return keys.keys_for(self.name, dialog, call, verdict)

    def why_not(self, words: str) -> str:
        if from_first_visible(words).startswith("!"):
            return "Codex would run them as a shell command; begin with another word than '!'."
        return ""

    def read_screen(self, screen: Screen) -> View:
        rows = len(screen.lines)
        while rows and not screen.lines[rows - 1].strip():
            rows -= 1
        lines, solid = screen.lines[:rows], screen.solid[:rows]
        if lines and _SEARCH.match(lines[-1]):
            return View(obstacle="its history search is open")
        if lines and _FOOTER.search(lines[-1]):
            return View(None, _dialog(lines))
        if any("enter/tab insert" in line for line in lines[-8:]):
            return View(None, Dialog("question", "It offers to complete a word."))
        box = _draft(lines, solid)
        working = any("esc to interrupt)" in line for line in lines[-8:])
        return View(box, None, working, instead=_instead(box or "", lines))

    def why_refused(self, screen: Screen, words: str) -> str:
        name = words.split(maxsplit=1)[0]
        said = (_UNRECOGNIZED.match(line) for line in reversed(screen.lines))
        found = next((each for each in said if each and each["name"] == name), None)
        return found["said"] if found else ""

    def holds(self, box: str, words: str) -> bool:
        return bool(_PASTED.fullmatch(box.strip())) or squeeze(box) == squeeze(words)


def _instead(draft: str, lines: Sequence[str]) -> str:
    """Return the listed command that Enter would take, if it is another than the draft."""
    if not _COMMAND.fullmatch(draft):
        return ""
    box = max(row for row, line in enumerate(lines) if line.startswith("›"))
    above = box - 1 if box and not lines[box - 1].strip() else box
    listed = takewhile(bool, map(_OFFER.match, reversed(lines[:above])))
    chosen = [each["name"] for each in listed if each and each["mark"] == "›"]
    return chosen[-1] if chosen and chosen[-1] != draft else ""


def _tool_settings(tools: Sequence[str]) -> Iterable[str]:
    """Let it run our tools, unasked: what they may do is decided where they are called."""
    if tools:
        program, *arguments = tools
        server = "mcp_servers.rookery"
        yield f"{server}.command={json.dumps(program)}"
        yield f"{server}.args={json.dumps(arguments)}"
        yield f'{server}.env_vars=["ROOKERY_BADGE"]'
        yield f'{server}.default_tools_approval_mode="approve"'


#: It cannot be made to ask its person: where nobody decides, the answer is no.
NOBODY = Verdict(Outcome.DENIED, "nobody", "Nobody was there to decide this.")


def _refused_with(verdict: Verdict) -> Verdict:
    """Answer a question in the only way that it takes: the tool does not run, and why."""
    said = (f"{question} {', '.join(given)}" for question, given in verdict.answers.items())
    return Verdict(Outcome.DENIED, verdict.by, f"The person has answered: {'; '.join(said)}")


def _hook_settings(command: str) -> Iterable[str]:
    """Say which hooks this session has, and that they are trusted.

    The command line wins over a project's settings, which could else switch them off.
    """
    yield "features.hooks=true"
    trusted = []
    for event, (label, timeout) in EVENTS.items():
        hook = {"type": "command", "command": command, "timeout": timeout, "async": False}
        identity = {"event_name": label, "hooks": [hook]}
        whole = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256(whole.encode()).hexdigest()
        key = json.dumps(f"/<session-flags>/config.toml:{label}:0:0")
        trusted.append(f'{key}={{trusted_hash="sha256:{digest}"}}')
        # A JSON string is a TOML string.
        run = f'{{type="command",command={json.dumps(command)},timeout={timeout}}}'
        yield f"hooks.{event}=[{{hooks=[{run}]}}]"
    yield "hooks.state={" + ",".join(trusted) + "}"


def _draft(lines: Sequence[str], solid: Sequence[str]) -> str | None:
    """Read the box: above the last lines, which name the model and the folder."""
    row = len(lines) - 1
    while row >= 0 and lines[row].strip():
        row -= 1
    if row < 0 or "·" not in " ".join(lines[row + 1 :]):
        return None
    end = row
    while row >= 0 and lines[row][:1] not in {"›", "!"}:
        row -= 1
    if row < 0:
        return None
    shell = "!" if lines[row].startswith("!") else ""
    first, *rest = solid[row:end]
    return shell + "\n".join([first[1:].strip(), *(line.strip() for line in rest)]).strip()


def _dialog(lines: Sequence[str]) -> Dialog:
    """Read what is asked: the last lines that are no part of what was said before."""
    start = len(lines)
    while start and (
        lines[start - 1][:2].strip() in {"", "↑", "↓"} or _is_option(lines[start - 1])
    ):
        start -= 1
    start += _rows_of_last_turn(lines[start:])
    found = choices.read(lines[start:])
    # A wrapped line of a command may begin like an option: only the last list has options.
    first = start + (found.rows[0] if found.rows else 0)
    asked = [
        line.strip()
        for row, line in enumerate(lines[start:], start)
        if row < first or not _is_option(line)
    ]
    text = " ".join(line for line in asked if line and not _FOOTER.search(line))
    permission = _PERMISSION in text
    subjects = _subjects(lines[start:], found.rows)
    shown, *hidden = _HIDDEN.split("\n".join(subjects), maxsplit=1)
    dialog = Dialog(
        "permission" if permission else "question",
        text,
        found.options,
        found.chosen,
        is_numbered=False,
        subjects=(shown,) if hidden else subjects,
        is_cut=bool(hidden),
    )
    return bounded(dialog)


def _rows_of_last_turn(asked: Sequence[str]) -> int:
    """Return how many rows, indented like a dialog, belong to the turn before it.

    Never rows of a permission: a command may have lines that look the same.
    """
    for row, line in enumerate(asked):
        if _TURN_END.fullmatch(line):
            return row + 1
        if _PERMISSION in line:
            break
    return 0


def _subjects(inside: Sequence[str], options: Sequence[int]) -> tuple[str, ...]:
    """Say what a dialog is about: all from the first ``$`` down to the options."""
    above = [line.strip() for line in (inside[: options[0]] if options else inside)]
    for row, line in enumerate(above):
        if line.startswith("$ "):
            return ("\n".join([line[2:], *above[row + 1 :]]).strip(),)
    return tuple(line for line in above if line)


def _is_option(line: str) -> bool:
    return bool(_OPTION.match(line))
