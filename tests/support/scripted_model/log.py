"""The requests that came, and what became of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from threading import Condition

from tests.support.scripted_model.conversation import Fields
from tests.support.scripted_model.plan import Plan
from tests.support.scripted_model.tokens import Tokens

#: Seconds for a program to ask what a test waits for.
PATIENCE = 60.0


class Ending(StrEnum):
    ANSWERED = "answered"
    ABORTED = "aborted"  #: the program went away
    CUT = "cut"  #: the script wanted that
    STOPPED = "stopped"  #: the server went away


@dataclass(slots=True, eq=False)
class Record:
    """A request. It grows while it is answered."""

    method: str
    path: str
    headers: Mapping[str, str]  #: their names in lower case
    body: Fields
    plan: Plan | None = None  #: none for what is no conversation
    tokens: Tokens | None = None  #: of the input
    gate: str = ""  #: where it waits now
    status: int | None = None  #: of HTTP
    ending: Ending | None = None

    @property
    def prompt(self) -> str:
        return self.plan.prompt.text if self.plan else ""

    @property
    def is_aborted(self) -> bool:
        return self.ending is Ending.ABORTED


class Log:
    """Records in the order of their requests."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._changed = Condition()

    def __iter__(self) -> Iterator[Record]:
        with self._changed:
            return iter(list(self._records))

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, number: int) -> Record:
        return self._records[number]

    def add(self, record: Record) -> None:
        with self.change():
            self._records.append(record)

    @contextmanager
    def change(self) -> Iterator[None]:
        """Change a record; who waits for that looks again."""
        with self._changed:
            yield
            self._changed.notify_all()

    def wait_for(self, claim: Callable[[Record], bool], *, within: float = PATIENCE) -> Record:
        """Return the first record of which ``claim`` is true, once there is one."""
        with self._changed:
            found = self._changed.wait_for(
                lambda: next(filter(claim, self._records), None), within
            )
        if found is None:
            raise TimeoutError(f"no such request within {within:g} s")
        return found
