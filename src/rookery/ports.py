"""What we ask of the outside world, and nothing about how it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from rookery.model.facts import Fact, SessionId
from rookery.model.messages import Parcel
from rookery.model.permissions import Call, Stop, Verdict
from rookery.model.reach import Reach
from rookery.model.rewriting import Rewriting
from rookery.model.screens import Dialog, Press, Screen, View
from rookery.model.sessions import NativeId, Sender

Payload: TypeAlias = Mapping[str, Any]


class Clock(Protocol):
    """What time it is, and waiting for a later one. ``now`` is called from any thread."""

    def now(self) -> datetime: ...
    async def sleep(self, seconds: float) -> None: ...


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
        """The hook that may tell of the end of a turn, but not how it ended."""
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


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program without a box has printed since words were last typed into it."""

    lines: tuple[str, ...] = ()  #: unwrapped, from the line that the words stand on
    rest: str = ""  #: what stood there before them: a prompt, or a status
    is_whole: bool = True  #: false if the beginning has scrolled away for good


class Sight(Enum):
    """What can be seen of some words."""

    BOX = auto()  #: they, and nothing else, stand in the input box
    AGENT = auto()  #: the agent has them
    LATE = auto()  #: they were typed, and do not show yet
    NOWHERE = auto()  #: Enter was pressed on them, and they are gone from the box
    UNTOUCHED = auto()  #: they were never typed
    HIDDEN = auto()  #: a dialog or somebody's draft is in the way; look again later


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to be held for a session."""

    session: SessionId
    agent: Agent
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path  #: where it works


@dataclass(frozen=True, slots=True)
class Place:
    """Where a runtime holds a session."""

    tmux_session: str
    tmux_pane: str
    pid: int


@dataclass(frozen=True, slots=True)
class Exited:
    """The program ended. Without a code or a signal, nobody could tell how."""

    session: SessionId
    code: int | None
    signal: int | None
    screen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vanished:
    """What held it is gone: looked for twice, found neither time."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Changed:
    """Its screen changed a moment ago."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class FellQuiet:
    """It printed something and then nothing for a while."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Skipped:
    """It printed more than could be taken in."""

    session: SessionId


Sighting: TypeAlias = Exited | Vanished | Changed | FellQuiet | Skipped


class Waitable(Protocol):
    """Something that happens once, such as an ``asyncio.Event``."""

    async def wait(self) -> object: ...


class Runtime(Protocol):
    """Holds sessions and can speak to them. Each call may raise ``RuntimeFailed``."""

    async def start(self, launch: Launch) -> Place:
        """Run the program; if it already runs under that session's name, take it over."""
        ...

    async def find(self) -> Mapping[str, Place]:
        """Say what is held now, by its name."""
        ...

    async def adopt(self, session: SessionId, agent: Agent, place: Place) -> None:
        """Watch over what was found. Raises ``RuntimeFailed`` if it has gone meanwhile."""
        ...

    async def paste(self, parcel: Parcel) -> None:
        """Put words into the empty input box. Raises ``Occupied`` with nothing done.

        That it was done is written down where it outlives us, in the same breath.
        """
        ...

    async def submit(self, parcel: Parcel) -> None:
        """Press Enter on them. Raises ``Occupied`` if anything else stands there.

        Raises ``WordsRefused`` if the program has refused them, or keeps them in its box after
        as many Enters as are ever pressed.
        """
        ...

    async def clear(self, parcel: Parcel) -> bool:
        """Empty the input box if these words, and nothing else, stand in it.

        Returns whether it did. Raises ``Occupied`` if a key could do harm.
        """
        ...

    async def look(self, parcel: Parcel) -> Sight:
        """Say where the words are."""
        ...

    async def press(self, session: SessionId, *keys: str) -> None:
        """Press keys by name, whatever is on the screen."""
        ...

    async def give(self, session: SessionId, press: Press, *, receipt: str) -> None:
        """Take a step in an open dialog, and leave the receipt where it outlives us."""
        ...

    async def given(self, session: SessionId) -> str:
        """Return the receipt of the last step that was taken in a dialog; empty if none."""
        ...

    def check_keys(self, *keys: str) -> None:
        """Raise ``BadInput`` for a key that nobody knows."""
        ...

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        """Name the session whose program is one of these processes (``Process.word``)."""
        ...

    def screens(self, session: SessionId) -> AsyncIterator[tuple[str, ...]]:
        """Give the present screen, and each later one once it stands still for a moment."""
        ...

    async def read(self, session: SessionId, *, history: bool = False) -> tuple[str, ...]:
        """Return the screen as its lines, with what has scrolled away before them or not."""
        ...

    async def view(self, session: SessionId) -> View:
        """Return what its agent shows its person."""
        ...

    def next_change(self, session: SessionId) -> Waitable:
        """Return what can be waited for until the screen may have changed.

        Take it before you look at the screen, so that no change falls in between.
        """
        ...

    def attend(self, session: SessionId, *, to_screen: bool) -> None:
        """Say whether ``Changed`` is wanted for a session; at first it is."""
        ...

    async def shown(self, parcel: Parcel, *, within: float) -> bool:
        """Wait until pasted words stand in the box. False if they do not in time."""
        ...

    def check(self, session: SessionId, words: str) -> None:
        """Raise ``WordsRefused`` if these would not arrive as they are."""
        ...

    async def printed(self, session: SessionId) -> Printed:
        """Return what was printed since words were last typed, also by an earlier daemon.

        Nothing where they were never typed, or where the program draws a whole screen.
        """
        ...

    async def is_attached(self, session: SessionId) -> bool:
        """Whether a person looks at it in a terminal of theirs."""
        ...

    async def quit(self, session: SessionId) -> None:
        """Ask the program to leave in its own way. Raises ``Occupied`` with nothing done."""
        ...

    async def signal(self, session: SessionId, number: int) -> None:
        """Send a signal to the program and to all that it started."""
        ...

    async def release(self, session: SessionId) -> None:
        """Let go of what held the session; what it left in the background is its own affair."""
        ...

    def watch(self) -> AsyncIterator[Sighting]:
        """Tell what is seen, for as long as one listens."""
        ...

    def see_again(self, sighting: Sighting) -> None:
        """Tell once more what could not be written down."""
        ...
