"""What all requests to one server share: its log, its gates, its memory of tries and tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from threading import Event, Lock

from tests.support.scripted_model.log import Log
from tests.support.scripted_model.plan import Plan
from tests.support.scripted_model.steps import Error
from tests.support.scripted_model.tokens import Meter


class Stage:
    def __init__(self) -> None:
        self.log = Log()
        self.meter = Meter()
        self.over = Event()  #: the server stops
        self._lock = Lock()
        self._gates: dict[str, Event] = {}
        self._tries: Counter[Hashable] = Counter()

    def gate(self, name: str) -> Event:
        """Return what is set once the gate is open."""
        with self._lock:
            return self._gates.setdefault(name, Event())

    def try_again(self, plan: Plan) -> Error | None:
        """Count one more try of a response, and return the error that it meets.

        Two sessions of one program with the same script at the same place count as one, unless
        their system prompts differ.
        """
        if not plan.errors:
            return None
        with self._lock:
            self._tries[plan.key] += 1
            tries = self._tries[plan.key]
        met = (error for error in plan.errors if error.tries is None or tries <= error.tries)
        return next(met, None)
