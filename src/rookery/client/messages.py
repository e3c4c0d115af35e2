"""Messages: send them, and see what became of them."""

from __future__ import annotations

from rookery.client.answers import Answer, read
from rookery.client.sessions import Session, Turn, Undelivered
from rookery.client.transport import Client


class Message(Answer, frozen=True):
    id: int = 0
    recipient: str = ""
    step: str = ""
    removed: int = 0
    changed: str = ""
    waits_for: str = ""
    obstacle: str | None = None


class Delivery(Answer, frozen=True):
    message: Message = Message()
    session: Session = Session()
    turn: Turn | None = None
    holding: bool = False

    @property
    def is_command(self) -> bool:
        """Return whether the agent's program took the message without a turn."""
        return self.message.step == "acknowledged" and self.turn is None

    @property
    def is_settled(self) -> bool:
        is_lost = self.message.step in {"failed", "unsure"}
        return is_lost or self.is_command or bool(self.turn and self.turn.ended_at)


class Letter(Undelivered, frozen=True):
    """A message of the inbox."""

    message: int = 0
    session: str = ""
    author: str = ""
    written_at: str = ""


class Inbox(Answer, frozen=True):
    letters: tuple[Letter, ...] = ()
    holding: bool = False


class Holding(Answer, frozen=True):
    holding: bool = False


def send_message(daemon: Client, session: str, words: str) -> Message:
    return read(Message, daemon.post("sessions", session, "messages", words=words))


def await_departure(daemon: Client, message: int, *, timeout: float) -> Delivery:
    """Wait until a message left, or it is known why it did not."""
    answer = daemon.get("messages", str(message), until="left", timeout=timeout)
    return read(Delivery, answer)


def await_outcome(
    daemon: Client, message: int, *, timeout: float, known_since: str | None = None
) -> Delivery:
    """Wait until a message is answered, lost, or its session asks something.

    What the session asks since ``known_since`` does not end the wait.
    """
    known = {"known": known_since} if known_since else {}
    answer = daemon.get("messages", str(message), timeout=timeout, until="input", **known)
    return read(Delivery, answer)


def show_answer(daemon: Client, message: int, *, timeout: float) -> Turn:
    """Return the turn that answers a message."""
    return read(Turn, daemon.get("messages", str(message), "answer", timeout=timeout))


def show_inbox(daemon: Client, session: str = "") -> Inbox:
    return read(Inbox, daemon.get("inbox", session=session))


def hold_messages(daemon: Client) -> Holding:
    return read(Holding, daemon.post("hold"))


def release_messages(daemon: Client) -> Holding:
    return read(Holding, daemon.post("release"))
