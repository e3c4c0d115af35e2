"""Plays turns with one real program that is driven without a terminal.

What is so is known from the commands that are given, from the model behind the program and from
the kernel. When exactly a program asks for permission, only its protocol tells: for a moment
after the model's answer, two words are true.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from time import monotonic

import psutil

from tests.support.prove.player import PARTS, Player
from tests.support.prove.truth import Timeline
from tests.support.real.rookery import eventually

#: Seconds from a model's answer with a call until the program has asked about it.
ASKING_S = 0.6

_HAND = {"plain": 6, "tool": 4, "yes": 3, "no": 3, "esc": 3, "crash": 1}

#: The programs, by the runtime that drives them.
DRIVEN_PARTS = {
    "sdk": replace(PARTS["claude"], hand=_HAND),
    "codex": replace(PARTS["codex"], hand=_HAND),
}


class DrivenPlayer(Player):
    """A player whose program is driven by the runtime ``runtime``."""

    runtime = ""

    def _begin(self) -> None:
        self._name = f"driven-{self.runtime}-{len(self.timelines) + 1}"
        self._kind = "start"
        self.rookery.client.post(
            "sessions",
            agent=self.part.agent,
            runtime=self.runtime,
            name=self._name,
            project=str(self.rookery.project),
        )
        self.timelines[self._name] = Timeline()
        self._note("starting", "idle")
        self.rookery.client.get("sessions", self._name, "wait", until="up", timeout=60)
        self._note("idle")
        self._pause(1.0, 1.5)

    def _type(self, words: str, mark: str) -> None:
        self._note("idle", "working")
        self.rookery.send(self._name, words)
        eventually(lambda: self._asked(mark, 0))
        self._note("working")

    def _ask(self, mark: str) -> None:
        asking = f"{self._think()};; {self.part.asking};; {self._think()};; say: {mark}"
        self._type(asking, mark)
        self._wait_for_end(mark, 0)
        self._note("working", "permission")
        self._pause(ASKING_S, ASKING_S)
        self._note("permission")
        self._pause(0.5, 2.0)

    def _yes(self, mark: str) -> None:
        self._decide("allow", mark)

    def _no(self, mark: str) -> None:
        self._decide("deny", mark)

    def _decide(self, decision: str, mark: str) -> None:
        """Answer its request; after a refusal, it goes on as well."""
        self._ask(mark)
        self._note("permission", "working")
        self.rookery.run(decision, self._name)
        eventually(lambda: self._asked(mark, 1))
        self._note("working")
        self._see_end(mark, 1)

    def _esc(self, mark: str) -> None:
        self._type(f"{self.part.endless};; say: {mark}", mark)
        self._pause(0.3, 1.5)
        record = self._request(mark, 0)
        self._note("working", "idle")
        self.rookery.run("interrupt", self._name)
        self.models.log.wait_for(lambda each: each is record and each.is_aborted)
        self._note("idle")

    def _program(self) -> psutil.Process:
        pid, _, _ = str(self.rookery.session(self._name)["process"]).partition(":")
        return psutil.Process(int(pid))

    def _close(self) -> None:
        self.timelines[self._name].end = monotonic()
        with suppress(AssertionError):
            self.rookery.run("end", self._name)
