"""What can happen to a session.

A fact is past tense and never wrong: it says what was seen, not what we want.

Structs, not dataclasses: to make forty frozen dataclasses takes 20 ms of every start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NewType, TypeAlias

from msgspec import Struct

Outcome: TypeAlias = Literal["completed", "failed", "killed"]

#: Ours: a UUID that never changes. What the agent calls itself is a ``NativeId``.
SessionId = NewType("SessionId", str)

#: How a turn ended.
How: TypeAlias = Literal["finished", "interrupted", "failed"]

#: Of no session in particular.
HOUSE = SessionId("")


class SessionRequested(Struct, frozen=True):
    session: SessionId
    by: str


class SessionStarted(Struct, frozen=True):  # the agent is really up
    session: SessionId
    model: str = ""
    transcript_path: str = ""


class SessionFound(Struct, frozen=True):  # it was there, and we did not know it
    session: SessionId


class TranscriptFound(
    Struct, frozen=True
):  # where its agent writes down what is said, and it did not tell itself
    session: SessionId
    path: str


class SessionRecovered(Struct, frozen=True):  # it lived on while the daemon was away
    session: SessionId


class OutputMissed(Struct, frozen=True):  # more was printed than could be kept
    session: SessionId
    reason: str


class MessageWritten(Struct, frozen=True):  # and not yet heard
    session: SessionId
    sender: str


class DeliveryWaited(Struct, frozen=True):  # words wait, and this is why
    session: SessionId
    reason: str


class DeliveryDoubted(Struct, frozen=True):  # words went out, and nobody saw them arrive
    session: SessionId
    parcel: int


class CommandTaken(
    Struct, frozen=True
):  # by the agent's program itself, which makes no turn of it
    session: SessionId
    parcel: int


class KeysPressed(
    Struct, frozen=True
):  # by hand, whatever was on the screen; or about to be, as an answer
    session: SessionId
    keys: str
    by: str
    request: str = ""  #: that they answer


class KeysWithheld(Struct, frozen=True):  # an answer was not pressed, and this is why
    session: SessionId
    request: str
    reason: str


class AnswerTaken(
    Struct, frozen=True
):  # an answer by keys was seen to take effect: its dialog is gone
    session: SessionId
    request: str


class InputLeft(
    Struct, frozen=True
):  # what was asked is left to the agent's own dialog, and this is why
    session: SessionId
    request: str
    reason: str


class SessionRenamed(Struct, frozen=True):
    session: SessionId
    name: str


class ModelChosen(Struct, frozen=True):  # by the person, in the agent's own program
    session: SessionId
    model: str


class TurnStarted(Struct, frozen=True):
    session: SessionId
    prompt: str
    turn: str = ""  #: the agent's own id; a prompt typed during a turn has the id of that turn
    resumes: bool = False  #: a background task of the agent has reported, no prompt was typed
    is_taken_in: bool = False  #: a turn of that id that runs has this prompt already
    is_only_one: bool = False  #: the agent tells of it when every turn before is over


class PromptFound(
    Struct, frozen=True
):  # in the transcript, of a turn that was only seen to begin
    session: SessionId
    prompt: str


class QueueTaken(
    Struct, frozen=True
):  # the agent goes on with the prompts that were typed during its last turn
    session: SessionId


class TurnPaused(Struct, frozen=True):  # the agent stopped, and its background subagents go on
    session: SessionId
    last_words: str = ""
    turn: str = ""
    subagents: int = 0
    commands: int = 0  #: that run in the background, too


class BackgroundEnded(
    Struct, frozen=True
):  # no command of the agent runs in the background any more
    session: SessionId


class InputAsked(Struct, frozen=True):
    session: SessionId
    kind: Literal["permission", "question"]
    message: str
    request: str = ""  #: where a person can answer it


class InputSettled(Struct, frozen=True):  # nothing is asked any more, whoever answered
    session: SessionId
    by: str = ""
    rests: bool = False  #: no turn runs: what was asked was a menu of the program


class CallDecided(
    Struct, frozen=True
):  # whether a tool call may run, or what was answered to a question
    session: SessionId
    tool: str
    decision: Literal["allow", "deny", "answer"]
    by: str
    rule: str = ""
    request: str = ""


class ToolCalled(Struct, frozen=True):  # it is about to run, if it may
    session: SessionId
    tool: str


class ToolUsed(Struct, frozen=True):
    session: SessionId
    tool: str
    call: str = ""  #: the very call: what was asked about it has the same
    subagent: str = ""  #: the id of the subagent that used it, if it was one


class Noted(Struct, frozen=True):  # its agent told something that moves nothing: a sign of life
    session: SessionId
    event: str
    detail: str = ""


class UsageReported(Struct, frozen=True):  # by the agent itself, since the last report
    session: SessionId
    input_tokens: int
    output_tokens: int
    cost: int | None = None  #: micro-dollars
    turn: int | None = None  #: the entry that began it; none: the last one


class EvidenceDisagreed(Struct, frozen=True):
    session: SessionId
    source: str
    claim: str
    believed: str


class SessionLabelled(Struct, frozen=True):
    session: SessionId
    label: str


class TurnEnded(Struct, frozen=True):
    session: SessionId
    last_words: str = ""
    how: How = "finished"
    turn: str = ""  #: the agent's own id
    commands: int = 0  #: that still run in the background


class ConversationLeft(Struct, frozen=True):  # the agent begins another under a new native id
    session: SessionId
    reason: str


class RingClosed(Struct, frozen=True):  # sessions wait for each other, this one among them
    session: SessionId
    ring: str  #: their names


class WaitExpired(Struct, frozen=True):  # what a session waits for did not come in time
    session: SessionId
    still: str  #: the names of those that it waits for in vain


class RelayJoined(Struct, frozen=True):
    session: SessionId
    relay: str
    name: str
    number: int


class RelayLeft(Struct, frozen=True):
    session: SessionId
    relay: str
    reason: str


class ForegroundEntered(Struct, frozen=True):  # what it says is shown there as it comes
    session: SessionId
    channel: str
    by: str


class ForegroundLeft(Struct, frozen=True):
    session: SessionId
    channel: str
    by: str


class DeliveriesHeld(
    Struct, frozen=True
):  # all of them: nothing leaves until they are released
    session: SessionId
    by: str


class DeliveriesReleased(Struct, frozen=True):
    session: SessionId
    by: str


class EndRequested(Struct, frozen=True):
    session: SessionId
    by: str


class SessionEnded(Struct, frozen=True):
    session: SessionId
    reason: str
    outcome: Outcome = "completed"


Fact: TypeAlias = (
    SessionRequested
    | SessionStarted
    | SessionFound
    | TranscriptFound
    | SessionRecovered
    | OutputMissed
    | MessageWritten
    | DeliveryWaited
    | DeliveryDoubted
    | CommandTaken
    | KeysPressed
    | KeysWithheld
    | AnswerTaken
    | InputLeft
    | SessionRenamed
    | ModelChosen
    | TurnStarted
    | PromptFound
    | QueueTaken
    | TurnPaused
    | BackgroundEnded
    | InputAsked
    | InputSettled
    | CallDecided
    | ToolCalled
    | ToolUsed
    | Noted
    | UsageReported
    | EvidenceDisagreed
    | SessionLabelled
    | TurnEnded
    | ConversationLeft
    | RingClosed
    | WaitExpired
    | RelayJoined
    | RelayLeft
    | ForegroundEntered
    | ForegroundLeft
    | DeliveriesHeld
    | DeliveriesReleased
    | EndRequested
    | SessionEnded
)

#: The names facts carry on disk and on the wire. Add to it; never rename.
KINDS: Mapping[str, type[Fact]] = {
    "session-requested": SessionRequested,
    "session-started": SessionStarted,
    "session-found": SessionFound,
    "transcript-found": TranscriptFound,
    "session-recovered": SessionRecovered,
    "output-missed": OutputMissed,
    "message-written": MessageWritten,
    "delivery-waited": DeliveryWaited,
    "delivery-doubted": DeliveryDoubted,
    "command-taken": CommandTaken,
    "keys-pressed": KeysPressed,
    "keys-withheld": KeysWithheld,
    "answer-taken": AnswerTaken,
    "input-left": InputLeft,
    "session-renamed": SessionRenamed,
    "model-chosen": ModelChosen,
    "turn-started": TurnStarted,
    "prompt-found": PromptFound,
    "queue-taken": QueueTaken,
    "turn-paused": TurnPaused,
    "background-ended": BackgroundEnded,
    "input-asked": InputAsked,
    "input-settled": InputSettled,
    "call-decided": CallDecided,
    "tool-called": ToolCalled,
    "tool-used": ToolUsed,
    "noted": Noted,
    "usage-reported": UsageReported,
    "evidence-disagreed": EvidenceDisagreed,
    "session-labelled": SessionLabelled,
    "turn-ended": TurnEnded,
    "conversation-left": ConversationLeft,
    "ring-closed": RingClosed,
    "wait-expired": WaitExpired,
    "relay-joined": RelayJoined,
    "relay-left": RelayLeft,
    "foreground-entered": ForegroundEntered,
    "foreground-left": ForegroundLeft,
    "deliveries-held": DeliveriesHeld,
    "deliveries-released": DeliveriesReleased,
    "end-requested": EndRequested,
    "session-ended": SessionEnded,
}
