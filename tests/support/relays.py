"""Relays between sessions that are rows only."""

from __future__ import annotations

from rookery.coordination import relays
from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.model.relays import Relay, RelayLimits
from tests.support.team import Office

LIMITS = RelayLimits(hops=8, a_minute=20, length=12_000)


def talk(office: Office, *members: SessionId, limits: RelayLimits = LIMITS) -> Relay:
    named = [(each, "") for each in members]
    return relays.create(office.db, office.journal, named, by="person", limits=limits)


def answer(office: Office, session: SessionId, words: str) -> None:
    """Have a session take up all that waits for it, and answer."""
    waiting = office.db.execute(
        "select 1 from messages where recipient = ? and step = 'pending'", (session,)
    )
    prompt = office.paste(session).words if waiting.fetchone() else "its person's words"
    office.happen(facts.TurnStarted(session, prompt), facts.TurnEnded(session, words))


def heard(office: Office, relay: Relay) -> list[tuple[str, str]]:
    return office.told(f"relay {relay.id}")
