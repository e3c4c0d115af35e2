"""Why a message waits: a code for programs, and a detail for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BlockedReason(StrEnum):
    """Why a message cannot be delivered now."""

    # The daemon, or the session's state.
    HELD = "held"  #: all deliveries are on hold
    STARTING = "starting"  #: the session is starting
    WORKING = "working"  #: the session is in a turn
    PERMISSION = "permission"  #: the session asks for permission
    QUESTION = "question"  #: the session asks a question
    QUEUED = "queued"  #: an earlier message is being delivered
    NO_TOOLS = "no-tools"  #: the agent has not connected to Rookery's tools yet

    QUEUE_UNREAD = "queue-unread"  #: the agent's message queue cannot be read

    # The pane.
    NO_PANE = "no-pane"  #: the pane is gone with its tmux server, and the program runs on
    SCROLLING = "scrolling"  #: a person scrolls in the pane
    TYPING = "typing"  #: a person typed a moment ago
    SYNCHRONIZED = "synchronized"  #: keys would also reach other panes
    BACKGROUND = "background"  #: a shell would receive the keys
    ENDED = "ended"  #: the program has ended
    SUSPENDED = "suspended"  #: ctrl-z has suspended the program

    # The screen.
    DIALOG = "dialog"  #: a dialog is open
    OVERLAY = "overlay"  #: a menu, a list or a search is open
    NO_INPUT = "no-input"  #: no input box is on the screen
    DRAFT = "draft"  #: the input box holds a person's text
    OTHER_TEXT = "other-text"  #: the input box holds other text than the message
    HIDDEN = "hidden"  #: something covers the message in the input box
    NOT_SHOWN = "not-shown"  #: the message was typed, and the program has not drawn it yet
    NOT_TAKEN = "not-taken"  #: Enter was pressed, and the message is still in the input box
    REFUSED = "refused"  #: the message was refused, and is still in the input box


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps a message from being delivered."""

    code: BlockedReason
    detail: str
