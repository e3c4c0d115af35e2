"""May this tool call run? What is asked, what the rules say, and what was answered."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any, Literal, NewType, TypeAlias

from rookery.model.facts import SessionId

RequestId = NewType("RequestId", str)

#: The order in which rules are asked: one that denies beats all that allow.
Decision: TypeAlias = Literal["deny", "allow", "ask"]
DECISIONS: tuple[Decision, ...] = ("deny", "allow", "ask")

Kind: TypeAlias = Literal["permission", "question"]


@dataclass(frozen=True, slots=True)
class Question:
    """One question of an agent to its person."""

    text: str
    options: tuple[str, ...] = ()  #: none: any words will do
    takes_several: bool = False


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
    #: Names the very call, for an agent that tells of it in different words each time.
    mark: str = ""

    @property
    def kind(self) -> Kind:
        return "question" if self.questions else "permission"

    @property
    def digest(self) -> str:
        """Name the very call: what an agent says of it before and after has no other name."""
        return self.mark or digest(self.tool, self.input)

    @property
    def summary(self) -> str:
        """Say in a line what is wanted."""
        if self.questions:
            return self.questions[0].text
        return " ".join([f"May it use {self.tool}?", *telling(self.input).split()])


@dataclass(frozen=True, slots=True)
class Stop:
    """An agent is about to stop, and can still be made to go on."""

    words: str  #: its last
    goes_on: bool  #: it was made to go on before, by us or by another


#: The field of a tool's input that says most, most telling first.
TELLING = ("command", "file_path", "filePath", "path", "url", "pattern", "query", "prompt")


def telling(given: Mapping[str, Any]) -> str:
    """Return what says most of a call: its command, its file, its address."""
    return next((str(given[name]) for name in TELLING if name in given), "")


#: Fields in which an agent explains itself: the call is the same without them.
_REMARKS = frozenset({"description"})


def digest(tool: str, given: Mapping[str, Any]) -> str:
    kept = {name: value for name, value in given.items() if name not in _REMARKS}
    whole = json.dumps([tool, kept], sort_keys=True, default=str)
    return sha256(whole.encode(errors="replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a text must be: word for word, as a glob, or as a regular expression."""

    text: str
    kind: Literal["literal", "glob", "regex"] = "glob"

    def matches(self, value: str) -> bool:
        return _MATCH[self.kind](self.text, value)


def _search(pattern: str, value: str) -> bool:
    return re.search(pattern, value) is not None


_MATCH: Mapping[str, Callable[[str, str], bool]] = {
    "literal": str.__eq__,
    "glob": lambda pattern, value: fnmatchcase(value, pattern),
    "regex": _search,
}


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Who makes a call, and where."""

    agent: str
    project: str
    session: str  #: its name


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do with the calls that it matches: all that it names must match."""

    name: str
    decision: Decision
    tool: Pattern = Pattern("*")
    input: Mapping[str, Pattern] = field(default_factory=dict)
    agent: Pattern = Pattern("*")
    project: Pattern = Pattern("*")
    session: Pattern = Pattern("*")
    reason: str = ""

    def matches(self, call: Call, where: Circumstances) -> bool:
        return (
            self.tool.matches(call.tool)
            and self.agent.matches(where.agent)
            and self.project.matches(where.project)
            and self.session.matches(where.session)
            and all(_has(call.input, name, each) for name, each in self.input.items())
        )


def _has(given: Mapping[str, Any], name: str, pattern: Pattern) -> bool:
    if name not in given:
        return False
    value = given[name]
    return pattern.matches(value if isinstance(value, str) else json.dumps(value))


def decide(rules: Iterable[Rule], call: Call, where: Circumstances) -> Rule | None:
    """Return the rule that decides: of those that match, one that denies, allows, then asks."""
    matching = [rule for rule in rules if rule.matches(call, where)]
    return min(matching, key=lambda rule: DECISIONS.index(rule.decision), default=None)


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
    answered_by: str = ""
    answered_at: datetime | None = None
    reason: str = ""
