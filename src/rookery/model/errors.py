"""The exceptions of Rookery; most docstrings begin the messages that users see.

RookeryError
├── CommandRefused
│   ├── BadInput
│   │   ├── ProjectUnknown
│   │   ├── AgentUnknown
│   │   ├── ProfileUnknown
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
│   ├── LandingConflict
│   └── Forbidden
├── ProgramFailed
├── GitFailed
├── StillWorking
├── PersonNeeded
├── HookUnreadable
├── NotificationFailed
│   └── NotificationDoubted
├── ConfigBroken
├── HomeUnusable
├── AlreadyRunning
├── StoreBroken
├── StoreLost
├── CommitFailed
│   ├── DiskFull
│   └── StoreLocked
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

import re

from rookery.model.obstacles import BlockedReason, Obstacle


class RookeryError(Exception):
    """Something went wrong in Rookery."""

    def __init__(self, *words: object, **details: str) -> None:
        super().__init__(*words)
        self.details = details  #: machine-readable, for clients that do not parse the message

    def __str__(self) -> str:
        return " ".join([type(self).__doc__ or "", *map(str, self.args)])


def code_of(error: type[RookeryError]) -> str:
    """Return an error's code for programs: ``session-unknown`` for ``SessionUnknown``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", error.__name__).lower()


class CommandRefused(RookeryError):
    """The command was refused; the message of the error says why."""

    def __str__(self) -> str:
        is_plain = type(self) is CommandRefused
        return " ".join(map(str, self.args)) if is_plain else super().__str__()


class BadInput(CommandRefused):
    """Invalid input:"""


class ProjectUnknown(BadInput):
    """The project is not an existing folder:"""


class AgentUnknown(BadInput):
    """Unknown agent:"""


class ProfileUnknown(BadInput):
    """Unknown profile:"""


class ProgramMissing(BadInput):
    """The agent's program was not found:"""


class WordsRefused(BadInput):
    """This text cannot be sent:"""


class SessionUnknown(CommandRefused):
    """There is no session"""


class SessionAmbiguous(CommandRefused):
    """More than one session matches; give the name or id of one:"""


class SessionOver(CommandRefused):
    """The session has ended:"""


class NameTaken(CommandRefused):
    """A live session already has the name"""


class LimitReached(CommandRefused):
    """The limit of live sessions is reached:"""


class RateExceeded(CommandRefused):
    """Too many requests in a short time:"""


class BacklogFull(CommandRefused):
    """Too many messages are waiting:"""


class KeyReused(CommandRefused):
    """This Idempotency-Key was used for another request:"""


class KeysUnsure(CommandRefused):
    """The keys may have been pressed, and were not pressed again. Check the screen first:"""


class RelayUnknown(CommandRefused):
    """There is no such relay:"""


class RequestUnknown(CommandRefused):
    """There is no open request"""


class RequestAmbiguous(CommandRefused):
    """The session has several open requests; give the id of one:"""


class MessageUnknown(CommandRefused):
    """There is no such message:"""


class TokenUnknown(CommandRefused):
    """There is no valid token"""


class TokenRevoked(CommandRefused):
    """This token is no longer valid."""


class RequestClosed(CommandRefused):
    """This request was already answered:"""


class LandingConflict(CommandRefused):
    """Nothing was landed, because both sides changed the same lines:"""


class Forbidden(CommandRefused):
    """Not permitted:"""


class ProgramFailed(RookeryError):
    """A program failed:"""


class GitFailed(RookeryError):
    """Git failed:"""


class StillWorking(RookeryError):
    """Timed out; nothing was stopped:"""


class PersonNeeded(RookeryError):
    """The agent needs a person, and none is there."""

    def __str__(self) -> str:
        return str(self.args[0])


class HookUnreadable(RookeryError):
    """The hook call cannot be processed:"""


class NotificationFailed(RookeryError):
    """The notification was not sent:"""


class NotificationDoubted(NotificationFailed):
    """It is not known whether the notification was sent:"""


class ConfigBroken(RookeryError):
    """The configuration is invalid:"""


class HomeUnusable(RookeryError):
    """Rookery cannot use its home:"""


class AlreadyRunning(RookeryError):
    """A daemon is already running for this home:"""


class StoreBroken(RookeryError):
    """The database cannot be used:"""


class StoreLost(RookeryError):
    """The database was deleted or replaced while in use; nothing more is accepted:"""


class CommitFailed(RookeryError):
    """It is not known whether this was saved; check, then try again:"""


class DiskFull(CommitFailed):
    """The disk is full; nothing was saved. Free some space, then try again:"""


class StoreLocked(CommitFailed):
    """Another program has locked the database; nothing was saved. Try again later:"""


class RuntimeFailed(RookeryError):
    """The runtime failed, or its result is unknown:"""


class RuntimeUnreachable(RuntimeFailed):
    """The runtime cannot be reached, and its result is unknown:"""


class NoTerminal(RuntimeFailed):
    """The session has no terminal:"""


class ScreenUnread(RuntimeFailed):
    """The screen cannot be read now. Check whether the disk is full."""


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
    """The daemon's answer cannot be read; its version may differ. Check:  rookery status"""


class Answered(RookeryError):
    """The daemon refused the request; its message is shown as it is."""

    def __init__(self, code: str, message: str, **details: str) -> None:
        super().__init__(message, **details)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])
