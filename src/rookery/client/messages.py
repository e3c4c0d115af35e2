"""Messages: send them, and see what became of them."""

from __future__ import annotations

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import MessageProgress, SessionInfo, TurnInfo, Undelivered
from rookery.client.transport import Client


class MessageInfo(MessageProgress, frozen=True):
    id: int = 0
    recipient: str = ""
    removed: int = 0
    changed: str = ""


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
        is_lost = self.message.step in {"failed", "unsure"}
        return is_lost or self.is_command or bool(self.turn and self.turn.ended_at)


class LetterInfo(Undelivered, frozen=True):
    """A message of the inbox."""

    message: int = 0
    session: str = ""
    author: str = ""
    written_at: str = ""


class InboxInfo(DaemonAnswer, frozen=True):
    letters: tuple[LetterInfo, ...] = ()
    holding: bool = False


class HoldingInfo(DaemonAnswer, frozen=True):
    holding: bool = False


def send_message(
    daemon: Client, session: str, words: str, *, alone: bool = False
) -> MessageInfo:
    """Send a message; ``alone`` gives it a turn of its own."""
    own_turn = {"alone": True} if alone else {}
    return read(
        MessageInfo, daemon.post("sessions", session, "messages", words=words, **own_turn)
    )


def await_departure(daemon: Client, message: int, *, timeout: float) -> DeliveryInfo:
    """Wait until a message left, or it is known why it did not."""
    answer = daemon.get("messages", str(message), until="left", timeout=timeout)
    return read(DeliveryInfo, answer)


def await_outcome(
    daemon: Client, message: int, *, timeout: float, known_since: str | None = None
) -> DeliveryInfo:
    """Wait until a message is answered, lost, or its session asks something.

    What the session asks since ``known_since`` does not end the wait.
    """
    parameters = {"known": known_since} if known_since else {}
    answer = daemon.get("messages", str(message), timeout=timeout, until="input", **parameters)
    return read(DeliveryInfo, answer)


def show_answer(daemon: Client, message: int, *, timeout: float) -> TurnInfo:
    """Return the turn that answers a message."""
    return read(TurnInfo, daemon.get("messages", str(message), "answer", timeout=timeout))


def show_inbox(daemon: Client, session: str = "") -> InboxInfo:
    return read(InboxInfo, daemon.get("inbox", session=session))


def hold_messages(daemon: Client) -> HoldingInfo:
    return read(HoldingInfo, daemon.post("hold"))


def release_messages(daemon: Client) -> HoldingInfo:
    return read(HoldingInfo, daemon.post("release"))
