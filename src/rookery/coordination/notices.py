"""Send Rookery's own news to sessions: about sessions that they wait for or talk with.

News is never refused. Beyond the limits for a session's pending messages it is merged into one
message, with each line once and a maximum number of lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from rookery.agents.mentions import without_mentions
from rookery.model.actors import LISTENERS, Actor
from rookery.model.envelopes import envelope
from rookery.model.facts import SessionId
from rookery.model.messages import Origin, Words, clean
from rookery.store import message_limits, messages, sessions

#: The author of merged news; in the store it is a listener.
MERGED = LISTENERS

#: The subject of merged news in its envelope.
ABOUT_MERGED = "what you wait for, and your relays"

#: Maximum lines of merged news; older ones are dropped.
MAX_MERGED_LINES = 1_000

LEFT_OUT = "Earlier news is left out."


@dataclass(frozen=True, slots=True)
class News:
    words: str
    about: str  #: the subject in the envelope
    author: Actor
    cause: int  #: the number of the journal entry that caused it
    hops: int = 0
    subject: str = ""  #: precedes the text if the envelope has another subject


def queue_news(db: Connection, recipient: SessionId, news: News) -> None:
    """Queue news for a session, or merge it with queued news if there is no room."""
    session = sessions.get(db, recipient)
    name = session.name
    # ``clean`` refuses NULs, and a session must not suppress news about itself by writing one.
    words = clean(without_mentions(session.agent, news.words.replace("\0", " ")))
    if message_limits.has_room_for_news(db, recipient, words.text):
        above = envelope(speaker="Rookery", recipient=name, about=news.about)
        _add(db, recipient, words, Origin(news.author, news.cause, above, news.hops))
        return
    above = envelope(speaker="Rookery", recipient=name, about=ABOUT_MERGED)
    line = f"{news.subject}: {words.text}" if news.subject else words.text
    _merge(db, recipient, line, Origin(MERGED, news.cause, above, news.hops))


def _add(db: Connection, recipient: SessionId, words: Words, origin: Origin) -> None:
    """Queue news; further news of the same entry and author is added to the first message."""
    same = messages.find_caused(db, recipient, origin)
    if same is None:
        messages.add(db, recipient, words, origin)
    else:
        messages.rewrite(db, same.id, f"{same.words}\n{words.text}", hops=origin.hops)


def _merge(db: Connection, recipient: SessionId, text: str, origin: Origin) -> None:
    """Add lines to the merged news pending for a session; a repeated line moves down."""
    waiting = messages.find_pending(db, recipient, envelope=origin.envelope)
    if waiting is None:
        _add(db, recipient, clean(text), origin)
        return
    added = text.splitlines()
    before = [each for each in waiting.words.splitlines() if each not in {*added, LEFT_OUT}]
    lines = [*before, *added]
    # The text is all that is stored, so this line itself records that lines were dropped.
    has_left_out = len(lines) > MAX_MERGED_LINES or waiting.words.startswith(LEFT_OUT)
    merged = [LEFT_OUT] * has_left_out + lines[-MAX_MERGED_LINES:]
    messages.rewrite(db, waiting.id, "\n".join(merged), hops=origin.hops)
