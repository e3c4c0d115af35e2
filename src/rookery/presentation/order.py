"""Order sessions: those that need their person first, as a list or as a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from rookery.client.sessions import ListedSession
from rookery.presentation.states import Standing, standing

#: How a session compares with others: the lower, the earlier it is listed.
Rank = tuple[int, float, str]


def ranked(sessions: Sequence[ListedSession]) -> list[ListedSession]:
    """Return sessions in the order of their ranks: those that need their person first."""
    return sorted(sessions, key=rank)


def rank(session: ListedSession) -> Rank:
    """Rank by standing; then by the longest wait, the latest end, or an unread answer."""
    where = standing(session)
    match where:
        case Standing.NEEDS_YOU:
            order = _seconds(session.since)
        case Standing.FAILED | Standing.ENDED:
            order = -_seconds(session.ended_at or session.since)
        case Standing.IDLE:
            order = 0.0 if session.is_unread else 1.0
        case _:
            order = 0.0
    return where, order, session.created_at


def tree(
    sessions: Sequence[ListedSession], rank_of: Callable[[ListedSession], Rank] = rank
) -> Iterator[tuple[int, ListedSession]]:
    """Yield each session after the one that started it, with its depth.

    A family is as urgent as its most urgent member.
    """
    ranks = {each.id: rank_of(each) for each in sessions}
    listed = {each.id for each in sessions}
    children: dict[str | None, list[ListedSession]] = {}
    for each in sessions:
        above = each.parent if each.parent in listed else None
        children.setdefault(above, []).append(each)
    urgency = {each.id: _urgency(each, children, ranks) for each in sessions}

    def below(parent: str | None, depth: int) -> Iterator[tuple[int, ListedSession]]:
        for each in sorted(children.get(parent, ()), key=lambda child: urgency[child.id]):
            yield depth, each
            yield from below(each.id, depth + 1)

    return below(None, 0)


def _urgency(
    session: ListedSession,
    children: Mapping[str | None, Sequence[ListedSession]],
    ranks: Mapping[str, Rank],
) -> Rank:
    """Return the lowest rank of a session and its descendants."""
    below = (_urgency(each, children, ranks) for each in children.get(session.id, ()))
    return min((ranks[session.id], *below))


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() if moment else 0.0
