"""The state of the demo agent and how it reacts to keys, time and hook results.

Terminal I/O is in ``terminal``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from rookery.programs.demo import dialog
from rookery.programs.demo.dialog import ChoiceDialog
from rookery.programs.demo.hooks import (
    NO_DECISION,
    Decision,
    HookCall,
    Hooks,
    MonotonicClock,
    Ruling,
)
from rookery.programs.demo.input import Draft, InputEvent, KeyPress, Pasted, Typed
from rookery.programs.demo.options import Options
from rookery.programs.demo.screen import (
    SPINNER_FRAMES_PER_S,
    LiveArea,
    PrintedKind,
    PrintedText,
    RunningTurn,
)
from rookery.programs.demo.session import DemoSession, ExitStatus, Pause
from rookery.programs.demo.turn import NO_PAUSE, Prompt, ScriptedTurn, Steps, Wait, submit

#: A second ctrl-c within this time ends the program.
EXIT_OFFER_S = 2.0

#: The longest time that ``advance`` runs before the keyboard is read again.
_SLICE_S = 0.05


@dataclass(slots=True)
class _Task:
    """A running turn, or (``turn`` is None) a session start or a ``/clear``."""

    steps: Steps
    started: float
    wait: Wait
    turn: ScriptedTurn | None

    def resume_value(self, now: float) -> Decision | None:
        """Return the value to resume the task with; None while it must keep waiting."""
        if isinstance(self.wait, Pause):
            return NO_DECISION if now >= self.wait.until else None
        return self.wait.decision


@dataclass(frozen=True, slots=True)
class _Clear:
    """A submitted ``/clear``, which starts a new session."""

    shown: str = "/clear"


class Program:
    def __init__(self, options: Options, hooks: Hooks, clock: MonotonicClock) -> None:
        self._options = options
        self._clock = clock
        self._session = DemoSession(options, hooks, clock)
        self._draft = Draft()
        self._queue: deque[Prompt | _Clear] = deque()
        self._exit_offered_until = 0.0
        self._task: _Task | None = None
        self._begin(self._start())

    @property
    def exit(self) -> ExitStatus | None:
        return self._session.exit

    def take_unprinted(self) -> list[PrintedText]:
        """Return the blocks that were added since the last call."""
        blocks, self._session.unprinted = self._session.unprinted, []
        return blocks

    def press(self, event: InputEvent) -> None:
        if self._session.exit is not None:
            return
        if self._task is not None and isinstance(self._task.wait, ChoiceDialog):
            self._task.wait.press(event)
        elif self._session.has_started:
            self._edit(event)

    def advance(self) -> None:
        """Run until the program has to wait, but for at most ``_SLICE_S``."""
        end = self._clock() + _SLICE_S
        while self._session.exit is None and (now := self._clock()) < end:
            if self._task is None:
                if not self._queue:
                    return
                self._begin_next(self._queue.popleft())
            elif (decision := self._task.resume_value(now)) is not None:
                self._resume(self._task, decision)
            else:
                return

    def leave(self, status: ExitStatus) -> None:
        self._session.leave(status)

    def live_area(self) -> LiveArea:
        now = self._clock()
        task = self._task
        wait = None if task is None else task.wait
        turn = None
        if task is not None and task.turn is not None:
            turn = RunningTurn(now - task.started, self._session.partial)
        return LiveArea(
            self._draft,
            self._status(now),
            is_starting=not self._session.has_started or (task is not None and turn is None),
            turn=turn,
            dialog=wait if isinstance(wait, ChoiceDialog) else None,
            queued=tuple(each.shown for each in self._queue),
        )

    def deadline(self) -> float | None:
        """Return when ``advance`` or a repaint is needed without input; None if never."""
        return min(self._deadlines(self._clock()), default=None)

    def _deadlines(self, now: float) -> Iterator[float]:
        if now < self._exit_offered_until:
            yield self._exit_offered_until  # the offer disappears
        if self._task is None:
            if self._queue:
                yield now  # the next prompt can begin
            return
        if self._task.resume_value(now) is not None:
            yield now  # the task can continue
        elif isinstance(self._task.wait, Pause):
            yield self._task.wait.until
        if self._task.turn is not None and not isinstance(self._task.wait, ChoiceDialog):
            frames = int((now - self._task.started) * SPINNER_FRAMES_PER_S)
            # The next frame of the spinner.
            yield self._task.started + (frames + 1) / SPINNER_FRAMES_PER_S

    def _status(self, now: float) -> str:
        if now < self._exit_offered_until:
            return "press ctrl-c again to exit"
        count = self._session.turns
        turns = "1 turn" if count == 1 else f"{count} turns"
        return f"demo · {self._options.permission_mode} mode · {turns}"

    def _edit(self, event: InputEvent) -> None:
        match event:
            case Typed(text):
                self._draft = self._draft.typed(text)
            case Pasted(text):
                self._draft = self._draft.pasted(text)
            case KeyPress.NEWLINE:
                self._draft = self._draft.typed("\n")
            case KeyPress.BACKSPACE:
                self._draft = self._draft.shortened()
            case KeyPress.DELETE_INPUT:
                self._draft = self._draft.emptied()
            case _:
                self._handle_action_key(event)

    def _handle_action_key(self, key: KeyPress) -> None:
        match key:
            case KeyPress.ENTER:
                self._enter()
            case KeyPress.ESCAPE:
                self._interrupt()
            case KeyPress.CANCEL:
                self._cancel()
            case KeyPress.CLOSE if not self._draft.pieces:
                self._quit()

    def _enter(self) -> None:
        if self._draft.shown.endswith("\\"):
            self._draft = self._draft.shortened().typed("\n")
        elif self._draft.text.strip():
            draft, self._draft = self._draft, self._draft.emptied()
            self._submit(draft)

    def _submit(self, draft: Draft) -> None:
        match draft.text.strip():
            case "/exit" | "/quit":
                self._quit()
            case "/clear":
                self._queue.append(_Clear())
            case _:
                self._queue.append(submit(self._session, draft.text, draft.shown))

    def _cancel(self) -> None:
        now = self._clock()
        if self._draft.pieces:
            self._draft = self._draft.emptied()
        elif self._task is not None:
            self._interrupt()
        elif now < self._exit_offered_until:
            self._quit()
        else:
            self._exit_offered_until = now + EXIT_OFFER_S

    def _quit(self) -> None:
        self._session.leave(ExitStatus(), "prompt_input_exit")

    def _interrupt(self) -> None:
        if self._task is not None and self._task.turn is not None:
            self._task.steps.close()
            self._task.turn.interrupt()
            self._finish(self._task)

    def _start(self) -> Steps:
        """Start the first session. Input before it has started is lost, as in real agents."""
        yield self._session.pause(self._options.startup_delay)
        if self._options.trust_dialog:
            decision = yield dialog.trust(self._session.folder)
            if decision.ruling is Ruling.REFUSE:
                self._session.leave(ExitStatus(1))
                yield NO_PAUSE
                return
        banner = f"demo · {self._options.model} · {self._session.folder}"
        self._session.print(PrintedKind.BANNER, banner)
        self._session.has_started = True
        yield self._run_start_hooks(self._options.source)

    def _start_new_session(self) -> Steps:
        self._session.print(PrintedKind.PROMPT, "/clear")
        self._session.run_hooks("SessionEnd", {"reason": "clear"})
        self._session.renew()
        yield self._run_start_hooks("clear")

    def _run_start_hooks(self, source: str) -> HookCall:
        return self._session.run_hooks(
            "SessionStart", {"source": source, "model": self._options.model}
        )

    def _begin_next(self, queued: Prompt | _Clear) -> None:
        if isinstance(queued, _Clear):
            self._begin(self._start_new_session())
        else:
            turn = ScriptedTurn(self._session, queued)
            self._begin(turn.run(), turn)

    def _begin(self, steps: Steps, turn: ScriptedTurn | None = None) -> None:
        started = self._clock()
        first_wait = next(steps)  # runs the task up to its first wait
        self._task = _Task(steps, started, first_wait, turn)

    def _resume(self, task: _Task, resume_value: Decision) -> None:
        try:
            task.wait = task.steps.send(resume_value)
        except StopIteration:
            self._finish(task)

    def _finish(self, task: _Task) -> None:
        self._task = None
        if task.turn is not None:
            self._session.turns += 1
