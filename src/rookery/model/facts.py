"""The facts: everything that can happen to a session.

A fact is in the past tense and is never rejected: it records an observation, not a wish.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NewType, TypeAlias

from msgspec import Struct

Outcome: TypeAlias = Literal["completed", "failed", "killed"]

#: Rookery's own id, a UUID that never changes. The agent's own id is a ``NativeId``.
SessionId = NewType("SessionId", str)

#: How a turn ended.
How: TypeAlias = Literal["finished", "interrupted", "failed"]

#: The session id of facts that concern all sessions.
NO_SESSION = SessionId("")


class _Fact(Struct, frozen=True):
    """The base of all facts: a Struct, as forty frozen dataclasses add 20 ms at startup."""

    session: SessionId


class SessionRequested(_Fact, frozen=True):
    by: str


class SessionStarted(_Fact, frozen=True):
    """The agent has reported that it is up."""

    model: str = ""
    transcript_path: str = ""


class SessionFound(_Fact, frozen=True):
    """A running agent that Rookery did not start was discovered."""


class TranscriptFound(_Fact, frozen=True):
    """The transcript was located without the agent reporting its path."""

    path: str


class SessionRecovered(_Fact, frozen=True):
    """The session was still running when the daemon restarted."""


class OutputMissed(_Fact, frozen=True):
    """The agent printed more output than could be kept."""

    reason: str


class ProgramContinued(_Fact, frozen=True):
    """Rookery continued a program that Ctrl-z had suspended and no shell could continue."""


class MessageWritten(_Fact, frozen=True):
    """A message for the session was accepted and is not yet delivered."""

    sender: str
    alone: bool = False  #: not joined with other messages: its sender waits for its answer
    repeats: int = 0  #: the message whose text is sent again; 0 if it is new


class MessageWithdrawn(_Fact, frozen=True):
    """A message was taken back, or expired, before anything of it was sent."""

    number: int  #: of the message
    by: str


class MessageEdited(_Fact, frozen=True):
    """The text of a message was replaced before anything of it was sent."""

    number: int  #: of the message
    by: str


class MessagesCleared(_Fact, frozen=True):
    """Messages that failed or may not have arrived are no longer listed."""

    numbers: tuple[int, ...]
    by: str


class DeliveryWaited(_Fact, frozen=True):
    """The delivery of a message is delayed, or has failed, for this reason."""

    reason: str
    code: str = ""  #: a ``BlockedReason``, if it is delayed


class DeliveryDoubted(_Fact, frozen=True):
    """A message was sent, and its arrival was not confirmed."""

    parcel: int


class CommandTaken(_Fact, frozen=True):
    """The agent's program has executed a command itself, without a turn."""

    parcel: int


class KeysPressed(_Fact, frozen=True):
    """Keys were pressed on request, or are about to be pressed to answer a dialog."""

    keys: str
    by: str
    request: str = ""  #: the request that they answer


class KeysWithheld(_Fact, frozen=True):
    """The keys of an answer were not pressed, for this reason."""

    request: str
    reason: str


class AnswerTaken(_Fact, frozen=True):
    """An answer has reached the agent: through its hook, or by keys that closed its dialog."""

    request: str


class InputLeft(_Fact, frozen=True):
    """A request was left to the agent's own dialog, for this reason."""

    request: str
    reason: str


class SessionRenamed(_Fact, frozen=True):
    name: str


class ModelChosen(_Fact, frozen=True):
    """The user has chosen a model in the agent's own program."""

    model: str


class TurnStarted(_Fact, frozen=True):
    prompt: str
    turn: str = ""  #: the agent's own id; a prompt typed during a turn has the id of that turn
    resumes: bool = False  #: a background task reported to the agent; no prompt was typed
    is_taken_in: bool = False  #: the running turn with this id has already consumed the prompt
    is_only_one: bool = False  #: the agent reports it only after all earlier turns have ended


class PromptFound(_Fact, frozen=True):
    """The transcript contains the prompt of a turn whose start was seen without it."""

    prompt: str


class QueueTaken(_Fact, frozen=True):
    """The agent continues with the prompts that were typed during its last turn."""


class TurnPaused(_Fact, frozen=True):
    """The agent stopped while its background subagents continue."""

    last_words: str = ""
    turn: str = ""
    subagents: int = 0
    commands: int = 0  #: shell commands that also run in the background


class BackgroundEnded(_Fact, frozen=True):
    """The last background command of the agent has ended."""


class InputAsked(_Fact, frozen=True):
    kind: Literal["permission", "question"]
    message: str
    request: str = ""  #: the id under which a person can answer it


class InputSettled(_Fact, frozen=True):
    """The dialog was answered or closed."""

    by: str = ""
    rests: bool = False  #: no turn runs: the dialog was a menu of the program
    tool: str = ""  #: only requests of this tool were settled; empty if all were


class CallDecided(_Fact, frozen=True):
    """A tool call was allowed or denied, or a question was answered."""

    tool: str
    decision: Literal["allow", "deny", "answer"]
    by: str
    rule: str = ""
    request: str = ""


class ToolCalled(_Fact, frozen=True):
    """A tool is about to run, if it is allowed."""

    tool: str
    argument: str = ""  #: such as its command or its file; bounded
    call_id: str = ""  #: the agent's own id of the call, if it reports one


class ToolUsed(_Fact, frozen=True):
    tool: str
    call: str = ""  #: the digest of the call, equal to the digest in the request about it
    subagent: str = ""  #: the id of the subagent that used it, if any
    call_id: str = ""  #: the agent's own id of the call, if it reports one
    folder: str = ""  #: the folder that it ran in, if the agent reports it
    failure: str = ""  #: why it failed, in one line; empty if it is not known to have failed


#: The event of a ``Noted`` that says that a driven agent has reported nothing for a while.
SILENT = "silent"


class Noted(_Fact, frozen=True):
    """The agent reported an event that does not change the state: a sign of life."""

    event: str
    detail: str = ""


class UsageReported(_Fact, frozen=True):
    """The agent reports what it has used since its last report."""

    input_tokens: int  #: including what was read from or written to a cache
    output_tokens: int
    cost: int | None = None  #: micro-dollars
    turn: int | None = None  #: the entry that began the turn; none means the last turn
    estimated: bool = False  #: the cost was computed from configured prices
    cache_read: int = 0  #: the part of the input that was read from a cache
    cache_write: int = 0  #: the part of the input that was written to a cache
    context: int = 0  #: tokens in the context of the conversation now; 0 if not reported

    @property
    def estimated_cost(self) -> int:
        return (self.cost or 0) if self.estimated else 0


class EvidenceDisagreed(_Fact, frozen=True):
    source: str
    claim: str
    believed: str


class SessionLabelled(_Fact, frozen=True):
    label: str


class SessionTagged(_Fact, frozen=True):
    """A person has given a session these tags, which replace its former ones."""

    tags: tuple[str, ...]


class SessionHidden(_Fact, frozen=True):
    """Lists leave the session out while it needs no person."""


class SessionUnhidden(_Fact, frozen=True):
    pass


class TurnEnded(_Fact, frozen=True):
    last_words: str = ""
    how: How = "finished"
    turn: str = ""  #: the agent's own id
    commands: int = 0  #: shell commands that still run in the background
    fails_session: bool = False  #: the session fails with it, and its end follows


class ConversationLeft(_Fact, frozen=True):
    """The agent begins another conversation, under a new native id."""

    reason: str


class RingClosed(_Fact, frozen=True):
    """This session is part of a cycle of sessions that wait for each other."""

    ring: str  #: the names of the sessions in the cycle


class WaitExpired(_Fact, frozen=True):
    """A wait of this session timed out, or nothing was left in it to wait for."""

    still: str  #: the names of the sessions that it still waited for


class RelayJoined(_Fact, frozen=True):
    relay: str
    name: str
    number: int


class RelayLeft(_Fact, frozen=True):
    relay: str
    reason: str


class ForegroundEntered(_Fact, frozen=True):
    """The channel shows the session's output live from now on."""

    channel: str
    by: str


class ForegroundLeft(_Fact, frozen=True):
    channel: str
    by: str


class DeliveriesHeld(_Fact, frozen=True):
    """No message is delivered to any session until deliveries are released."""

    by: str


class DeliveriesReleased(_Fact, frozen=True):
    by: str


class WorkspaceProgressed(_Fact, frozen=True):
    """A step of making the session's worktree has begun."""

    doing: str


class WorkspaceReady(_Fact, frozen=True):
    """The session's worktree was made; the session can be started in it."""

    path: str
    branch: str
    base: str = ""


class WorkspaceKept(_Fact, frozen=True):
    """No session works in the worktree any more, and it is kept for this reason."""

    path: str
    reason: str


class WorkspaceRemoved(_Fact, frozen=True):
    path: str
    reason: str = ""  #: what became of its branch, or why it was removed


class WorkspacePruneRequested(_Fact, frozen=True):
    """A kept worktree is to be checked again, or removed whatever is in it."""

    path: str
    by: str
    force: bool = False


class WorkspaceLanded(_Fact, frozen=True):
    """The session's commits are in another branch."""

    branch: str
    into: str
    commit: str
    by: str = ""


class OverlapFound(_Fact, frozen=True):
    """Two live sessions have changed the same file of one repository."""

    other: str
    path: str  #: relative to the root of the working tree
    repository: str


class StartWaited(_Fact, frozen=True):
    """The session is not started yet, for this reason."""

    reason: str


class BudgetExceeded(_Fact, frozen=True):
    """The session has ended because its budget was used up."""

    reason: str


class EndRequested(_Fact, frozen=True):
    by: str


class SessionEnded(_Fact, frozen=True):
    reason: str
    outcome: Outcome = "completed"
    lost: bool = False  #: because the daemon, tmux or the computer ended


Fact: TypeAlias = (
    SessionRequested
    | SessionStarted
    | SessionFound
    | TranscriptFound
    | SessionRecovered
    | OutputMissed
    | ProgramContinued
    | MessageWritten
    | MessageWithdrawn
    | MessageEdited
    | MessagesCleared
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
    | SessionTagged
    | SessionHidden
    | SessionUnhidden
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
    | WorkspaceProgressed
    | WorkspaceReady
    | WorkspaceKept
    | WorkspaceRemoved
    | WorkspacePruneRequested
    | WorkspaceLanded
    | OverlapFound
    | StartWaited
    | BudgetExceeded
    | EndRequested
    | SessionEnded
)

#: The names of the facts on disk and on the wire. Add to it; never rename.
KINDS: Mapping[str, type[Fact]] = {
    "session-requested": SessionRequested,
    "session-started": SessionStarted,
    "session-found": SessionFound,
    "transcript-found": TranscriptFound,
    "session-recovered": SessionRecovered,
    "output-missed": OutputMissed,
    "program-continued": ProgramContinued,
    "message-written": MessageWritten,
    "message-withdrawn": MessageWithdrawn,
    "message-edited": MessageEdited,
    "messages-cleared": MessagesCleared,
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
    "session-tagged": SessionTagged,
    "session-hidden": SessionHidden,
    "session-unhidden": SessionUnhidden,
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
    "workspace-progressed": WorkspaceProgressed,
    "workspace-ready": WorkspaceReady,
    "workspace-kept": WorkspaceKept,
    "workspace-removed": WorkspaceRemoved,
    "workspace-prune-requested": WorkspacePruneRequested,
    "workspace-landed": WorkspaceLanded,
    "overlap-found": OverlapFound,
    "start-waited": StartWaited,
    "budget-exceeded": BudgetExceeded,
    "end-requested": EndRequested,
    "session-ended": SessionEnded,
}
