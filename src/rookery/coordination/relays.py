"""Relays connect sessions: the answer of each is sent once to every other.

A relay sends the last message of a turn, never screens. A limit on the hops in
the chain of causes stops two agents that only thank each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import compress
from sqlite3 import Connection
from uuid import uuid4

from rookery.agents.mentions import without_mentions
from rookery.coordination.notices import News, queue_news
from rookery.model import facts
from rookery.model.actors import Actor, ActorKind
from rookery.model.aliases import checked_alias
from rookery.model.envelopes import attributed
from rookery.model.errors import BadInput, CommandRefused, SessionOver, WordsRefused
from rookery.model.facts import Fact, SessionId
from rookery.model.messages import Origin, clean
from rookery.model.relays import Member, Relay, RelayId, RelayLimits, shortened
from rookery.store import message_limits, messages, relays, sessions
from rookery.store.journal import Entry, Journal, Reader

#: Maximum members of one relay.
MAX_MEMBERS = 20

#: Maximum relays of one session: each of its answers is sent to all of them.
MAX_RELAYS = 50

#: Minimum members of a relay.
MIN_MEMBERS = 2

MINUTE = timedelta(minutes=1)


def create(
    db: Connection,
    journal: Journal,
    members: Sequence[tuple[SessionId, str]],
    *,
    by: str,
    limits: RelayLimits,
) -> Relay:
    """Open a relay between sessions, each under a name; an empty name means its own."""
    if not MIN_MEMBERS <= len({session for session, _ in members}) <= MAX_MEMBERS:
        raise BadInput(f"a relay has {MIN_MEMBERS} to {MAX_MEMBERS} different sessions.")
    relay = _new(journal, by, limits)
    relays.add(db, relay)
    for session, name in members:
        join(db, journal, relay.id, session, name=name)
    return relays.get(db, relay.id)


def join_pair(
    db: Connection, journal: Journal, pair: tuple[SessionId, SessionId], *, limits: RelayLimits
) -> Relay:
    """Return the relay between two sessions, which is opened if there is none."""
    key = relays.pair_of(pair)
    if existing := relays.of_pair(db, key):
        return existing
    relay = _new(journal, str(Actor.of_session(pair[0])), limits)
    relays.add(db, relay, pair=key)
    for session in pair:
        join(db, journal, relay.id, session)
    return relays.get(db, relay.id)


def _new(journal: Journal, by: str, limits: RelayLimits) -> Relay:
    return Relay(RelayId(uuid4().hex[:12]), (), limits, journal.clock.now(), by)


def join(
    db: Connection,
    journal: Journal,
    relay_id: RelayId,
    session_id: SessionId,
    *,
    name: str = "",
) -> None:
    """Add a session to a relay. A member that returns keeps its number."""
    relay, session = relays.get(db, relay_id), sessions.get(db, session_id)
    if relay.closed_at:
        raise BadInput(f"the relay {relay.id} is closed: {relay.reason}")
    if session.status.is_over:
        raise SessionOver(session.name)
    if relay.member(session_id):
        return
    if len(relay.present) >= MAX_MEMBERS:
        raise BadInput(f"a relay has at most {MAX_MEMBERS} sessions.")
    if relays.count_of(db, session_id) >= MAX_RELAYS:
        raise CommandRefused(f"{session.name} is in {MAX_RELAYS} relays; close one first.")
    before = next((each for each in relay.members if each.session == session_id), None)
    number = before.number if before else len(relay.members) + 1
    alias = session.name
    if name and name != session.name:
        members = (each.name for each in relay.present)
        others = (*sessions.names_of_others(db, session_id), *members)
        alias = checked_alias(name, others=others)
    relays.join(db, relay.id, Member(session_id, alias, number))
    journal.append(db, facts.RelayJoined(session_id, relay.id, alias, number))


def leave(
    db: Connection, journal: Journal, relay_id: RelayId, session: SessionId, *, reason: str
) -> bool:
    """Remove a session and notify the others once. Returns False if it was no member."""
    relay = relays.get(db, relay_id)
    member = relay.member(session)
    if member is None or not relays.leave(db, relay.id, session, at=journal.clock.now()):
        return False
    seq = journal.append(db, facts.RelayLeft(session, relay.id, reason))
    hops = messages.hops_of(db, session)
    _announce_leaving(db, relay, member, _Leaving(seq, journal.clock.now(), reason, hops))
    return True


def close(db: Connection, journal: Journal, relay_id: RelayId, *, by: str, reason: str) -> bool:
    """Close a relay and notify its members once, except the one that closed it."""
    relay = relays.get(db, relay_id)
    if relay.closed_at:
        return False
    relays.close(db, relay.id, at=journal.clock.now(), reason=reason)
    actor = Actor.read(by)
    is_closer = (Actor.of_session(each.session) == actor for each in relay.present)
    closer = next(compress(relay.present, is_closer), None)
    hops = messages.hops_of(db, closer.session) if closer else 0
    for member in relay.present:
        seq = journal.append(db, facts.RelayLeft(member.session, relay.id, reason))
        if member != closer:
            leaving = _Leaving(seq, journal.clock.now(), reason, hops)
            _notify(db, relay, member, f"The relay is closed: {reason}.", leaving)
    return True


def react(db: Connection, entry: Entry) -> None:
    """Send a session's answer to its relays; remove a session that has ended."""
    match entry.fact:
        case facts.TurnEnded(session, last_words, "finished") if last_words.strip():
            for relay in relays.of_session(db, session):
                _forward(db, entry, relay, last_words)
        case facts.SessionEnded(session):
            for relay in relays.of_session(db, session):
                member = relay.member(session)
                if member and relays.leave(db, relay.id, session, at=entry.at):
                    leaving = _Leaving(entry.seq, entry.at, f"{member.name} has ended")
                    _announce_leaving(db, relay, member, leaving)
        case _:
            pass


READER = Reader(frozenset[type[Fact]]({facts.TurnEnded, facts.SessionEnded}), react)


def _forward(db: Connection, entry: Entry, relay: Relay, last_words: str) -> None:
    author = relay.member(entry.fact.session)
    if author is None or author.since >= entry.seq:
        return
    hops = messages.hops_of(db, author.session, stop=entry.at) + 1
    if limit := _limit(db, entry, relay, hops):
        relays.note_limit(db, relay.id, limit)
        return
    last_words = last_words.replace("\0", "")  # ``clean`` would refuse the whole text
    digest = sha256(last_words.strip().encode(errors="replace")).hexdigest()
    if not relays.note_words(db, relay.id, author.session, digest):
        return  # the member has sent exactly this text before
    try:
        words = clean(
            attributed(author.name, author.number, shortened(last_words, relay.limits.length))
        )
    except WordsRefused:
        return
    relays.note_limit(db, relay.id, "")  # clear the limit that stopped an earlier answer
    origin = Origin(Actor(ActorKind.RELAY, relay.id), entry.seq, hops=hops, relay=relay.id)
    for member in relay.present:
        if member.session == author.session:
            continue
        agent = sessions.get(db, member.session).agent
        text = without_mentions(agent, words.text)
        if why := message_limits.why_no_room(db, member.session, text):
            relays.note_limit(db, relay.id, f"{why} for {member.name}")
        else:
            messages.add(db, member.session, replace(words, text=text), origin)


def _limit(db: Connection, entry: Entry, relay: Relay, hops: int) -> str:
    """Return the limit that stops an answer from being sent on; empty if none does."""
    if hops > relay.limits.hops:
        return f"{relay.limits.hops} relayed answers in a row; a person's message resets this"
    if relays.count_said(db, relay.id, since=entry.at - MINUTE) >= relay.limits.a_minute:
        return f"{relay.limits.a_minute} messages in a minute"
    return ""


@dataclass(frozen=True, slots=True)
class _Leaving:
    """Why and when a member leaves."""

    cause: int  #: the journal entry that reports it
    at: datetime
    reason: str
    hops: int = 0  #: the hop count of the cause


def _announce_leaving(db: Connection, relay: Relay, leaver: Member, leaving: _Leaving) -> None:
    """Notify the other members that one has left; close the relay if only one remains."""
    remaining = [each for each in relay.present if each.session != leaver.session]
    is_over = len(remaining) < MIN_MEMBERS
    if is_over:
        relays.close(db, relay.id, at=leaving.at, reason=leaving.reason)
    ending = "The relay is closed" if is_over else f"[{leaver.name}] ({leaver.number}) has left"
    for member in remaining:
        _notify(db, relay, member, f"{ending}: {leaving.reason}.", leaving)


def _notify(
    db: Connection, relay: Relay, member: Member, words: str, leaving: _Leaving
) -> None:
    author, about = Actor(ActorKind.RELAY_NEWS, relay.id), f"your relay {relay.id}"
    news = News(words, about, author, leaving.cause, leaving.hops, subject=f"relay {relay.id}")
    queue_news(db, member.session, news)
