"""Carries out effects: the conversation, the transcript, the hooks, the end."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, replace
from typing import assert_never
from uuid import uuid4

from rookery.programs.demo import effects, waits
from rookery.programs.demo.hooks import HookCall, Hooks
from rookery.programs.demo.screen import Block
from rookery.programs.demo.session import Session


@dataclass(frozen=True, slots=True)
class Farewell:
    """How the program ends."""

    code: int = 0
    signal: int | None = None  #: the one it dies of


_Waiting = effects.Consult | effects.Await | effects.Ask | effects.Wait


class Stage:
    def __init__(self, session: Session, hooks: Hooks) -> None:
        #: Blocks that are not on the screen yet; who prints them takes them away.
        self.printed: list[Block] = []
        self.words = ""  #: of the block that is being spoken
        self.listens = False
        self.farewell: Farewell | None = None
        self._session = session
        self._hooks = hooks

    def perform(self, effect: effects.Effect, now: float) -> waits.Wait:
        """Carry out ``effect``, and say what has to be waited for after it."""
        match effect:
            case effects.Consult() | effects.Await() | effects.Ask() | effects.Wait():
                return self._wait(effect, now)
            case effects.Tell(event, fields):
                self.tell(event, fields, now)
            case effects.Listen() | effects.Renew():
                self._turn_over(effect)
            case effects.Leave(code):
                self.leave(Farewell(code), "other", now)
            case effects.Die():
                os.kill(os.getpid(), signal.SIGKILL)
            case _:
                self._note(effect)
        return waits.AT_ONCE

    def tell(self, event: str, fields: effects.Fields, now: float) -> HookCall:
        payload = self._session.payload(event, fields)
        # The one hook that waits for a person: whatever else happens is told meanwhile.
        concurrent = event == "PermissionRequest"
        return self._hooks.tell(event, payload, concurrent=concurrent)

    def leave(self, farewell: Farewell, reason: str, now: float) -> None:
        self.farewell = farewell
        if self.listens:
            self.tell("SessionEnd", {"reason": reason}, now)

    def _wait(self, effect: _Waiting, now: float) -> waits.Wait:
        match effect:
            case effects.Consult(event, fields):
                return waits.Heard(self.tell(event, fields, now))
            case effects.Await(hearing):
                return waits.Heard(hearing)
            case effects.Ask(dialog, fields):
                heard = self.tell("PermissionRequest", fields, now) if fields else None
                return waits.Answered(dialog, heard)
            case effects.Wait(seconds):
                return waits.Until(now + seconds)
            case _:
                assert_never(effect)

    def _turn_over(self, effect: effects.Listen | effects.Renew) -> None:
        match effect:
            case effects.Listen():
                self.listens = True
            case effects.Renew():
                self._session = replace(self._session, id=str(uuid4()))
            case _:
                assert_never(effect)

    def _note(self, effect: effects.Print | effects.Grow | effects.Record) -> None:
        match effect:
            case effects.Print(block):
                self.words = ""
                self.printed.append(block)
            case effects.Grow(words):
                self.words = words
            case effects.Record(kind, text):
                self._session.record(kind, text)
            case _:
                assert_never(effect)
