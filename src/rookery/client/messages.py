"""Messages: send them, and see what became of them."""

from __future__ import annotations

from msgspec import Struct, to_builtins

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import SessionInfo
from rookery.client.transport import Client
from rookery.client.turns import MessageProgress, TurnInfo, Undelivered

#: Seconds for a message to leave; after that it is reported as waiting.
DEPARTURE_TIMEOUT_S = 1.0


class MessageInfo(MessageProgress, frozen=True):
    id: int = 0
    recipient: str = ""
    removed: int = 0
    changed: str = ""
    repeats: int | None = None
    expires_at: str | None = None
    urgency: str = ""
    way: str = ""
    receipt: int | None = None


class DeliveryInfo(DaemonAnswer, frozen=True):
    message: MessageInfo = MessageInfo()
    session: SessionInfo = SessionInfo()
    turn: TurnInfo | None = None
    holding: bool = False

    @property
    def is_command(self) -> bool:
        """Return whether the agent's program took the message without a turn."""
        return self.message.step == "acknowledged" and self.turn is None

    @property
    def is_settled(self) -> bool:
        is_lost = self.message.step in {"failed", "unsure", "withdrawn"}
        return is_lost or self.is_command or bool(self.turn and self.turn.ended_at)


class LetterInfo(Undelivered, frozen=True):
    """A message of the inbox."""

    message: int = 0
    session: str = ""
    author: str = ""
    written_at: str = ""
    expires_at: str | None = None
    repeats: int | None = None
    cleared_at: str | None = None
    way: str = ""


class InboxInfo(DaemonAnswer, frozen=True):
    letters: tuple[LetterInfo, ...] = ()
    holding: bool = False


class ClearedInfo(DaemonAnswer, frozen=True):
    """The messages that are no longer listed, and those that were withdrawn."""

    cleared: tuple[int, ...] = ()
    withdrawn: tuple[int, ...] = ()


class HoldingInfo(DaemonAnswer, frozen=True):
    holding: bool = False


class MessageOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a message is delivered."""

    alone: bool = False  #: as a turn of its own, not joined with others
    now: bool = False  #: before all messages that wait, even during a turn
    expire: float | None = None  #: seconds after which it is withdrawn if it was not sent


#: Delivered once the session is idle, together with other messages that wait.
USUAL = MessageOptions()


def send_message(
    daemon: Client, session: str, words: str, options: MessageOptions = USUAL
) -> MessageInfo:
    given = to_builtins(options)
    return read(MessageInfo, daemon.post("sessions", session, "messages", words=words, **given))


def await_departure(daemon: Client, message: int) -> DeliveryInfo:
    """Wait a moment until a message was sent, or until the reason why it waits is known."""
    answer = daemon.get("messages", str(message), until="left", timeout=DEPARTURE_TIMEOUT_S)
    return read(DeliveryInfo, answer)


def await_outcome(
    daemon: Client, message: int, *, timeout: float, known_since: str | None = None
) -> DeliveryInfo:
    """Wait until a message is answered or lost, or until its session asks something.

    A request that has been open since ``known_since`` does not end the wait.
    """
    parameters = {"known": known_since} if known_since else {}
    answer = daemon.get("messages", str(message), timeout=timeout, until="input", **parameters)
    return read(DeliveryInfo, answer)


def show_answer(daemon: Client, message: int, *, timeout: float) -> TurnInfo:
    """Return the turn that answers a message."""
    return read(TurnInfo, daemon.get("messages", str(message), "answer", timeout=timeout))


def show_inbox(daemon: Client, session: str = "", *, everything: bool = False) -> InboxInfo:
    """List undelivered messages; with ``everything`` also withdrawn and cleared ones."""
    more = {"all": True} if everything else {}
    return read(InboxInfo, daemon.get("inbox", session=session, **more))


def withdraw_message(daemon: Client, message: int) -> MessageInfo:
    return read(MessageInfo, daemon.post("messages", str(message), "withdraw"))


def edit_message(daemon: Client, message: int, words: str) -> MessageInfo:
    return read(MessageInfo, daemon.post("messages", str(message), "words", words=words))


def resend_message(daemon: Client, message: int, *, sure: bool) -> MessageInfo:
    """Send a message again; ``sure``: also if it may have arrived."""
    return read(MessageInfo, daemon.post("messages", str(message), "resend", sure=sure))


def clear_inbox(daemon: Client, session: str, *, waiting: bool) -> ClearedInfo:
    """Stop listing messages; ``waiting``: also withdraw those that wait."""
    answer = daemon.post("inbox", "clear", session=session, waiting=waiting)
    return read(ClearedInfo, answer)


def hold_messages(daemon: Client) -> HoldingInfo:
    return read(HoldingInfo, daemon.post("hold"))


def release_messages(daemon: Client) -> HoldingInfo:
    return read(HoldingInfo, daemon.post("release"))
