"""The description of one agent program: plain data, and functions from text to facts.

A field is ``None`` if the agent has no hooks, no readable screen, no transcript or no settings
of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from re import Pattern
from typing import Any, Protocol, TypeAlias

from rookery.model.autonomy import Autonomy
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import Call, Stop, Verdict
from rookery.model.screens import Dialog, Press, Screen, View, squeeze
from rookery.model.sessions import NativeId, Sender
from rookery.model.text_rewriting import EXACT, Rewriting
from rookery.ports.arguments import ReservedArguments
from rookery.ports.settings import SettingsDialect
from rookery.ports.transcript import TranscriptDialect

Payload: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """The input from which an agent's command line is built."""

    command: tuple[str, ...]  #: the program, with the arguments that the configuration adds
    native_id: NativeId
    model: str
    permission_mode: str
    hook: str  #: the shell command that reports a hook to Rookery
    folder: Path  #: private to this session; for its files
    resumes: bool = False  #: continue the conversation of ``native_id``
    forks: NativeId | None = None  #: start with a branch of this conversation
    #: The hook socket and the spool, for agents that report hook calls without a hook program.
    door: Path = Path()
    spool: Path = Path()
    #: The command of Rookery's MCP server and the badge that it presents; empty if not offered.
    tools: tuple[str, ...] = ()
    badge: str = ""
    #: The environment of the launch, without what the command line itself adds.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: For driven sessions only: text that is added to the agent's own instructions, the tools
    #: that it may use unasked, and the limit of its cost in micro-dollars.
    system_prompt: str = ""
    allowed_tools: tuple[str, ...] = ()
    budget: int | None = None
    #: The agent's own running total of the conversation's cost before this launch: some agents
    #: continue it in a resumed conversation. In micro-dollars.
    earlier_cost: int = 0


@dataclass(frozen=True, slots=True)
class CommandLine:
    argv: tuple[str, ...]
    files: Mapping[Path, str]  #: to be written, with private permissions, before the launch
    #: Added to the environment of the launch.
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DriverLine:
    """How an agent is started by a driver, which then speaks the agent's protocol with it."""

    driver: str  #: its name in ``rookery.agents.driver_catalog``
    line: CommandLine  #: the program that speaks the protocol
    options: Mapping[str, Any] = field(default_factory=dict)  #: for the driver, as JSON


@dataclass(frozen=True, slots=True)
class QueueAccess:
    """The agent's own message queue, which reaches a session in a terminal without keys."""

    name: str  #: in ``rookery.agents.driver_catalog``
    arguments: tuple[str, ...]  #: make its program a server that changes the queue


@dataclass(frozen=True, slots=True)
class Abilities:
    """What an agent program can do, and how it differs from others."""

    takes_id: bool = False  #: Rookery may choose its native id
    can_resume: bool = False  #: it can continue a conversation that has ended
    can_fork: bool = False  #: it can start with a branch of a conversation
    can_fork_driven: bool = False  #: it can do so only in a driven session
    #: It takes text that is typed during a turn into that turn, and reports it at once. Other
    #: agents are interrupted for a message that must not wait.
    can_steer: bool = False
    #: It accepts prompts before it has asked the MCP servers for their tools. So the first
    #: prompt waits until it has asked Rookery's server; else the agent would have no tools.
    lists_tools: bool = False
    #: It reads hooks only from its user's settings: they cannot be set at launch.
    needs_installed_hooks: bool = False
    #: The argument that makes its program a server for several sessions; empty if none does.
    server_argument: str = ""


@dataclass(frozen=True, slots=True)
class HookTraits:
    """Which hook events an agent has, and what they can do.

    The payload of ``before_tool`` and ``permission`` must name the event, the tool and its
    input as ``hook_event_name``, ``tool_name`` and ``tool_input``: while no daemon runs, the
    hook program finds the stored answer by the first two. ``HookDialect.answer`` must accept a
    payload with ``hook_event_name`` alone.
    """

    before_tool: str = ""  #: the event before a tool runs; empty if there is none
    permission: str = ""  #: the event by which it asks for permission; empty if there is none
    #: The event whose account of a turn's end is checked against the transcript, because it may
    #: omit how the turn ended or repeat parts of the last answer. Empty if there is none.
    silent_stop: str = ""
    #: A hook can make it ask the user about a call that it would otherwise run unasked.
    obeys_ask: bool = False
    #: It runs a hook twice if it is both installed and set at launch.
    doubles_hooks: bool = False
    reports_start: bool = False  #: a hook reports that it is up before its first prompt
    #: Groups of names for one tool: agents accept a tool's former names in calls.
    same_tools: tuple[frozenset[str], ...] = ()

    def names_of(self, tool: str) -> frozenset[str]:
        """Return all names of a tool."""
        return next((each for each in self.same_tools if tool in each), frozenset({tool}))


class HookDialect(Protocol):
    """Reads and answers the hook calls of one agent."""

    @property
    def traits(self) -> HookTraits: ...

    def identify(self, payload: Payload) -> Sender:
        """Return the sender of the hook call. Raises ``HookUnreadable``."""
        ...

    def read(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        """Return the facts that the hook call reports about ``session``."""
        ...

    def read_call(self, payload: Payload) -> Call | None:
        """Return the tool call to decide; ``None`` if the hook call only reports."""
        ...

    def edited_files(self, payload: Payload) -> Sequence[str]:
        """Return the files that a tool has changed; empty for all other hook calls."""
        ...

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        """Return the answer to the hook; without a verdict, it makes the agent ask its user."""
        ...

    def read_stop(self, payload: Payload) -> Stop | None:
        """Return the stop that the call announces; ``None`` if no hook can prevent it."""
        ...

    def go_on(self, payload: Payload, reason: str) -> str:
        """Return the answer that makes the agent continue instead of stopping."""
        ...

    def explain(self, payload: Payload, context: str) -> str:
        """Return the answer that adds context to the prompt; empty if the event takes none."""
        ...


def _nothing_against(words: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class InputDialect:
    """How an agent accepts typed input."""

    quiet: float  #: seconds without a screen change after which it is idle
    interrupt: tuple[str, ...]  #: the keys that stop the current turn, pressed one by one
    pause: float = 0.0  #: seconds that it needs between a paste and Enter
    #: Seconds without a screen change before the first text is typed: a program that restarts
    #: itself or loads a conversation may show a box that ignores keys.
    settle: float = 0.0
    #: The keys that clear its input box; pressed only while the box holds text.
    clearing: tuple[str, ...] = ()
    quit: str = ""  #: the command that quits the program; empty if there is none
    #: The keys that stop its background subagents; empty if it has none.
    stop_subagents: tuple[str, ...] = ()
    #: ctrl-z makes it release its terminal, and only SIGCONT makes it continue.
    suspends: bool = False
    rewriting: Rewriting = EXACT  #: how the program changes text that is pasted into it
    #: Matches the ``@`` for which the program reads a file, without a hook, into the prompt;
    #: ``None`` if it expands no mentions.
    mentions: Pattern[str] | None = None
    pasted: Pattern[str] | None = None  #: the placeholder that its box shows for a long paste
    #: Return why the text must not be typed, for example because it would be run as a command;
    #: empty if it may be typed.
    why_not: Callable[[str], str] = _nothing_against

    def holds(self, box: str, words: str) -> bool:
        """Return whether the text in the box is ``words``, as the agent displays it."""
        is_placeholder = self.pasted is not None and self.pasted.fullmatch(box.strip())
        return bool(is_placeholder) or squeeze(box) == squeeze(words)


class KeyDialect(Protocol):
    """Chooses the keys that answer an agent's dialogs, for dialogs that hooks cannot answer."""

    def keys_for(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        """Return the next key presses for this verdict; ``None`` if unclear."""
        ...

    def can_enter(self, call: Call, answers: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether keys can enter these answers in the dialog of a call."""
        ...

    def reason_note(self, call: Call) -> str:
        """Return a note that a denial's reason does not reach the agent; empty if it does."""
        ...


class SpeechDialect(Protocol):
    """Reads a conversation from an idle screen, where neither a hook nor a file reports it."""

    def last_answer(self, lines: Sequence[str]) -> str:
        """Return the last answer; empty if a tool call or a denial followed it."""
        ...

    def last_prompt(self, lines: Sequence[str]) -> str:
        """Return the last prompt; empty if the screen does not show it."""
        ...

    def shows_interruption(self, lines: Sequence[str]) -> bool:
        """Return whether the last turn was interrupted or denied."""
        ...


def _not_refused(screen: Screen, words: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ScreenDialect:
    """Reads one agent's screen: its input box, its dialogs, and whether it is working."""

    read: Callable[[Screen], View]
    keys: KeyDialect | None = None  #: ``None`` if the program has no dialogs
    #: Return the reason on the screen why submitted text stayed in the box; empty if none is
    #: shown.
    why_refused: Callable[[Screen, str], str] = _not_refused
    speech: SpeechDialect | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent program, with the dialects that it has."""

    name: str
    program: str  #: the program to look for on the PATH; empty if it comes with Rookery
    abilities: Abilities
    #: The permission modes that its command line can set, with what each allows unasked. If
    #: several allow the same, the first is used.
    modes: Mapping[str, Autonomy]
    command_line: Callable[[LaunchSpec], CommandLine]
    input: InputDialect
    hooks: HookDialect | None = None
    screen: ScreenDialect | None = None
    transcript: TranscriptDialect | None = None
    settings: SettingsDialect | None = None
    #: The arguments that a person may not add to its command line.
    reserved: ReservedArguments = field(default_factory=ReservedArguments)
    #: How it is started without a terminal, by the name of the runtime (``sdk``, ``acp``, …).
    driven: Mapping[str, Callable[[LaunchSpec], DriverLine]] = field(default_factory=dict)
    queue: QueueAccess | None = None  #: ``None`` if it has no message queue
    #: The runtimes of ``driven`` in which it does not report what it costs.
    without_cost: frozenset[str] = frozenset()
    #: By runtime, the program to look for on the PATH if it is not ``program``.
    driven_programs: Mapping[str, str] = field(default_factory=dict)
    is_driven_only: bool = False  #: it has no terminal program that Rookery knows

    @property
    def sets_hooks(self) -> bool:
        """Return whether its hooks are set at launch; else its user has to install them."""
        return self.hooks is not None and not self.abilities.needs_installed_hooks
