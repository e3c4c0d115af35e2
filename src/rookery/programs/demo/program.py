"""The program without its terminal: what keys, time and hooks do to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from rookery.programs.demo import waits
from rookery.programs.demo.beginnings import clearing, opening
from rookery.programs.demo.effects import Effects, Print, Record
from rookery.programs.demo.hooks import Decision, HookCall, Hooks
from rookery.programs.demo.input import Draft, InputEvent, KeyPress, Pasted, Typed
from rookery.programs.demo.options import Options
from rookery.programs.demo.screen import (
    SPINNER_FRAMES_PER_S,
    Block,
    BlockKind,
    LiveArea,
    RunningTurn,
)
from rookery.programs.demo.session import Session
from rookery.programs.demo.stage import Farewell, Stage
from rookery.programs.demo.turn import Manner, Prompt, Turn

#: Seconds in which a second ctrl-c ends the program.
SECOND_CHANCE = 2.0

#: Seconds a turn without waits may go on before keys are looked at again.
_SLICE = 0.05

#: Seconds, of a clock that only goes forward.
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Submission:
    prompt: Prompt
    hearing: HookCall


@dataclass(slots=True)
class _Act:
    """Something that goes on: a turn if it has a prompt, else the beginning of a session."""

    effects: Effects
    began: float
    wait: waits.Wait
    prompt: Prompt | None


class Program:
    """All but the terminal: the loop presses keys, lets it advance, and shows its view."""

    def __init__(self, options: Options, hooks: Hooks, clock: Clock) -> None:
        folder = str(Path.cwd())
        self._options = options
        self._clock = clock
        self._stage = Stage(Session(options.session_id, folder, options.home), hooks)
        self._manner = Manner(options.permission_mode)
        self._draft = Draft()
        self._queue: deque[_Submission | None] = deque()  #: None: a new session
        self._turns = 0
        self._exit_offer = 0.0  #: until when ctrl-c ends the program
        self._act: _Act | None = None
        self._begin(opening(options, folder))

    @property
    def farewell(self) -> Farewell | None:
        return self._stage.farewell

    def take_printed(self) -> list[Block]:
        """Return what has to be printed; the next time it is something else."""
        printed, self._stage.printed = self._stage.printed, []
        return printed

    def press(self, event: InputEvent) -> None:
        if self._stage.farewell is not None:
            return
        if self._act is not None and isinstance(self._act.wait, waits.Answered):
            self._act.wait.press(event)
        elif self._stage.listens:
            self._edit(event)

    def advance(self) -> None:
        """Go on until something has to be waited for."""
        pause = self._clock() + _SLICE
        while self._stage.farewell is None and (now := self._clock()) < pause:
            if self._act is None:
                if not self._queue:
                    return
                self._take(self._queue.popleft())
            elif (decision := self._act.wait.over(now)) is not None:
                self._go_on(self._act, decision)
            else:
                return

    def leave(self, farewell: Farewell, reason: str = "other") -> None:
        if self._stage.farewell is None:
            self._stage.leave(farewell, reason, self._clock())

    def view(self) -> LiveArea:
        now = self._clock()
        act = self._act
        is_turn = act is not None and act.prompt is not None
        wait = None if act is None else act.wait
        return LiveArea(
            self._draft,
            self._status(now),
            is_starting=not self._stage.listens or (act is not None and not is_turn),
            turn=RunningTurn(now - act.began, self._stage.words) if act and is_turn else None,
            dialog=wait.dialog if isinstance(wait, waits.Answered) else None,
            queued=tuple(
                waiting.prompt.shown if waiting else "/clear" for waiting in self._queue
            ),
        )

    def deadline(self) -> float | None:
        """Return when it has to go on, if not earlier."""
        return min(self._deadlines(self._clock()), default=None)

    def _deadlines(self, now: float) -> Iterator[float]:
        if now < self._exit_offer:
            yield self._exit_offer
        if self._act is None:
            if self._queue:
                yield now
            return
        if self._act.wait.over(now) is not None:
            yield now
        elif isinstance(self._act.wait, waits.Until):
            yield self._act.wait.moment
        if self._act.prompt is not None and not isinstance(self._act.wait, waits.Answered):
            pictures = int((now - self._act.began) * SPINNER_FRAMES_PER_S)
            yield self._act.began + (pictures + 1) / SPINNER_FRAMES_PER_S

    def _status(self, now: float) -> str:
        if now < self._exit_offer:
            return "press ctrl-c again to exit"
        turns = "1 turn" if self._turns == 1 else f"{self._turns} turns"
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
            case KeyPress.CLEAR:
                self._draft = self._draft.emptied()
            case _:
                self._command(event)

    def _command(self, key: KeyPress) -> None:
        match key:
            case KeyPress.ENTER:
                self._enter()
            case KeyPress.ESCAPE if self._act is not None:
                self._interrupt(self._act)
            case KeyPress.CANCEL:
                self._cancel()
            case KeyPress.CLOSE if not self._draft.pieces:
                self.leave(Farewell(), "prompt_input_exit")

    def _enter(self) -> None:
        if self._draft.shown.endswith("\\"):
            self._draft = self._draft.shortened().typed("\n")
        elif self._draft.text.strip():
            draft, self._draft = self._draft, self._draft.emptied()
            self._submit(draft)

    def _submit(self, draft: Draft) -> None:
        match draft.text.strip():
            case "/exit" | "/quit":
                self.leave(Farewell(), "prompt_input_exit")
            case "/clear":
                self._queue.append(None)
            case _:
                prompt = Prompt(str(uuid4()), draft.text, draft.shown)
                hearing = self._tell("UserPromptSubmit", prompt, {"prompt": prompt.text})
                self._queue.append(_Submission(prompt, hearing))

    def _cancel(self) -> None:
        now = self._clock()
        if self._draft.pieces:
            self._draft = self._draft.emptied()
        elif self._act is not None:
            self._interrupt(self._act)
        elif now < self._exit_offer:
            self.leave(Farewell(), "prompt_input_exit")
        else:
            self._exit_offer = now + SECOND_CHANCE

    def _interrupt(self, act: _Act) -> None:
        if act.prompt is None:
            return
        act.effects.close()
        if words := self._stage.words:
            self._stage.perform(Print(Block(BlockKind.WORDS, words)), self._clock())
            self._stage.perform(Record("assistant", words), self._clock())
        self._stage.perform(Print(Block(BlockKind.RESULT, "Interrupted")), self._clock())
        self._stage.perform(Record("interrupted", ""), self._clock())
        self._tell("Interrupt", act.prompt, {"reason": "escape"})
        self._finish(act)

    def _tell(self, event: str, prompt: Prompt, fields: dict[str, object]) -> HookCall:
        fields = prompt.fields(self._manner.mode) | fields
        return self._stage.tell(event, fields, self._clock())

    def _take(self, submission: _Submission | None) -> None:
        if submission is None:
            self._begin(clearing(self._options))
        else:
            turn = Turn(submission.prompt, self._manner)
            self._begin(turn.effects(submission.hearing), submission.prompt)

    def _begin(self, effects: Effects, prompt: Prompt | None = None) -> None:
        now = self._clock()
        self._act = _Act(effects, now, self._stage.perform(next(effects), now), prompt)

    def _go_on(self, act: _Act, decision: Decision) -> None:
        try:
            effect = act.effects.send(decision)
        except StopIteration:
            self._finish(act)
        else:
            act.wait = self._stage.perform(effect, self._clock())

    def _finish(self, act: _Act) -> None:
        self._act = None
        if act.prompt is not None:
            self._turns += 1
        else:
            self._turns = 0
            self._manner = Manner(self._options.permission_mode)
