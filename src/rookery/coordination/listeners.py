"""Listeners: notify one session when another stops, needs input or ends."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import timedelta
from sqlite3 import Connection

from rookery.coordination.needs_input import need
from rookery.coordination.notices import News, queue_news
from rookery.coordination.wait_cycles import path_back, ring_of
from rookery.model import facts
from rookery.model.actors import LISTENERS, Actor, ActorKind
from rookery.model.errors import BadInput, SessionOver
from rookery.model.facts import Fact, SessionId
from rookery.model.listeners import (
    ENDED,
    FINISHED,
    INTERRUPTED,
    INTERRUPTED_BY,
    OBEYED,
    OUT_OF_REACH,
    RING,
    TURN_FAILED,
    UNHEARD,
    WITHDRAWN,
    Listener,
    NewsTemplate,
    Until,
    ended,
    news,
    why_ended,
)
from rookery.model.messages import EXPIRY
from rookery.model.sessions import Session
from rookery.store import dialogs, listeners, messages, session_families, sessions, turns
from rookery.store.journal import Entry, Journal, Reader

_log = logging.getLogger(__name__)

#: The author of these messages.
AUTHOR = LISTENERS


def listen(db: Connection, journal: Journal, listener: Listener) -> bool:
    """Add a listener, which notifies its caller of the target's next stop. False if it exists.

    If the listener names a message, only the turn that took the message up counts, not a turn
    that was running before. Raises ``SessionOver`` if the target has ended.
    """
    if listener.caller == listener.target:
        raise BadInput("a session cannot wait for itself.")
    target = sessions.get(db, listener.target)
    if target.status.is_over:
        raise SessionOver(ended(target))
    if listener.is_lasting and path_back(db, listener, only_lasting=True):
        raise BadInput(f"{target.name} and its listeners would notify each other for ever.")
    if not listeners.add(db, listener, at=journal.clock.now()):
        return False
    _report_ring(db, journal, listener)
    return True


def listen_to_several(
    db: Connection,
    journal: Journal,
    new_listeners: Sequence[Listener],
    *,
    needed: int,
    deadline: timedelta | None,
) -> None:
    """Add listeners with one notification: when enough targets have stopped, or at a deadline.

    A target that the caller already waits for counts, and is no longer reported separately.
    """
    due = journal.clock.now() + deadline if deadline else None
    wait = listeners.begin_wait(db, new_listeners[0].caller, needed=needed, deadline=due)
    for each in new_listeners:
        listen(db, journal, each)
        heard = listeners.join_wait(db, wait, caller=each.caller, target=each.target)
        notify_of_rest(db, journal, each.caller, heard)


def stop_listening(db: Connection, journal: Journal, listener: Listener) -> bool:
    """Remove a listener on request of its caller. False if there is none."""
    heard = listeners.remove(db, caller=listener.caller, target=listener.target)
    notify_of_rest(db, journal, listener.caller, heard or [])
    return heard is not None


def notify_of_rest(
    db: Connection, journal: Journal, caller: SessionId, heard: Sequence[str]
) -> None:
    """Notify a session of what a wait had heard in which nothing is left to wait for."""
    if heard:
        seq = journal.append(db, facts.WaitExpired(caller, ""))
        write_news(db, caller, "\n".join(heard), seq)


def _report_ring(db: Connection, journal: Journal, listener: Listener) -> None:
    """Record and report that sessions wait for each other, if a listener closes a ring."""
    edges = path_back(db, listener)
    if not edges:
        return
    ring = [listener, *edges]
    ring_text = ring_of(db, listener)
    seq = journal.append(db, facts.RingClosed(listener.caller, ring_text))
    if any(each.message is not None for each in ring):
        return  # a message is being delivered in the ring: its answer will end the wait
    for each in ring:
        words = RING.format(ring=ring_text, computer=journal.computer, id=each.target)
        write_news(db, each.caller, words, seq, hops=messages.hops_of(db, listener.caller))


def react(db: Connection, entry: Entry) -> None:  # noqa: C901 - a table
    """Turn an event of a session into one message to each caller that waits for it."""
    target, seq = entry.fact.session, entry.seq
    match entry.fact:
        case facts.TurnEnded(_, last_words, how):
            if fired := listeners.of_stop(db, target, seq=seq):
                _fire(db, entry, fired, *_how_stopped(db, entry, how, last_words))
        case facts.InputAsked():
            _notify_of_request(db, entry, entry.fact)
        case facts.CommandTaken(_, parcel):
            callers = listeners.of_command(db, target, seq=seq, parcel=parcel)
            _fire(db, entry, callers, OBEYED)
        case facts.DeliveryDoubted() | facts.DeliveryWaited():
            _fire(db, entry, listeners.of_doubt(db, target, seq=seq), UNHEARD)
        case facts.MessageWithdrawn():
            _notify_of_withdrawal(db, entry, entry.fact)
        case facts.RelayLeft():
            _end_out_of_reach(db, entry, listeners.lasting_by_relay(db, target))
        case facts.SessionEnded():
            if removed := listeners.forget_caller(db, target):
                _log.info("%s is over; it waited for %d.", target, removed)
            notify_of_end(db, entry, sessions.get(db, target))
        case _:
            pass


def _end_out_of_reach(db: Connection, entry: Entry, lasting: Sequence[Listener]) -> None:
    """Remove listeners whose caller could read the target only as a relay peer; notify it."""
    for each in lasting:
        if not session_families.may_read(db, each.caller, each.target):
            heard = listeners.remove(db, caller=each.caller, target=each.target) or []
            words = news(OUT_OF_REACH, sessions.get(db, each.target))
            text = "\n".join([*heard, words])
            write_news(db, each.caller, text, entry.seq, hops=_hops(db, entry))


def _notify_of_request(db: Connection, entry: Entry, asked: facts.InputAsked) -> None:
    """Notify all waiting sessions that input is needed; some waited for exactly that."""
    target, request = sessions.get(db, asked.session), asked.request or str(entry.seq)
    for each in listeners.of_asking(db, target.id, seq=entry.seq, request=request):
        words = need(db, each.caller, target, asked)
        dialogs.tell(db, request, each.caller)
        if each.until not in {Until.INPUT, Until.ANY}:
            write_news(db, each.caller, words, entry.seq, hops=_hops(db, entry))
        elif each.is_lasting:
            listeners.renew(db, each, seq=entry.seq)
            _notify(db, entry, each, words)
        else:
            _notify_and_remove(db, entry, [each], words)


def _how_stopped(
    db: Connection, entry: Entry, how: facts.How, last_words: str
) -> tuple[NewsTemplate, str]:
    """Return the text about the end of a turn, and what it quotes."""
    if how == "failed":
        return TURN_FAILED, last_words
    if how == "finished":
        return FINISHED, last_words
    by = turns.interrupted_by(db, entry.fact.session, before=entry.seq)
    if by is None:
        return INTERRUPTED, ""
    return INTERRUPTED_BY, "a person" if by.kind is ActorKind.PERSON else str(by)


def _notify_of_withdrawal(
    db: Connection, entry: Entry, withdrawn: facts.MessageWithdrawn
) -> None:
    """Notify the session that waits for the answer to a message which was withdrawn."""
    waiting = listeners.of_doubt(db, withdrawn.session, seq=entry.seq)
    fired = [each for each in waiting if each.message == withdrawn.number]
    own = [each for each in fired if withdrawn.by == str(Actor.of_session(each.caller))]
    for each in own:
        if heard := listeners.remove(db, caller=each.caller, target=each.target):
            write_news(db, each.caller, "\n".join(heard), entry.seq)
    why = "they expired" if withdrawn.by == EXPIRY else f"withdrawn by {withdrawn.by}"
    others = [each for each in fired if each not in own]
    _fire(db, entry, others, WITHDRAWN, why)


READER = Reader(
    frozenset[type[Fact]](
        {
            facts.TurnEnded,
            facts.InputAsked,
            facts.CommandTaken,
            facts.DeliveryDoubted,
            facts.DeliveryWaited,
            facts.MessageWithdrawn,
            facts.RelayLeft,
            facts.SessionEnded,
        }
    ),
    react,
)


def _fire(
    db: Connection,
    entry: Entry,
    fired: Sequence[Listener],
    template: NewsTemplate,
    message: str = "",
) -> None:
    if not fired:
        return
    target = sessions.get(db, entry.fact.session)
    for each in sorted(fired, key=lambda each: not each.is_lasting):
        words = news(_template_for(db, each, template), target, message)
        if each.is_lasting:
            listeners.renew(db, each, seq=entry.seq)
            _notify(db, entry, each, words)
        else:
            _notify_and_remove(db, entry, [each], words)


def notify_of_end(db: Connection, entry: Entry, target: Session) -> list[SessionId]:
    """Notify all waiting sessions that a session has ended, and remove their listeners.

    Returns the notified sessions.
    """
    waiting = listeners.of_end(db, target.id, seq=entry.seq)
    for each in waiting:
        template = _template_for(db, each, ENDED)
        _notify_and_remove(db, entry, [each], news(template, target, why_ended(target)))
    return [each.caller for each in waiting]


def _template_for(db: Connection, listener: Listener, template: NewsTemplate) -> NewsTemplate:
    """Remove the hint if the listener may not use its tool: its target is in another family."""
    is_allowed = session_families.may_read(db, listener.caller, listener.target)
    return template if is_allowed else template.without_hint()


def _notify_and_remove(
    db: Connection, entry: Entry, fired: Iterable[Listener], words: str
) -> None:
    """Notify each waiting session, and remove its listener."""
    for each in fired:
        _notify(db, entry, each, words)
        listeners.drop(db, each)


def _notify(db: Connection, entry: Entry, listener: Listener, words: str) -> None:
    """Notify one waiting session: at once, or together with its other targets."""
    texts: list[str] | None = [words]
    if listener.wait is not None:
        texts = listeners.keep_news(db, listener.wait, listener.target, words)
    if texts:
        write_news(db, listener.caller, "\n".join(texts), entry.seq, hops=_hops(db, entry))


def _hops(db: Connection, entry: Entry) -> int:
    """Return the hop count of the turn that the news is about."""
    stop = entry.at if isinstance(entry.fact, facts.TurnEnded) else None
    return messages.hops_of(db, entry.fact.session, stop=stop)


def write_news(
    db: Connection, caller: SessionId, words: str, cause: int, *, hops: int = 0
) -> None:
    queue_news(db, caller, News(words, "what you wait for", AUTHOR, cause, hops))
