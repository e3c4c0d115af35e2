"""Word and group the states of sessions, for people."""

from __future__ import annotations

from enum import IntEnum

from rookery.client.sessions import ListedSession, SessionInfo
from rookery.model.reason_texts import first_line, with_last_output

#: The actors other than sessions that end sessions.
_BY = {
    "person": "by you",
    "idle": "after a long time without activity",
    "run": "when its run was done",
}


class Standing(IntEnum):
    """What a session means to its person; lists have this order."""

    NEEDS_YOU = 0
    FAILED = 1
    WORKING = 2
    STARTING = 3
    IDLE = 4
    CLOSING = 5
    ENDED = 6


_STANDINGS = {
    "permission": Standing.NEEDS_YOU,
    "question": Standing.NEEDS_YOU,
    "working": Standing.WORKING,
    "idle": Standing.IDLE,
    "starting": Standing.STARTING,
    "closing": Standing.CLOSING,
}


def standing(session: ListedSession) -> Standing:
    if session.has_failed_turn or is_new_failure(session):
        return Standing.FAILED
    return _STANDINGS.get(session.state, Standing.ENDED)


def is_new_failure(session: ListedSession) -> bool:
    """Return whether a session failed and, since then, was neither seen nor resumed."""
    is_seen = (session.seen_at or "") >= (session.ended_at or "")
    return session.status == "failed" and not session.is_resumed and not is_seen


def is_left_out(session: ListedSession) -> bool:
    """Return whether lists leave a session out by default."""
    return bool(session.ended_at) and not is_new_failure(session)


def state_word(session: SessionInfo) -> str:
    """Return the state in one or two words, the same in every list and sentence."""
    if session.has_failed_turn:
        return "turn failed"
    return session.activity or status_word(session.status)


def status_word(status: str) -> str:
    """Return a status for people: "ended" for both completed and killed sessions."""
    return "ended" if status in {"killed", "completed"} else status


def state_with_reason(session: SessionInfo) -> str:
    """Return the state and why; who or what ended a session is the reason of its end.

    If another session ended it, the text contains that session's id.
    """
    if ended := ended_by(session):
        return ended
    # What a session asks, or why its turn failed, is shown beside the state.
    is_told = session.is_asking or session.has_failed_turn
    reason = "" if is_told else with_last_output(session.reason)
    return f"{state_word(session)}: {reason}" if reason else state_word(session)


#: The verb phrases of the states in which a session waits for its person.
_ASKS = {"permission": "asks for permission", "question": "asks a question"}


def does(state: str) -> str:
    """Return the verb phrase for a state, to follow the session's name."""
    return _ASKS.get(state, f"is {status_word(state)}")


def state_note(state: str) -> str:
    """Return a state for a list of sessions within a sentence, beside their names."""
    return _ASKS.get(state, status_word(state))


def ending(session: SessionInfo) -> str:
    """Return the verb phrase for how a session ended and why, to follow its name.

    If another session ended it, the text contains that session's id.
    """
    if ended := ended_by(session):
        return f"was {ended}"
    verb = "has failed" if session.status == "failed" else "has ended"
    reason = first_line(session.reason).removesuffix(".")
    return f"{verb}: {reason}" if reason else verb


def ended_by(session: SessionInfo) -> str:
    """Return what ended a session; empty if it is live or ended by itself.

    If another session ended it, the text contains that session's id.
    """
    if session.status != "killed":
        return ""
    by = session.ended_by
    return f"ended {_BY.get(by, f'by {by}')}" if by else "ended"
