"""What a driver reports about its session, as it is stored in the session's event file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from rookery.model.permissions import Question

#: What happens to a call that no rule decides: a ``person`` is asked; or it is allowed. An
#: ``unasked`` call is allowed unless a rule denies it or asks, a ``granted`` one unless a rule
#: denies it.
Basis: TypeAlias = Literal["person", "unasked", "granted"]


class _Event(Struct, frozen=True, tag_field="kind", omit_defaults=True):
    pass


class Up(_Event, frozen=True, tag="up"):
    """The agent is up and accepts prompts."""

    native_id: str = ""  #: the agent's own id of the conversation
    model: str = ""
    transcript_path: str = ""


class ProcessStarted(_Event, frozen=True, tag="process"):
    """The agent's program runs. The host reports it, not the driver."""

    pid: int
    #: Its pid and start time; empty if it has ended already. An older host does not say it.
    process: str | None = None


class ProcessesNoted(_Event, frozen=True, tag="processes"):
    """All that the agent runs now besides its program. The host reports it, not the driver."""

    processes: tuple[str, ...]  #: the pid and start time of each


class CommandStarted(_Event, frozen=True, tag="command"):
    """The host runs a command for the agent: the process belongs to the session."""

    process: str  #: its pid and start time, as ``Process.key``


class PromptTaken(_Event, frozen=True, tag="prompt"):
    """The agent has received a prompt."""

    text: str
    is_steering: bool = False  #: the running turn takes it in; it begins no turn of its own


class TextAdded(_Event, frozen=True, tag="text"):
    """A whole piece of the answer, never a fragment of a word."""

    text: str


class ThoughtAdded(_Event, frozen=True, tag="thought"):
    text: str


class ToolBegan(_Event, frozen=True, tag="tool-began"):
    """The agent calls a tool: it runs now, or once it is allowed."""

    call_id: str
    tool: str
    input: Mapping[str, Any] = {}
    subagent: str = ""  #: the id of the subagent that calls it, if any


class ToolEnded(_Event, frozen=True, tag="tool-ended"):
    call_id: str
    tool: str
    result: str = ""  #: what it returned, bounded
    failed: bool = False
    subagent: str = ""
    files: tuple[str, ...] = ()  #: what it has changed. The host adds them, not the driver


class FileChanged(_Event, frozen=True, tag="diff"):
    """A tool has changed a file, or is about to."""

    path: str
    diff: str  #: in the unified format
    call_id: str = ""
    is_made: bool = False  #: its call has ended before. The host says so, not the driver


class PlanChanged(_Event, frozen=True, tag="plan"):
    """The agent's list of steps, whole."""

    steps: tuple[tuple[str, str], ...]  #: the text of each, and its state


class Asked(_Event, frozen=True, tag="asked"):
    """The agent waits for a permission or for the answers to questions."""

    request: str  #: the driver's own id of it; the host makes it unique in the session
    tool: str
    input: Mapping[str, Any]
    call_id: str = ""
    subagent: str = ""
    basis: Basis = "person"
    method: str = ""  #: the request of the protocol that carries it out: rules may name it, too
    folder: str = ""  #: where it would run; empty for the session's project folder
    #: Set if it asks these instead of what its tool asks, for instance with a form.
    questions: tuple[Question, ...] = ()
    is_exact: bool = True  #: whether the input is whole. The host says so, not the driver


class AskingEnded(_Event, frozen=True, tag="asking-ended"):
    """The agent waits for it no longer: it was answered, or the turn is over."""

    request: str


class Used(_Event, frozen=True, tag="used"):
    """What the agent has used since its last report."""

    input_tokens: int
    output_tokens: int
    cost: int | None = None  #: micro-dollars; none if the agent does not report it
    total_cost: int | None = None  #: the agent's own running total, which outlives a resume
    turn_cost: int | None = None  #: of the whole turn, if parts of it were reported before
    context: int = 0  #: tokens in the context of the conversation now; 0 if not reported


class ModelChanged(_Event, frozen=True, tag="model"):
    model: str


class ModeChanged(_Event, frozen=True, tag="mode"):
    mode: str


class Noticed(_Event, frozen=True, tag="noticed"):
    """Something without effect on the state, such as a retry after an overload."""

    event: str
    detail: str = ""


class FellSilent(_Event, frozen=True, tag="silent"):
    """Nothing was reported for a while in the middle of a turn, and no tool runs."""

    seconds: float


class TurnOver(_Event, frozen=True, tag="turn-over"):
    """The agent has stopped; ``text`` is its answer."""

    text: str = ""
    how: Literal["finished", "interrupted", "failed"] = "finished"
    reason: str = ""  #: why it failed
    fails_session: bool = False  #: the session fails with it; its end says why


class Ended(_Event, frozen=True, tag="ended"):
    """The session is over. It is the last event."""

    outcome: Literal["completed", "failed", "killed"]
    reason: str
    is_over_budget: bool = False


Event: TypeAlias = (
    Up
    | ProcessStarted
    | ProcessesNoted
    | CommandStarted
    | PromptTaken
    | TextAdded
    | ThoughtAdded
    | ToolBegan
    | ToolEnded
    | FileChanged
    | PlanChanged
    | Asked
    | AskingEnded
    | Used
    | ModelChanged
    | ModeChanged
    | Noticed
    | FellSilent
    | TurnOver
    | Ended
)


class EventEntry(Struct, frozen=True):
    """One line of an event file."""

    number: int  #: from 1, without gaps; a new file of the same session goes on
    at: str  #: UTC, ISO 8601
    event: Event


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(EventEntry)


def encode(entries: Sequence[EventEntry]) -> bytes:
    """Return the lines of entries."""
    try:
        return _ENCODER.encode_lines(entries)
    except UnicodeEncodeError:  # some agents cut their texts within a character
        fields = _with_whole_characters(msgspec.to_builtins(entries))
        return _ENCODER.encode_lines(fields)


def _with_whole_characters(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a value in which no text has half a character, which UTF-8 cannot hold."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {
                _with_whole_characters(key): _with_whole_characters(each)
                for key, each in value.items()
            }
        case list() | tuple():
            return [_with_whole_characters(each) for each in value]
        case _:
            return value


def decode(lines: bytes) -> list[EventEntry]:
    """Read lines. Raises ``msgspec.DecodeError``, for instance for half a line."""
    return _DECODER.decode_lines(lines)
