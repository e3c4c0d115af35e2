"""Keep the order of the list while the user reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from rookery.client.sessions import ListedSession
from rookery.presentation.order import Rank, rank
from rookery.presentation.states import Standing, standing

#: The values on which a session's place in the list depends; reading its answer changes none.
_State = tuple[Standing, str, str | None, str | None]


@dataclass(slots=True)
class RowOrder:
    """The ranks of sessions, which change with their states; a selected one keeps its rank."""

    _known: dict[str, tuple[_State, Rank]] = field(default_factory=dict)

    def rank(self, session: ListedSession, *, is_selected: bool) -> Rank:
        state = _state(session)
        known = self._known.get(session.id)
        if known and (is_selected or known[0] == state):
            return known[1]
        self._known[session.id] = state, rank(session)
        return self._known[session.id][1]

    def forget(self, session: str) -> None:
        self._known.pop(session, None)


def _state(session: ListedSession) -> _State:
    return standing(session), session.since, session.last_answer_at, session.ended_at
