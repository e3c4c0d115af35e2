"""Word how turns ended."""

from __future__ import annotations

from rookery.client.turns import TurnInfo


def outcome_note(turn: TurnInfo) -> str:
    """Return why a turn has no answer or only a part of it; empty if the answer is whole."""
    match turn.how:
        case "interrupted" if turn.answer:
            return "interrupted; the answer is not complete"
        case "interrupted":
            return "interrupted; there is no answer"
        case "failed" | "":
            return turn.how
        case _:
            return "" if turn.answer else "there is no answer"
