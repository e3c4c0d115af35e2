"""Decide which open turns a prompt or an answer belongs to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rookery.model.facts import SessionId, TurnEnded
from rookery.model.sessions import Turn

#: The state of a prompt that was typed during another turn: ``waiting``, or ``taken_in`` once
#: that turn has consumed it, as agents do when they pass a tool's result to their model. Empty
#: for a prompt that began its own turn.
Queued: TypeAlias = Literal["", "waiting", "taken_in"]


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that has begun and not ended."""

    number: int  #: the entry that began it
    native_id: str = ""  #: the agent's own id; for a queued prompt, the id of the running turn
    queued: Queued = ""
    is_paused: bool = False  #: the agent stopped while its background subagents continue
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class StopShare:
    """The effect of one stop on the open turns, by their numbers."""

    answered: tuple[int, ...] = ()  #: the agent's last message answers these turns
    interrupted: tuple[int, ...] = ()  #: the agent continued without answering these turns


def is_queued(open_turns: Sequence[OpenTurn], native_id: str) -> bool:
    """Return whether a prompt with this id was typed during a running turn.

    Claude gives such a prompt the id of the running turn, and a prompt that begins a turn an
    id of its own.
    """
    return bool(native_id) and any(each.native_id == native_id for each in open_turns)


def resumed(open_turns: Sequence[OpenTurn]) -> OpenTurn | None:
    """Return the turn that continues when a background subagent has reported."""
    return next((each for each in open_turns if each.is_paused), None)


def share(open_turns: Sequence[OpenTurn], native_id: str) -> StopShare:
    """Return which of the open turns, given oldest first, a stop with this id answers.

    An agent stops once for a prompt and all prompts that it has taken into the same turn. It
    answers a queued prompt that was not taken in later, in a turn with an id that no prompt
    has reported.
    """
    same_id = [each for each in open_turns if native_id and each.native_id == native_id]
    waiting = [each for each in open_turns if each.queued == "waiting"]
    if same_id:
        started = [each for each in same_id if each.queued != "waiting"]
        answered = started or same_id
    elif native_id and waiting:
        answered = waiting
    else:
        # The agent reports no ids, or the turn's start was seen without an id.
        return StopShare(
            tuple(
                each.number for each in open_turns if each.queued != "waiting" or not native_id
            )
        )
    first = answered[0].number
    passed = (each for each in open_turns if each.number < first and not each.is_paused)
    return StopShare(
        tuple(each.number for each in answered),
        tuple(each.number for each in passed),
    )


def reported_end(
    session: SessionId, open_turns: Sequence[OpenTurn], before: Turn | None
) -> TurnEnded | None:
    """Return the end of the open turns if earlier hooks imply that they are over.

    ``before``: the last turn that has ended.
    """
    if open_turns and all(each.is_paused for each in open_turns):
        return TurnEnded(session)  # its subagents are gone, and it has answered
    if before and open_turns and all(each.queued for each in open_turns):
        # The previous turn has taken these prompts in, so its answer is also theirs.
        return TurnEnded(session, before.answer)
    return None
