from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar

from rookery.model.errors import Occupied, RuntimeFailed, WordsRefused
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel
from rookery.model.obstacles import BlockedReason
from rookery.model.screens import Dialog, Press, View
from rookery.model.sessions import program_name
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.deliveries import Delivery, DeliveryLog, LeftInput, Submitted
from rookery.ports.runtime import (
    HeldProgram,
    Launch,
    RuntimeHandle,
    StopMethod,
    SurvivingProcess,
)
from rookery.ports.sightings import Exited, FellQuiet, Sighting, Vanished
from rookery.ports.terminal import Printed, TerminalAddress
from rookery.runtimes.tmux.delivery_steps import MAX_PASTES, DeliveryState, TypedDelivery
from rookery.runtimes.tmux.typist import MAX_ENTERS
from tests.support.fakes.clock import FakeClock

#: More than any process has as its pid.
NO_PID = 5_000_000

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _mortal(
    method: Callable[Concatenate[FakeRuntime, Arguments], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[FakeRuntime, Arguments], Coroutine[Any, Any, Result]]:
    """Let the daemon die before and after a call, if a test wants that."""

    async def call(
        self: FakeRuntime, /, *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> Result:
        self.moment()
        result = await method(self, *arguments, **options)
        self.moment()
        return result

    return call


@dataclass
class Manner:
    """How a program behaves."""

    comes_up: bool = True
    exits_with: int | None = None  #: at once, before it is up
    ignores: frozenset[str] = frozenset()  #: of ``quit`` and the names of signals
    swallows: int = 0  #: so many Enters
    discards: int = 0  #: so many pastes, which it reads and throws away
    refuses: str = ""  #: any words, and this is why
    keeps: str = ""  #: these words stay in its box whatever is pressed, and it says so


@dataclass
class Program:
    """One program in its pane: it lives on when the daemon does not."""

    held: HeldProgram
    pid: int
    manner: Manner
    launch: Launch | None = None  #: none for a stranger
    box: str = ""  #: what stands in its input box
    dialog: str = ""  #: what the next key would answer
    is_working: bool = False  #: as far as its screen shows
    pasted: str = ""  #: the receipt of what was last typed
    entered: str = ""  #: and of what Enter was last pressed on
    shown: str = ""  #: the receipt of what was last seen in its box
    enters: int = 0  #: how often that was
    pastes: int = 0  #: how often the last words were typed
    is_discarding: bool = False  #: it has thrown the last words away
    given: str = ""  #: the receipt of the last step in a dialog
    asks: Dialog | None = None  #: the same dialog, as it is read off the screen
    screen: list[str] = field(default_factory=list)
    mark: int = 0  #: the line that words were last typed on
    rest: str = ""  #: what stood there before
    code: int | None = None
    signal: int | None = None

    @property
    def handle(self) -> RuntimeHandle:
        return self.held.handle

    @property
    def address(self) -> TerminalAddress:
        assert self.held.address
        return self.held.address

    @property
    def is_over(self) -> bool:
        return self.code is not None or self.signal is not None

    @property
    def has_box(self) -> bool:
        return self.launch is not None and self.launch.agent.screen is not None

    @property
    def occupied(self) -> Occupied | None:
        """Why nothing may be typed now."""
        if self.is_over:
            return Occupied(BlockedReason.NO_INPUT, "its input box cannot be seen.")
        if shown := self.dialog or (self.asks.text if self.asks else ""):
            return Occupied(BlockedReason.DIALOG, f"a dialog is open: {shown}")
        return None


@dataclass(frozen=True)
class FakeTerminal:
    """The terminal of one program; its calls are the runtime's, for tests to replace."""

    runtime: FakeRuntime
    session: SessionId

    async def read(self, *, history: bool = False) -> tuple[str, ...]:
        return await self.runtime.read(self.session, history=history)

    def screens(self) -> AsyncIterator[tuple[str, ...]]:
        return self.runtime.screens(self.session)

    async def view(self) -> View:
        return await self.runtime.view(self.session)

    async def printed(self) -> Printed:
        return await self.runtime.printed(self.session)

    def next_change(self) -> asyncio.Event:
        return self.runtime.next_change(self.session)

    def report_changes(self, *, wanted: bool, again: bool = False) -> None:
        self.runtime.report_changes(self.session, wanted=wanted, again=again)

    async def press(self, *keys: str) -> None:
        await self.runtime.press(self.session, *keys)

    async def press_in_dialog(self, press: Press, *, receipt: str) -> None:
        await self.runtime.give(self.session, press, receipt=receipt)

    async def last_receipt(self) -> str:
        return await self.runtime.given(self.session)

    async def is_attached(self) -> bool:
        return await self.runtime.is_attached(self.session)


class FakeRuntime:
    """Panes made of records. They outlive the daemon, as real ones do."""

    def __init__(self, name: str = "fake") -> None:
        self.name = name
        self.clock: Clock = FakeClock()
        self.moment: Callable[[], None] = lambda: None  #: the daemon may die in it
        self.manner = Manner()  #: of the programs that are started next
        self.programs: dict[str, Program] = {}  #: by the name of their tmux session
        self.started: list[Launch] = []
        self.adopted: list[SessionId] = []
        self.pasted: list[tuple[SessionId, str]] = []
        self.heard: list[tuple[SessionId, str]] = []
        self.cleared: list[tuple[SessionId, str]] = []
        self.pressed: list[tuple[SessionId, tuple[str, ...]]] = []
        self.typed: list[tuple[SessionId, str]] = []  #: into dialogs
        self.asked_to_leave: list[tuple[SessionId, str]] = []
        self.released: list[SessionId] = []
        self.attached: set[SessionId] = set()
        self.unattended: set[SessionId] = set()
        self.changed = asyncio.Event()  #: a screen has changed
        self.on_start: Callable[[SessionId, Program], None] = lambda session, program: None
        self.on_submit: Callable[[SessionId, str], None] = lambda session, words: None
        self.on_give: Callable[[Program, Press], None] = lambda program, press: None
        self._panes = 0
        self.begin_life()

    def begin_life(self) -> None:
        """Forget what a daemon that has died knew; the programs stay."""
        self._held: dict[SessionId, Program] = {}
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue()

    def program(self, session: SessionId) -> Program:
        return self.programs[program_name(session)]

    def put(self, name: str, *, screen: str = "$") -> Program:
        """Have a program run that nobody of us has started."""
        stranger = self._new_program(name, Manner())
        stranger.screen = [screen]
        self.programs[name] = stranger
        return stranger

    def exit(
        self, program: Program, *, code: int | None = None, number: int | None = None
    ) -> None:
        program.code, program.signal = code, number
        for session, held in self._held.items():
            if held is program:
                self.see_again(Exited(session, code, number, tuple(program.screen)))

    @_mortal
    async def start(self, launch: Launch) -> HeldProgram:
        name = program_name(launch.session)
        if name not in self.programs:
            self.started.append(launch)
            program = self._new_program(name, self.manner, launch)
            self.programs[name] = self._held[launch.session] = program
            self.on_start(launch.session, program)
            if program.manner.exits_with is not None:
                self.exit(program, code=program.manner.exits_with)
        held = self.programs[name].held
        await self.adopt(launch.session, launch.agent, held.handle)
        return held

    @_mortal
    async def find(self) -> Mapping[str, HeldProgram]:
        return {name: program.held for name, program in self.programs.items()}

    @_mortal
    async def adopt(
        self, session: SessionId, agent: Agent, program: RuntimeHandle | SurvivingProcess
    ) -> None:
        if isinstance(program, SurvivingProcess):
            self.adopted.append(session)
        elif program.runtime == self.name:
            self._adopt(session, self.programs.get(program.reference))
        else:
            raise RuntimeFailed(f"{program.text} is not a handle of {self.name!r}.")

    def _adopt(self, session: SessionId, program: Program | None) -> None:
        if program is None:
            self.see_again(Vanished(session))
            raise RuntimeFailed("it has gone meanwhile.")
        if session not in self._held:
            self.adopted.append(session)
            self._held[session] = program
            if program.is_over:
                self.exit(program, code=program.code, number=program.signal)

    @_mortal
    async def paste(self, parcel: Parcel) -> None:
        program = self._find(parcel.recipient)
        self.check(parcel.recipient, parcel.words)
        if program.occupied:
            raise program.occupied
        if program.box:
            raise Occupied(BlockedReason.DRAFT, "somebody's draft stands there.")
        program.pastes = 0
        self._type(program, parcel)
        program.mark = max(len(program.screen) - 1, 0)
        program.rest = "".join(program.screen[program.mark :])

    @_mortal
    async def paste_again(self, parcel: Parcel) -> bool:
        program = self._find(parcel.recipient)
        if program.pastes >= MAX_PASTES:
            return False
        self._type(program, parcel)
        return True

    def _type(self, program: Program, parcel: Parcel) -> None:
        self.pasted.append((parcel.recipient, parcel.words))
        program.pastes += 1
        program.pasted = parcel.receipt
        program.is_discarding = program.manner.discards > 0
        program.manner.discards -= program.is_discarding
        program.box = "" if program.is_discarding else parcel.words

    async def was_discarded(self, parcel: Parcel) -> bool:
        program = self._find(parcel.recipient)
        return program.is_discarding and not program.box and not program.occupied

    async def has_left(self, parcel: Parcel, *, within: float) -> bool:
        return await self.look(parcel) is not DeliveryState.IN_BOX

    @_mortal
    async def submit(self, parcel: Parcel) -> None:
        program = self._find(parcel.recipient)
        if program.occupied or await self.look(parcel) is not DeliveryState.IN_BOX:
            other = Occupied(BlockedReason.OTHER_TEXT, "something else is there.")
            raise program.occupied or other
        if program.entered != parcel.receipt:
            program.enters = 0
        elif program.manner.keeps == parcel.words:
            raise WordsRefused("it refused it: Unrecognized command.")
        elif program.enters >= MAX_ENTERS:
            raise WordsRefused("Enter was pressed 3 times, and it did not accept it.")
        program.entered = parcel.receipt
        program.enters += 1
        if program.manner.keeps == parcel.words:
            return
        if program.manner.swallows:
            program.manner.swallows -= 1
            return
        program.box = ""
        self.heard.append((parcel.recipient, parcel.words))
        self.on_submit(parcel.recipient, parcel.words)

    @_mortal
    async def clear(self, parcel: Parcel) -> bool:
        program = self._find(parcel.recipient)
        if program.occupied:
            raise program.occupied
        if program.pasted != parcel.receipt or program.box != parcel.words:
            return False
        program.box = ""
        self.cleared.append((parcel.recipient, parcel.words))
        return True

    @_mortal
    async def look(self, parcel: Parcel) -> DeliveryState:
        program = self._find(parcel.recipient)
        if program.pasted != parcel.receipt:
            return DeliveryState.NOT_TYPED
        if not program.has_box:
            return (
                DeliveryState.WITH_AGENT
                if program.entered == parcel.receipt
                else DeliveryState.IN_BOX
            )
        if program.occupied:
            return DeliveryState.HIDDEN
        if not program.box:
            if program.entered == parcel.receipt:
                return DeliveryState.LEFT_BOX
            was_shown = program.shown == parcel.receipt
            return DeliveryState.REMOVED if was_shown else DeliveryState.NOT_SHOWN
        program.shown = parcel.receipt
        return DeliveryState.IN_BOX if program.box == parcel.words else DeliveryState.HIDDEN

    async def is_shown(self, parcel: Parcel, *, within: float) -> bool:
        return await self.look(parcel) is DeliveryState.IN_BOX

    def check(self, session: SessionId, words: str) -> None:
        if reason := self._find(session).manner.refuses:
            raise WordsRefused(reason)

    async def press(self, session: SessionId, *keys: str) -> None:
        self._find(session)
        self.pressed.append((session, keys))

    async def give(self, session: SessionId, press: Press, *, receipt: str) -> None:
        program = self._find(session)
        program.given = receipt
        if press.words:
            self.typed.append((session, press.words))
        else:
            self.pressed.append((session, press.keys))
        self.on_give(program, press)

    async def given(self, session: SessionId) -> str:
        return self._find(session).given

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        """Know programs by their numbers: what is made up here has no start time."""
        numbers = {int(word.partition(":")[0]) for word in lineage}
        held = ((each, program.pid) for each, program in self._held.items())
        return next((session for session, pid in held if pid in numbers), None)

    async def screens(self, session: SessionId) -> AsyncIterator[tuple[str, ...]]:
        yield tuple(self._find(session).screen)

    @_mortal
    async def read(self, session: SessionId, *, history: bool = False) -> tuple[str, ...]:
        return tuple(self._find(session).screen)

    async def view(self, session: SessionId) -> View:
        program = self._find(session)
        is_up = program.manner.comes_up and not program.occupied
        dialog = program.asks or (
            Dialog("permission", program.dialog) if program.dialog else None
        )
        return View(program.box if is_up else None, dialog, program.is_working)

    async def printed(self, session: SessionId) -> Printed:
        program = self._find(session)
        if not program.pasted or program.has_box:
            return Printed()
        return Printed(tuple(program.screen[program.mark :]), program.rest)

    def next_change(self, session: SessionId) -> asyncio.Event:
        """Tell of a change only if a test sets ``changed``."""
        self._find(session)
        return self.changed

    def report_changes(self, session: SessionId, *, wanted: bool, again: bool) -> None:
        if again:
            self.see_again(FellQuiet(session))
        if wanted:
            self.unattended.discard(session)
        else:
            self.unattended.add(session)

    async def is_attached(self, session: SessionId) -> bool:
        self._find(session)
        return session in self.attached

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        program = self._find(parcel.recipient)
        pause = program.launch.agent.input.pause if program.launch else 0.0
        typed = TypedDelivery(self, self.clock, pause)
        delivery = await typed.deliver(parcel, log, is_new=is_new)
        is_final = isinstance(delivery, Submitted) and delivery.is_final
        if is_final or isinstance(delivery, LeftInput):
            self.see_again(FellQuiet(parcel.recipient))
        return delivery

    async def interrupt(self, session: SessionId) -> None:
        program = self._find(session)
        for key in program.launch.agent.input.interrupt if program.launch else ():
            await self.press(session, key)

    async def stop(self, session: SessionId, method: StopMethod) -> None:
        launch = self._find(session).launch
        match method:
            case StopMethod.ASK if launch and launch.agent.input.quit:
                await self.quit(session)
            case StopMethod.ASK:
                await self.signal(session, signal.SIGHUP)
            case StopMethod.TERMINATE:
                await self.signal(session, signal.SIGTERM)
            case StopMethod.KILL:
                await self.signal(session, signal.SIGKILL)

    def terminal(self, session: SessionId) -> FakeTerminal:
        return FakeTerminal(self, session)

    @_mortal
    async def quit(self, session: SessionId) -> None:
        program = self._find(session)
        if program.occupied:
            raise program.occupied
        if program.box:
            raise Occupied(BlockedReason.DRAFT, program.box)
        self._ask_to_leave(session, "quit", code=0)

    @_mortal
    async def signal(self, session: SessionId, number: int) -> None:
        self._find(session)
        self._ask_to_leave(session, signal.Signals(number).name, number=number)

    @_mortal
    async def release(self, session: SessionId) -> None:
        self.released.append(session)
        self._held.pop(session, None)
        self.programs.pop(program_name(session), None)

    async def watch(self) -> AsyncIterator[Sighting]:
        while True:
            yield await self._sightings.get()

    def see_again(self, sighting: Sighting) -> None:
        self._sightings.put_nowait(sighting)

    def _ask_to_leave(
        self,
        session: SessionId,
        how: str,
        *,
        code: int | None = None,
        number: int | None = None,
    ) -> None:
        self.asked_to_leave.append((session, how))
        program = self._find(session)
        if how not in program.manner.ignores and not program.is_over:
            self.exit(program, code=code, number=number)

    def _find(self, session: SessionId) -> Program:
        if (program := self._held.get(session)) is None:
            raise RuntimeFailed(f"no pane is known for {session}.")
        return program

    def holds(self, session: SessionId) -> bool:
        return session in self._held

    def _new_program(self, name: str, manner: Manner, launch: Launch | None = None) -> Program:
        self._panes += 1
        address = TerminalAddress(name, f"%{self._panes}")
        held = HeldProgram(RuntimeHandle(self.name, name), address)
        return Program(held, NO_PID + self._panes, manner, launch)
