"""May this tool call run? What is asked, what the rules say, and what was answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any, Literal, NewType, TypeAlias

from rookery.model.facts import SessionId
from rookery.model.folders import runs_command, working_folders

RequestId = NewType("RequestId", str)

Kind: TypeAlias = Literal["permission", "question"]

#: How a request became known: its agent told of it, or only its screen shows it.
Source: TypeAlias = Literal["hook", "screen"]

#: What a request is called of whose dialog only the screen tells.
DIALOG = "dialog"

#: What a request of the stop policy is called, where others have the name of a tool.
STOP = "Stop"


@dataclass(frozen=True, slots=True)
class Question:
    """One question of an agent to its person."""

    text: str
    options: tuple[str, ...] = ()  #: none: any words will do
    takes_several: bool = False
    descriptions: tuple[str, ...] = ()  #: of the options, where there are any


#: Stands for the folder of a call among its uncertain fields.
FOLDER = "(folder)"

#: Before the digest of a call that other calls cannot be told from.
INEXACT = "inexact:"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that waits to be decided, as its agent tells of it."""

    tool: str
    input: Mapping[str, Any]
    questions: tuple[Question, ...] = ()  #: it is a question, not a tool that does something
    #: Whether the agent itself wants a person asked; else it only says what it is about to do.
    is_asked: bool = True
    #: Whether an answer reaches it only by keys, in the dialog that it shows.
    by_keys: bool = False
    #: Names the very call, for an agent that tells of it in different words each time. It
    #: begins with ``INEXACT`` if it names only a part of what decides what the call does.
    mark: str = ""
    #: The folder that it is made in: in another one the same input does something else.
    folder: str = field(default="", compare=False)
    #: The agent's own id of the call, if it tells one: another call may have the same input.
    call_id: str = field(default="", compare=False)
    #: The id of the subagent that makes it, if one does: it outlives the main agent's turn.
    subagent: str = field(default="", compare=False)
    #: What each path field may mean, with links followed. With ``..`` after a link there are
    #: several: the kernel follows the link first, some agents remove the ``..`` first.
    real_paths: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)
    #: The folders that it may work in, with links followed; empty if they were not looked up.
    real_folders: frozenset[str] = field(default=frozenset(), compare=False)
    #: Fields whose value is not known for certain: rules never allow by them.
    uncertain: frozenset[str] = field(default=frozenset(), compare=False)

    #: Of a command that does not run in its session's project folder: the folder that it
    #: runs in, for a person to see.
    elsewhere: str = field(default="", compare=False)

    #: Shell commands that the tool runs by itself, of which no hook tells; ``None`` if there
    #: may be some that are not known.
    commands: tuple[str, ...] | None = field(default=(), compare=False)

    #: Of a dialog that only the screen shows: what it asks for.
    shown: Kind | None = None
    #: Whether it was read to the last byte. If not, other calls look the same: what is
    #: answered to one of them holds for none of the others.
    is_exact: bool = field(default=True, compare=False)

    @property
    def kind(self) -> Kind:
        return self.shown or ("question" if self.questions else "permission")

    @property
    def digest(self) -> str:
        """Name the very call: what an agent says of it before and after has no other name."""
        name = self.mark or digest(self.tool, self.input)
        return name if self.is_exact else f"{INEXACT}{name}"

    @property
    def working_folder(self) -> str:
        """Return the folder that it works in; empty if that is not known."""
        return next(iter(working_folders(self.input, self.folder)), "")

    def seen_from(self, project: str) -> Call:
        """Return the call as a person is asked about it who knows the session's project."""
        folder = self.working_folder if runs_command(self.input) else ""
        return replace(self, elsewhere="" if folder == project else folder)

    @property
    def summary(self) -> str:
        """Say in a line what is wanted; line breaks and a cut are seen."""
        return shortened(self._wanted, MAX_SUMMARY_CHARACTERS)

    @property
    def _wanted(self) -> str:
        if len(self.questions) > 1:
            asked = (f"{number}. {each.text}" for number, each in enumerate(self.questions, 1))
            return " ".join(asked)
        if self.questions:
            return self.questions[0].text
        if plan := self.plan:
            return " ".join(["May it carry out its plan?", *plan.split()])
        place = f" in {in_one_line(self.elsewhere)}" if self.elsewhere else ""
        wanted = f"May it use {self.tool}{place}? {in_one_line(telling(self.input))}".rstrip()
        return f"{wanted}{self._runs}"

    @property
    def _runs(self) -> str:
        if self.commands is None:
            return " It may run shell commands, which could not be read."
        if not self.commands:
            return ""
        return " It runs: " + "; ".join(map(in_one_line, self.commands))

    @property
    def plan(self) -> str:
        """Return the plan that an agent wants to carry out; empty for every other call."""
        plan = self.input.get("plan") if self.tool == PLAN else ""
        return plan if isinstance(plan, str) else ""


#: Characters of a summary; the request has the whole input.
MAX_SUMMARY_CHARACTERS = 2_000


def in_one_line(text: str) -> str:
    """Return a text in one line, with a sign for each line break.

    Without it, the second line of a command reads as a part of a comment in the first.
    """
    lines = (" ".join(line.split()) for line in text.splitlines())
    return " ↵ ".join(line for line in lines if line)


def shortened(text: str, limit: int) -> str:
    """Return so many characters of a text at most, and say how many are left out."""
    left_out = len(text) - limit
    return text if left_out <= 0 else f"{text[:limit]}… ({left_out:,} more characters)"


#: The tool by which an agent asks whether it may carry out its plan.
PLAN = "ExitPlanMode"


@dataclass(frozen=True, slots=True)
class Stop:
    """An agent is about to stop, and can still be made to go on."""

    words: str  #: its last
    goes_on: bool  #: it was made to go on before, by us or by another


#: The field of a tool's input that says most, most telling first.
TELLING = ("command", "file_path", "filePath", "path", "url", "pattern", "query", "prompt")


def telling(given: Mapping[str, Any]) -> str:
    """Return what says most of a call: its command, its file, its address; else all of it."""
    known = next((str(given[name]) for name in TELLING if name in given), "")
    return known or (json.dumps(dict(given), ensure_ascii=False, default=str) if given else "")


#: Tools whose ``description`` is a comment of the agent; elsewhere it is input like any other.
_COMMENTED_TOOLS = frozenset({"Bash", "Task", "bash", "task", "run_shell_command"})


def digest(tool: str, given: Mapping[str, Any]) -> str:
    """Return a hash of what a call does, without the agent's comment on it."""
    is_commented = tool in _COMMENTED_TOOLS
    kept = {
        name: value
        for name, value in given.items()
        if not (is_commented and name == "description")
    }
    whole = json.dumps([tool, kept], sort_keys=True, default=str)
    return sha256(whole.encode(errors="replace")).hexdigest()[:32]


class Outcome(StrEnum):
    """What became of a request."""

    OPEN = "open"
    ALLOWED = "allowed"
    DENIED = "denied"
    ANSWERED = "answered"  #: a question
    GONE = "gone"  #: decided elsewhere, or nobody waits for it any more


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided of a call, and by whom."""

    outcome: Outcome
    by: str  #: a person, a session, a rule, the clock
    reason: str = ""  #: told to the agent
    for_session: bool = False  #: the same call is not asked about again in this session
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  #: to each question


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call that a person is asked about, as stored, sent and shown."""

    id: RequestId
    session: SessionId
    kind: Kind
    tool: str
    input: Mapping[str, Any]
    questions: tuple[Question, ...]
    message: str
    outcome: Outcome
    asked_at: datetime
    deadline: datetime | None  #: then it is denied; none if its agent asks in its own terminal
    by_keys: bool  #: an answer is pressed in the agent's own dialog: no hook waits for it
    source: Source = "hook"
    has_dialog: bool = True  #: its agent can ask the same in its own terminal
    missed: bool = False  #: it was not answered in time, and not seen since
    #: Of an answer: ``due`` until its hook was told or its keys were pressed; ``pressed`` once
    #: keys were seen to take effect; else ``none``.
    delivery: Literal["none", "due", "pressed"] = "none"
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    takes_text: bool = True  #: a question of it can be answered from here in free text
    is_exact: bool = True  #: else other calls look the same, and it is allowed once at a time
    made_in: str = ""  #: the folder that its agent was in; empty if it did not tell
    note: str = ""  #: what else a person who answers must know
    folder: str = ""  #: that the call works in; empty if it is not known
    answered_by: str = ""
    answered_at: datetime | None = None
    reason: str = ""
