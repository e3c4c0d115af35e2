"""What we ask of an agent's dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import Call, Stop, Verdict
from rookery.model.reach import Reach
from rookery.model.rewriting import Rewriting
from rookery.model.screens import Dialog, Press, Screen, View
from rookery.model.sessions import NativeId, Sender

Payload: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Order:
    """What an agent's command line is made of."""

    command: tuple[str, ...]  #: the program and what the configuration adds to it
    native_id: NativeId
    model: str
    permission_mode: str
    hook: str  #: the command that tells us of a hook, as one shell word list
    folder: Path  #: of this session alone, private; its files go there
    resumes: bool = False  #: go on with the conversation of that native id
    forks: NativeId | None = None  #: begin with a branch of that conversation
    #: Where hooks are told, and where they wait, for an agent that needs no program for that.
    door: Path = Path()
    spool: Path = Path()
    #: How our tools are run for it, and the badge that they wear; empty if it gets none.
    tools: tuple[str, ...] = ()
    badge: str = ""
    #: What it will be run with, but for what the command line itself adds.
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommandLine:
    argv: tuple[str, ...]
    files: Mapping[Path, str]  #: to be written, private, before it is run
    #: Added to what it is run with.
    environment: Mapping[str, str] = field(default_factory=dict)


class Agent(Protocol):
    """Knows one agent's dialect. Pure: text in, facts out."""

    @property
    def name(self) -> str: ...

    @property
    def program(self) -> str:
        """What to look for on the PATH; empty if it comes with Rookery."""
        ...

    @property
    def has_hooks(self) -> bool:
        """Whether it tells of its start, its prompts and its stops itself."""
        ...

    @property
    def tells_start(self) -> bool:
        """Whether a hook tells that it is up, before anything was said to it."""
        ...

    @property
    def doubles_hooks(self) -> bool:
        """Whether it runs a hook twice that it was given twice, for itself and for all."""
        ...

    @property
    def lists_tools(self) -> bool:
        """Whether it takes prompts before it has asked an MCP server for its tools.

        Its first words wait until it has asked ours, or they would find no tools.
        """
        ...

    @property
    def takes_id(self) -> bool:
        """Whether we may choose its native id."""
        ...

    @property
    def can_resume(self) -> bool:
        """Whether it can go on with a conversation that has ended."""
        ...

    @property
    def can_fork(self) -> bool:
        """Whether it can begin with a branch of a conversation."""
        ...

    @property
    def modes(self) -> Mapping[str, Reach]:
        """The permission modes that its command line can set, and what each does unasked.

        Of several with the same reach, the first is the one to use.
        """
        ...

    @property
    def pause(self) -> float:
        """Seconds it needs between a paste and Enter."""
        ...

    @property
    def quiet(self) -> float:
        """Seconds without a change of its screen after which it does nothing any more."""
        ...

    @property
    def interrupt(self) -> tuple[str, ...]:
        """The keys that stop its present turn, pressed one after the other."""
        ...

    @property
    def clearing(self) -> tuple[str, ...]:
        """The keys that empty its input box; pressed only while something stands in it."""
        ...

    @property
    def quit(self) -> str:
        """What one types to leave it; empty if there is nothing."""
        ...

    def command_line(self, order: Order) -> CommandLine: ...

    def identify(self, payload: Payload) -> Sender:
        """Say who sent the hook. Raises ``HookUnreadable``."""
        ...

    def read_hook(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        """Say what the hook tells us about ``session``."""
        ...

    def read_call(self, payload: Payload) -> Call | None:
        """Say which tool call the hook wants decided; ``None`` if it only tells."""
        ...

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        """Write what the hook says to its agent; ``None``: that it is to ask its person."""
        ...

    def read_stop(self, payload: Payload) -> Stop | None:
        """Say how it is about to stop, if it can still be made to go on."""
        ...

    def go_on(self, payload: Payload, reason: str) -> str:
        """Write what makes it go on instead of stopping."""
        ...

    def explain(self, payload: Payload, context: str) -> str:
        """Write what it is told beside its prompt; empty if it takes nothing there."""
        ...

    @property
    def hook_before_tool(self) -> str:
        """The event by which it says which tool it is about to use; empty if there is none."""
        ...

    @property
    def silent_stop(self) -> str:
        """The hook whose account of a turn's end is checked against the transcript.

        It may not say how the turn ended, or repeat parts of its last words.
        """
        ...

    @property
    def hook_when_asked(self) -> str:
        """The event by which it asks for permission; empty if there is none."""
        ...

    @property
    def asks_when_told(self) -> bool:
        """Whether a hook can make it ask its person about a call that it would just do."""
        ...

    @property
    def has_box(self) -> bool:
        """Whether its screen can be read: where one types, and what it asks."""
        ...

    def read_screen(self, screen: Screen) -> View:
        """Say what the screen shows. Only where it has a box."""
        ...

    def keys_for(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        """Name the next step that gives an answer in its dialog; none if that is not sure."""
        ...

    def why_not(self, words: str) -> str:
        """Say why these words must not be typed, such as that they would be run; else empty."""
        ...

    @property
    def rewriting(self) -> Rewriting:
        """How its program changes words that are pasted into it."""
        ...

    def why_refused(self, screen: Screen, words: str) -> str:
        """Return why it left submitted words in its box, as its screen says; empty if not."""
        ...

    def holds(self, box: str, words: str) -> bool:
        """Whether what stands in the box is ``words``, as the agent shows them."""
        ...
