"""Decide which open turns a prompt or an answer belongs to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

#: Whether a prompt was typed while another turn ran (``waiting``), and whether that turn has
#: taken it in meanwhile: agents do so when they give a tool's result to their model.
Queued: TypeAlias = Literal["", "waiting", "taken_in"]


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that has begun and not ended."""

    number: int  #: the entry that began it
    native_id: str = ""  #: the agent's own; that of the running turn, if it was queued
    queued: Queued = ""
    is_paused: bool = False  #: the agent stopped, and its background subagents go on
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """What one stop means for the open turns, by their numbers."""

    answered: tuple[int, ...] = ()  #: the agent's last words are their answer
    interrupted: tuple[int, ...] = ()  #: the agent went on without an answer to these


def is_queued(open_turns: Sequence[OpenTurn], native_id: str) -> bool:
    """Return whether a prompt with this id was typed while a turn runs.

    Claude gives such a prompt the id of the turn that runs, and a prompt that begins a turn an
    id of its own.
    """
    return bool(native_id) and any(each.native_id == native_id for each in open_turns)


def resumed(open_turns: Sequence[OpenTurn]) -> OpenTurn | None:
    """Return the turn that goes on when a background subagent has reported."""
    return next((each for each in open_turns if each.is_paused), None)


def share(open_turns: Sequence[OpenTurn], native_id: str) -> Share:
    """Say which turns, oldest first, a stop with this id answers.

    An agent stops once for a prompt and for all that it has taken into the same turn. A queued
    prompt that it did not take in becomes a turn of its own, under an id that no prompt told.
    """
    own = [each for each in open_turns if native_id and each.native_id == native_id]
    waiting = [each for each in open_turns if each.queued == "waiting"]
    if own:
        begun = [each for each in own if each.queued != "waiting"]
        answered = begun or own
    elif native_id and waiting:
        answered = waiting
    else:
        # The agent tells no ids, or the turn was only seen to begin.
        return Share(
            tuple(
                each.number for each in open_turns if each.queued != "waiting" or not native_id
            )
        )
    first = answered[0].number
    passed = (each for each in open_turns if each.number < first and not each.is_paused)
    return Share(
        tuple(each.number for each in answered),
        tuple(each.number for each in passed),
    )
