"""The exceptions of Rookery; their docstrings begin the messages that users see.

RookeryError
├── CommandRefused
│   ├── BadInput
│   │   ├── ProjectUnknown
│   │   ├── AgentUnknown
│   │   ├── ProgramMissing
│   │   └── WordsRefused
│   ├── SessionUnknown
│   ├── SessionAmbiguous
│   ├── SessionOver
│   ├── NameTaken
│   ├── LimitReached
│   ├── RateExceeded
│   ├── BacklogFull
│   ├── KeyReused
│   ├── KeysUnsure
│   ├── RelayUnknown
│   ├── RequestUnknown
│   ├── RequestAmbiguous
│   ├── MessageUnknown
│   ├── TokenUnknown
│   ├── TokenRevoked
│   ├── RequestClosed
│   └── Forbidden
├── StillWorking
├── HookUnreadable
├── ConfigBroken
├── HomeUnusable
├── AlreadyRunning
├── StoreBroken
├── StoreLost
├── CommitFailed
│   └── DiskFull
├── RuntimeFailed
│   ├── NoTerminal
│   ├── ScreenUnread
│   ├── RuntimeUnreachable
│   └── TmuxUnusable
├── Occupied
├── NotRunning
├── TimedOut
├── Unreadable
└── Answered
"""

from __future__ import annotations

from rookery.model.obstacles import BlockedReason, Obstacle


class RookeryError(Exception):
    """Something went wrong in Rookery."""

    def __init__(self, *words: object, **details: str) -> None:
        super().__init__(*words)
        self.details = details  #: machine-readable, for clients that do not parse the message

    def __str__(self) -> str:
        return " ".join([type(self).__doc__ or "", *map(str, self.args)])


class CommandRefused(RookeryError):
    """The command cannot be carried out:"""


class BadInput(CommandRefused):
    """This cannot be taken as it is:"""


class ProjectUnknown(BadInput):
    """A session needs an existing folder to work in; this is none:"""


class AgentUnknown(BadInput):
    """There is no agent of that name:"""


class ProgramMissing(BadInput):
    """The agent's program was not found:"""


class WordsRefused(BadInput):
    """These words cannot be sent:"""


class SessionUnknown(CommandRefused):
    """There is no session called"""


class SessionAmbiguous(CommandRefused):
    """More than one session answers to that; say which:"""


class SessionOver(CommandRefused):
    """The session is over:"""


class NameTaken(CommandRefused):
    """A live session already has the name"""


class LimitReached(CommandRefused):
    """There are as many live sessions as allowed:"""


class RateExceeded(CommandRefused):
    """Too many in a short time:"""


class BacklogFull(CommandRefused):
    """Too many messages wait already:"""


class KeyReused(CommandRefused):
    """That Idempotency-Key belongs to another command:"""


class KeysUnsure(CommandRefused):
    """The keys may have been pressed already; nothing was pressed again. Look first:"""


class RelayUnknown(CommandRefused):
    """There is no such relay:"""


class RequestUnknown(CommandRefused):
    """Nothing is asked under"""


class RequestAmbiguous(CommandRefused):
    """It asks for more than one thing; name the request by its id:"""


class MessageUnknown(CommandRefused):
    """There is no such message:"""


class TokenUnknown(CommandRefused):
    """There is no valid token"""


class TokenRevoked(CommandRefused):
    """This token is no longer valid."""


class RequestClosed(CommandRefused):
    """That is decided already:"""


class Forbidden(CommandRefused):
    """That is not for you:"""


class StillWorking(RookeryError):
    """The time is up and it is not done yet; nothing was stopped:"""


class HookUnreadable(RookeryError):
    """The hook's payload lacks what its agent always sends:"""


class ConfigBroken(RookeryError):
    """The configuration cannot be used:"""


class HomeUnusable(RookeryError):
    """Rookery cannot keep its files here:"""


class AlreadyRunning(RookeryError):
    """A daemon already runs on this home:"""


class StoreBroken(RookeryError):
    """The database cannot be used:"""


class StoreLost(RookeryError):
    """The database was deleted or replaced under the daemon, which takes nothing more in:"""


class CommitFailed(RookeryError):
    """It is not known to be on disk; look, then ask again:"""


class DiskFull(CommitFailed):
    """The disk is full, and nothing was saved. Free some space, then try again:"""


class RuntimeFailed(RookeryError):
    """The runtime could not do it, or cannot say whether it did:"""


class RuntimeUnreachable(RuntimeFailed):
    """The runtime cannot be reached now, and what it did is not known:"""


class NoTerminal(RuntimeFailed):
    """The session has no terminal:"""


class ScreenUnread(RuntimeFailed):
    """Its screen cannot be read now; is the disk full?"""


class TmuxUnusable(RuntimeFailed):
    """Rookery needs tmux 3.2 or newer:"""


class Occupied(RookeryError):
    """Nothing was typed, because"""

    def __init__(self, code: BlockedReason, detail: str) -> None:
        super().__init__(detail, blocked=code)
        self.obstacle = Obstacle(code, detail)


class NotRunning(RookeryError):
    """No daemon answers. Start one with:  rookery up"""


class TimedOut(RookeryError):
    """The daemon did not answer within"""


class Unreadable(RookeryError):
    """The daemon's answer makes no sense; is it another version? Try:  rookery status"""


class Answered(RookeryError):
    """The daemon said no. What it said is for the person, word for word."""

    def __init__(self, code: str, message: str, **details: str) -> None:
        super().__init__(message, **details)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])
