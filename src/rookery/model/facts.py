"""What can happen to a session.

A fact is past tense and never wrong: it says what was seen, not what we want.
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
NO_SESSION = SessionId("")


class _Fact(Struct, frozen=True):
    """A struct, not a dataclass: to make forty frozen dataclasses takes 20 ms of a start."""

    session: SessionId


class SessionRequested(_Fact, frozen=True):
    by: str


class SessionStarted(_Fact, frozen=True):
    """The agent is really up."""

    model: str = ""
    transcript_path: str = ""


class SessionFound(_Fact, frozen=True):
    """It was there, and we did not know it."""


class TranscriptFound(_Fact, frozen=True):
    """Where its agent writes down what is said, and it did not tell itself."""

    path: str


class SessionRecovered(_Fact, frozen=True):
    """It lived on while the daemon was away."""


class OutputMissed(_Fact, frozen=True):
    """More was printed than could be kept."""

    reason: str


class MessageWritten(_Fact, frozen=True):
    """A message was written for it, which it has not got yet."""

    sender: str
    alone: bool = False  #: it is joined with no others: its sender waits for its own answer


class DeliveryWaited(_Fact, frozen=True):
    """Words wait, and this is why."""

    reason: str


class DeliveryDoubted(_Fact, frozen=True):
    """Words went out, and nobody saw them arrive."""

    parcel: int


class CommandTaken(_Fact, frozen=True):
    """The agent's own program has taken a command, and makes no turn of it."""

    parcel: int


class KeysPressed(_Fact, frozen=True):
    """Keys were pressed by hand, or are about to be, as an answer."""

    keys: str
    by: str
    request: str = ""  #: that they answer


class KeysWithheld(_Fact, frozen=True):
    """An answer was not pressed, and this is why."""

    request: str
    reason: str


class AnswerTaken(_Fact, frozen=True):
    """An answer has reached its agent: its hook was told, or keys have closed its dialog."""

    request: str


class InputLeft(_Fact, frozen=True):
    """What was asked is left to the agent's own dialog, and this is why."""

    request: str
    reason: str


class SessionRenamed(_Fact, frozen=True):
    name: str


class ModelChosen(_Fact, frozen=True):
    """Its person has chosen a model in the agent's own program."""

    model: str


class TurnStarted(_Fact, frozen=True):
    prompt: str
    turn: str = ""  #: the agent's own id; a prompt typed during a turn has the id of that turn
    resumes: bool = False  #: a background task of the agent has reported, no prompt was typed
    is_taken_in: bool = False  #: a turn of that id that runs has this prompt already
    is_only_one: bool = False  #: the agent tells of it when every turn before is over


class PromptFound(_Fact, frozen=True):
    """The transcript has the prompt of a turn that was only seen to begin."""

    prompt: str


class QueueTaken(_Fact, frozen=True):
    """The agent goes on with the prompts that were typed during its last turn."""


class TurnPaused(_Fact, frozen=True):
    """The agent stopped, and its background subagents go on."""

    last_words: str = ""
    turn: str = ""
    subagents: int = 0
    commands: int = 0  #: that run in the background, too


class BackgroundEnded(_Fact, frozen=True):
    """No command of the agent runs in the background any more."""


class InputAsked(_Fact, frozen=True):
    kind: Literal["permission", "question"]
    message: str
    request: str = ""  #: where a person can answer it


class InputSettled(_Fact, frozen=True):
    """Nothing is asked any more, whoever answered."""

    by: str = ""
    rests: bool = False  #: no turn runs: what was asked was a menu of the program


class CallDecided(_Fact, frozen=True):
    """It was decided whether a tool call may run, or a question was answered."""

    tool: str
    decision: Literal["allow", "deny", "answer"]
    by: str
    rule: str = ""
    request: str = ""


class ToolCalled(_Fact, frozen=True):
    """A tool is about to run, if it may."""

    tool: str


class ToolUsed(_Fact, frozen=True):
    tool: str
    call: str = ""  #: the very call: what was asked about it has the same
    subagent: str = ""  #: the id of the subagent that used it, if it was one
    call_id: str = ""  #: the agent's own id of the call, if it tells one
    folder: str = ""  #: the folder that it ran in, where the agent tells that


class Noted(_Fact, frozen=True):
    """Its agent told something that moves nothing: a sign of life."""

    event: str
    detail: str = ""


class UsageReported(_Fact, frozen=True):
    """The agent reports what it has used since its last report."""

    input_tokens: int
    output_tokens: int
    cost: int | None = None  #: micro-dollars
    turn: int | None = None  #: the entry that began it; none: the last one


class EvidenceDisagreed(_Fact, frozen=True):
    source: str
    claim: str
    believed: str


class SessionLabelled(_Fact, frozen=True):
    label: str


class TurnEnded(_Fact, frozen=True):
    last_words: str = ""
    how: How = "finished"
    turn: str = ""  #: the agent's own id
    commands: int = 0  #: that still run in the background


class ConversationLeft(_Fact, frozen=True):
    """The agent begins another conversation, under a new native id."""

    reason: str


class RingClosed(_Fact, frozen=True):
    """Sessions wait for each other, this one among them."""

    ring: str  #: their names


class WaitExpired(_Fact, frozen=True):
    """What a session waits for did not come in time."""

    still: str  #: the names of those that it waits for in vain


class RelayJoined(_Fact, frozen=True):
    relay: str
    name: str
    number: int


class RelayLeft(_Fact, frozen=True):
    relay: str
    reason: str


class ForegroundEntered(_Fact, frozen=True):
    """What it says is shown there as it comes."""

    channel: str
    by: str


class ForegroundLeft(_Fact, frozen=True):
    channel: str
    by: str


class DeliveriesHeld(_Fact, frozen=True):
    """No message leaves, to any session, until they are released."""

    by: str


class DeliveriesReleased(_Fact, frozen=True):
    by: str


class EndRequested(_Fact, frozen=True):
    by: str


class SessionEnded(_Fact, frozen=True):
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
