"""Tell what the end of a session cut off, when its conversation is resumed."""

from __future__ import annotations

from collections.abc import Iterator

from rookery.client import Client
from rookery.client.messages import show_inbox
from rookery.client.sessions import SessionInfo
from rookery.client.turns import show_turns
from rookery.model.errors import Answered
from rookery.model.reason_texts import first_line
from rookery.presentation.activity import PROMPT
from rookery.presentation.texts import count


def what_was_cut_off(daemon: Client, resumed: SessionInfo) -> list[str]:
    """Return notes on what the end of the earlier session cut off: its turn and messages."""
    if resumed.continues is None:
        return []
    try:
        return [*_turn(daemon, resumed.continues), *_messages(daemon, resumed.continues)]
    except Answered:  # this caller may not see the predecessor
        return []


def _turn(daemon: Client, former: str) -> Iterator[str]:
    found = show_turns(daemon, former, last=1)
    for turn in found.turns[-1:]:
        # The end of a session also ends its turn, without an answer.
        is_cut = turn.how == "failed" and not turn.answer
        if is_cut and (turn.ended_at or "") >= (found.session.ended_at or ""):
            yield f"its turn was cut off ({PROMPT} {first_line(turn.prompt)})."


def _messages(daemon: Client, former: str) -> Iterator[str]:
    letters = show_inbox(daemon, former, everything=False).letters
    lost = [each.message for each in letters if each.step == "failed"]
    if not lost:
        return
    was = "was" if len(lost) == 1 else "were"
    how = f"rookery inbox resend {lost[0]}" if len(lost) == 1 else "rookery inbox"
    yield f"{count(len(lost), 'message')} {was} not delivered:  {how}"
