"""What Rookery knows of one agent program: plain data, and functions from text to facts.

An agent names what it has. A field is ``None`` where it has no hooks, no readable screen, no
transcript or no settings of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from re import Pattern
from typing import Any, Protocol, TypeAlias

from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import Call, Stop, Verdict
from rookery.model.reach import Reach
from rookery.model.rewriting import EXACT, Rewriting
from rookery.model.screens import Dialog, Press, Screen, View, squeeze
from rookery.model.sessions import NativeId, Sender
from rookery.ports.settings import SettingsDialect
from rookery.ports.transcript import TranscriptDialect

Payload: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """What an agent's command line is made of."""

    command: tuple[str, ...]  #: the program and what the configuration adds to it
    native_id: NativeId
    model: str
    permission_mode: str
    hook: str  #: the shell command that reports a hook to Rookery
    folder: Path  #: private to this session; its files go there
    resumes: bool = False  #: continue the conversation of ``native_id``
    forks: NativeId | None = None  #: start with a branch of that conversation
    #: Where hooks are reported and spooled, for an agent that needs no program for that.
    door: Path = Path()
    spool: Path = Path()
    #: The command of our MCP server, and the badge that it presents; empty if it gets none.
    tools: tuple[str, ...] = ()
    badge: str = ""
    #: What it will be run with, without what the command line itself adds.
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommandLine:
    argv: tuple[str, ...]
    files: Mapping[Path, str]  #: to be written, private, before it is run
    #: Added to what it is run with.
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Abilities:
    """What an agent program can do, and in what it differs from others."""

    takes_id: bool = False  #: Rookery may choose its native id
    can_resume: bool = False  #: it can continue a conversation that has ended
    can_fork: bool = False  #: it can start with a branch of a conversation
    #: It takes prompts before it has asked an MCP server for its tools. The first prompt waits
    #: until it has asked ours, or the agent would find no tools.
    lists_tools: bool = False
    #: It takes hooks from its user's settings only: a launch cannot give it any.
    needs_installed_hooks: bool = False
    #: The argument that makes its program a server for several sessions; empty if none does.
    server_argument: str = ""


@dataclass(frozen=True, slots=True)
class HookTraits:
    """Which hook events an agent has, and what they can do."""

    before_tool: str = ""  #: the event before a tool runs; empty if there is none
    permission: str = ""  #: the event by which it asks for permission; empty if there is none
    #: The event whose account of a turn's end is checked against the transcript: it may not
    #: say how the turn ended, or repeat parts of its last words. Empty if there is none.
    silent_stop: str = ""
    #: A hook can make it ask its person about a call that it would run unasked.
    asks_when_told: bool = False
    #: It runs a hook twice that is both installed and given at launch.
    doubles_hooks: bool = False
    tells_start: bool = False  #: a hook reports that it is up, before its first prompt


class HookDialect(Protocol):
    """Reads and answers the hook calls of one agent."""

    @property
    def traits(self) -> HookTraits: ...

    def identify(self, payload: Payload) -> Sender:
        """Return who sent the hook. Raises ``HookUnreadable``."""
        ...

    def read(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        """Return the facts that the hook reports of ``session``."""
        ...

    def read_call(self, payload: Payload) -> Call | None:
        """Return the tool call that the hook wants decided; ``None`` if it only reports."""
        ...

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        """Write the hook's answer to its agent; ``None``: that it is to ask its person."""
        ...

    def read_stop(self, payload: Payload) -> Stop | None:
        """Return how the agent is about to stop, if a hook can make it go on."""
        ...

    def go_on(self, payload: Payload, reason: str) -> str:
        """Write the answer that makes the agent go on instead of stopping."""
        ...

    def explain(self, payload: Payload, context: str) -> str:
        """Write what the agent is told beside its prompt; empty if it takes nothing there."""
        ...


def _nothing_against(words: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class InputDialect:
    """How an agent takes what is typed into it."""

    quiet: float  #: seconds without a change of its screen after which it is idle
    interrupt: tuple[str, ...]  #: the keys that stop its present turn, pressed one by one
    pause: float = 0.0  #: seconds that it needs between a paste and Enter
    #: The keys that empty its input box; pressed only while something stands in it.
    clearing: tuple[str, ...] = ()
    quit: str = ""  #: what a person types to leave it; empty if there is nothing
    #: The keys that stop its background subagents; empty if it has none.
    stop_subagents: tuple[str, ...] = ()
    rewriting: Rewriting = EXACT  #: how its program changes words that are pasted into it
    pasted: Pattern[str] | None = None  #: what its box shows in place of a long paste
    #: Return why words must not be typed, such as that they would be run; empty if they may.
    why_not: Callable[[str], str] = _nothing_against

    def holds(self, box: str, words: str) -> bool:
        """Return whether the text of the box is ``words``, as the agent shows them."""
        is_placeholder = self.pasted is not None and self.pasted.fullmatch(box.strip())
        return bool(is_placeholder) or squeeze(box) == squeeze(words)


class KeyDialect(Protocol):
    """Answers the dialogs of one agent by keys, where no hook can carry the answer."""

    def keys_for(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        """Return the next step that gives an answer in the dialog; none if that is not sure."""
        ...

    def takes(self, call: Call, answers: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether these answers can be given in the dialog of a call."""
        ...

    def reason_note(self, call: Call) -> str:
        """Say that the reason of a refusal does not reach the agent; empty if it does."""
        ...


class SpeechDialect(Protocol):
    """Reads a conversation off a screen at rest, where no hook and no file reports it."""

    def last_answer(self, lines: Sequence[str]) -> str:
        """Return what was said last; empty if a tool or a refusal came after it."""
        ...

    def last_prompt(self, lines: Sequence[str]) -> str:
        """Return what the agent was asked last; empty if the screen does not show it."""
        ...

    def shows_interruption(self, lines: Sequence[str]) -> bool:
        """Return whether the last turn was stopped or refused."""
        ...


def _not_refused(screen: Screen, words: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ScreenDialect:
    """Reads one agent's screen: its input box, its dialogs, whether it works."""

    read: Callable[[Screen], View]
    keys: KeyDialect
    #: Return why submitted words stayed in the box, as the screen says; empty if it does not.
    why_refused: Callable[[Screen, str], str] = _not_refused
    speech: SpeechDialect | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent program, with the dialects that it has."""

    name: str
    program: str  #: what to look for on the PATH; empty if it comes with Rookery
    abilities: Abilities
    #: The permission modes that its command line can set, and what each does unasked. Of
    #: several with the same reach, the first is the one to use.
    modes: Mapping[str, Reach]
    command_line: Callable[[LaunchSpec], CommandLine]
    input: InputDialect
    hooks: HookDialect | None = None
    screen: ScreenDialect | None = None
    transcript: TranscriptDialect | None = None
    settings: SettingsDialect | None = None
