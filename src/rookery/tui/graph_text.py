"""Who waits for whom, and who talks with whom, as a tree of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rookery.client.listeners import ListenersInfo
from rookery.client.relays import RelayInfo
from rookery.client.sessions import ListedSession
from rookery.presentation.states import state_word
from rookery.presentation.texts import one_line
from rookery.tui.session_view import sign
from rookery.tui.styled import Span, StyledLine, line


def graph_lines(
    sessions: Mapping[str, ListedSession],
    listeners: ListenersInfo,
    relays: Sequence[RelayInfo],
) -> list[StyledLine]:
    """Return the waits as trees, each waiting session above those it waits for; then relays."""
    targets: dict[str, list[str]] = {}
    for each in listeners.listeners:
        targets.setdefault(each.caller, []).append(each.target)
    waits = [*_waits(sessions, targets)]
    talks = [
        found for relay in relays if not relay.closed_at for found in _relay(sessions, relay)
    ]
    lines = [
        line("Waits", "strong"),
        *(waits or [line("  No session waits for another.", "faint")]),
    ]
    lines += [line(""), line("Relays", "strong")]
    return [*lines, *(talks or [line("  No relay is open.", "faint")])]


def _waits(
    sessions: Mapping[str, ListedSession], targets: Mapping[str, Sequence[str]]
) -> Iterator[StyledLine]:
    awaited = {each for some in targets.values() for each in some}
    roots = [each for each in targets if each not in awaited] or [*targets]
    drawn: set[str] = set()
    for root in roots:
        yield _node(sessions, root, "  ")
        yield from _below(sessions, targets, root, "  ", drawn)


def _below(
    sessions: Mapping[str, ListedSession],
    targets: Mapping[str, Sequence[str]],
    session: str,
    margin: str,
    drawn: set[str],
) -> Iterator[StyledLine]:
    """Yield what a session waits for; a ring of waits is drawn once."""
    if session in drawn:
        return
    drawn.add(session)
    children = targets.get(session, ())
    for place, each in enumerate(children, 1):
        is_last = place == len(children)
        yield _node(sessions, each, f"{margin}{'└' if is_last else '├'}─ waits for ")
        yield from _below(
            sessions, targets, each, f"{margin}{' ' if is_last else '│'}  ", drawn
        )


def _relay(sessions: Mapping[str, ListedSession], relay: RelayInfo) -> Iterator[StyledLine]:
    members = [each for each in relay.members if not each.left_at]
    yield line(f"  relay {relay.id[:8]}")
    for place, member in enumerate(members, 1):
        sign = "└" if place == len(members) else "├"
        yield _node(sessions, member.session, f"  {sign}─ ")


def _node(sessions: Mapping[str, ListedSession], session: str, margin: str) -> StyledLine:
    found = sessions.get(session)
    if found is None:
        return (Span(margin, "faint"), Span(session[:8]))
    state = f"  {sign(found)} {state_word(found)}"
    return (Span(margin, "faint"), Span(one_line(found.name), "strong"), Span(state, "faint"))
