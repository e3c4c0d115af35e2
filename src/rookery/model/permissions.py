"""Permission requests: tool calls to be decided, questions to the user, and verdicts."""

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
from rookery.model.reason_texts import in_one_line
from rookery.model.short_texts import shortened
from rookery.model.tool_inputs import telling
from rookery.model.variables import in_words, variables_of

RequestId = NewType("RequestId", str)

Kind: TypeAlias = Literal["permission", "question"]

#: How a request became known: from the agent's hook, or only from its screen.
Source: TypeAlias = Literal["hook", "screen"]

#: The tool name of a request that is known only from the screen.
DIALOG = "dialog"

#: The tool name of a request of the stop policy.
STOP = "Stop"


@dataclass(frozen=True, slots=True)
class Question:
    """One question of an agent to its person."""

    text: str
    options: tuple[str, ...] = ()  #: if empty, any text is accepted
    takes_several: bool = False
    descriptions: tuple[str, ...] = ()  #: one per option, if the agent gives any


#: Represents the folder of a call in ``Call.uncertain``.
FOLDER = "(folder)"

#: Prefix of the digest of a call that cannot be distinguished from other calls.
INEXACT = "inexact:"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that waits for a decision, as its agent reports it."""

    tool: str
    input: Mapping[str, Any]
    questions: tuple[Question, ...] = ()  #: set if it asks questions instead of running a tool
    #: Whether the agent itself asks for permission; else it only announces the call.
    is_asked: bool = True
    #: Whether it can be answered only by pressing keys in the agent's dialog.
    by_keys: bool = False
    #: Identifies this call, for an agent that reports it with different input each time. It
    #: begins with ``INEXACT`` if it covers only a part of what determines the call's effect.
    mark: str = ""
    #: For a call whose dialog shows only a part of it: what the announcement of the call and
    #: its dialog have in common.
    announced_as: str = field(default="", compare=False)
    #: The agent's folder at the call: in another folder the same input has another effect.
    folder: str = field(default="", compare=False)
    #: The agent's own id of the call, if it reports one: other calls may have the same input.
    call_id: str = field(default="", compare=False)
    #: The id of the subagent that makes it, if any: it may outlive the main agent's turn.
    subagent: str = field(default="", compare=False)
    #: The paths that each path field may refer to, with links resolved. ``..`` after a link
    #: gives several: the kernel follows the link first, some agents remove the ``..`` first.
    real_paths: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)
    #: The folders that it may work in, with links resolved; empty if they were not looked up.
    real_folders: frozenset[str] = field(default=frozenset(), compare=False)
    #: Fields whose value is not certain: no rule allows a call based on them.
    uncertain: frozenset[str] = field(default=frozenset(), compare=False)

    #: The folder that a command runs in, if it is not the session's project folder; shown to
    #: the person who decides.
    elsewhere: str = field(default="", compare=False)

    #: Other names of the same tool, which rules may use: agents accept former names.
    other_names: frozenset[str] = field(default=frozenset(), compare=False)

    #: Shell commands that the tool runs itself and that no hook reports; ``None`` if there
    #: may be unknown ones.
    commands: tuple[str, ...] | None = field(default=(), compare=False)

    #: The kind of request, for a call that is known only from a dialog on the screen.
    shown: Kind | None = None
    #: Whether it was read completely. If not, other calls look the same, so an answer to one
    #: of them never applies to another.
    is_exact: bool = field(default=True, compare=False)

    @property
    def kind(self) -> Kind:
        return self.shown or ("question" if self.questions else "permission")

    @property
    def digest(self) -> str:
        """Return the id of this call, which is the same in every report about the call."""
        name = self.mark or digest(self.tool, self.input)
        return name if self.is_exact else f"{INEXACT}{name}"

    @property
    def is_shown_in_part(self) -> bool:
        """Return whether it was read from a dialog that shows only a part of the call."""
        return self.by_keys and self.mark.startswith(INEXACT)

    @property
    def working_folder(self) -> str:
        """Return the folder that it works in; empty if unknown."""
        return next(iter(working_folders(self.input, self.folder)), "")

    def seen_from(self, project: str) -> Call:
        """Return the call with ``elsewhere`` set if it runs outside the session's project."""
        folder = self.working_folder if runs_command(self.input) else ""
        return replace(self, elsewhere="" if folder == project else folder)

    @property
    def summary(self) -> str:
        """Return in one line what is asked for; line breaks and truncation stay visible."""
        return shortened(self._request_text, MAX_SUMMARY_CHARACTERS)

    @property
    def _request_text(self) -> str:
        if len(self.questions) > 1:
            questions = (
                f"{number}. {each.text}" for number, each in enumerate(self.questions, 1)
            )
            return " ".join(questions)
        if self.questions:
            return self.questions[0].text
        if plan := self.plan:
            return " ".join(["May it carry out its plan?", *plan.split()])
        place = f" in {in_one_line(self.elsewhere)}" if self.elsewhere else ""
        variables = variables_of(self.input)
        given = f" with {in_one_line(in_words(variables))}" if variables else ""
        about = in_one_line(telling(self.input, self.tool))
        text = f"May it use {self.tool}{place}{given}? {about}".rstrip()
        return f"{text}{self._runs}"

    @property
    def _runs(self) -> str:
        if self.commands is None:
            return " It may run shell commands, which could not be read."
        if not self.commands:
            return ""
        return " It runs: " + "; ".join(map(in_one_line, self.commands))

    @property
    def plan(self) -> str:
        """Return the plan that the agent wants to carry out; empty for every other call."""
        plan = self.input.get("plan") if self.tool == PLAN else ""
        return plan if isinstance(plan, str) else ""


#: Characters of a summary; the request contains the whole input.
MAX_SUMMARY_CHARACTERS = 2_000


#: The tool by which an agent asks whether it may carry out its plan.
PLAN = "ExitPlanMode"


@dataclass(frozen=True, slots=True)
class Stop:
    """An agent is about to stop, and can still be made to continue."""

    words: str  #: its last message
    goes_on: bool  #: it was already made to continue, by Rookery or by another hook


#: The fields that a rule or a dialog is about, in the order in which they are searched: where a
#: tool works comes before what it looks for. ``tool_inputs`` chooses what people are shown.
TELLING = ("command", "file_path", "filePath", "path", "url", "pattern", "query", "prompt")


def telling_field(tool_input: Mapping[str, Any]) -> str:
    """Return the name of the field that a rule for a call is about; empty if it has none."""
    return next((name for name in TELLING if name in tool_input), "")


#: Tools whose ``description`` is a comment of the agent; for others it is normal input.
_COMMENTED_TOOLS = frozenset({"Bash", "Agent", "Task", "bash", "task", "run_shell_command"})


def without_comment(tool: str, tool_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a call's input without the agent's comment on the call."""
    is_commented = tool in _COMMENTED_TOOLS
    return {
        name: value
        for name, value in tool_input.items()
        if not (is_commented and name == "description")
    }


def digest(tool: str, tool_input: Mapping[str, Any]) -> str:
    """Return a hash of what a call does, without the agent's comment on it."""
    whole = json.dumps([tool, without_comment(tool, tool_input)], sort_keys=True, default=str)
    return sha256(whole.encode(errors="replace")).hexdigest()[:32]


class Outcome(StrEnum):
    """What became of a request."""

    OPEN = "open"
    ALLOWED = "allowed"
    DENIED = "denied"
    ANSWERED = "answered"  #: a question
    GONE = "gone"  #: decided elsewhere, or no longer awaited


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a call, and who made it."""

    outcome: Outcome
    by: str  #: a person, a session, a rule, or a timeout
    reason: str = ""  #: passed to the agent
    for_session: bool = False  #: also applies to the same call for the rest of this session
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  #: by question


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
    #: When it is denied or left to the agent's dialog; none if the agent asks in its terminal.
    deadline: datetime | None
    by_keys: bool  #: answered by keys in the agent's own dialog: no hook waits for it
    source: Source = "hook"
    has_dialog: bool = True  #: the agent can ask the same in its own terminal
    missed: bool = False  #: it was not answered in time, and a person has not seen that yet
    #: State of the answer: ``due`` until the hook received it or its keys were pressed;
    #: ``pressed`` once the keys were seen to take effect, or if the request is ``gone`` and
    #: they may have; else ``none``.
    delivery: Literal["none", "due", "pressed"] = "none"
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    takes_text: bool = True  #: Rookery can answer its questions with free text
    takes_options: bool = True  #: Rookery can choose its options
    takes_reason: bool = True  #: the agent gets the reason of a denial
    is_exact: bool = True  #: false if other calls look the same: an answer allows only this one
    made_in: str = ""  #: the folder that the agent was in; empty if not reported
    note: str = ""  #: what else the person who answers must know
    folder: str = ""  #: the folder that the call works in; empty if unknown
    answered_by: str = ""
    answered_at: datetime | None = None
    reason: str = ""
