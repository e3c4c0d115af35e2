"""The commands for messages: send them, ask for an answer, read the turns."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import monotonic

import click

from rookery.cli.blocked import how_to_answer, open_requests, why_blocked
from rookery.cli.completion import of_session
from rookery.cli.daemon_waits import goes_on, patiently, stoppable
from rookery.cli.exit_codes import FAILED
from rookery.cli.options import SECONDS, as_json, pass_client
from rookery.cli.prompts import prompt_of
from rookery.cli.render import HELD, complain, count, remark, reply, say, show_json
from rookery.cli.seen import note_seen
from rookery.client import Client
from rookery.client.messages import (
    DeliveryInfo,
    MessageInfo,
    await_departure,
    await_outcome,
    send_message,
    show_answer,
)
from rookery.client.sessions import (
    MessageProgress,
    SessionInfo,
    TurnInfo,
)
from rookery.model.errors import NotRunning, TimedOut
from rookery.model.reason_texts import first_line

#: Seconds for a message to leave; after that it is reported as waiting.
DEPARTURE_TIMEOUT_S = 1.0

#: Steps in which a message no longer waits.
_LEFT = frozenset({"submitted", "acknowledged", "unsure", "failed"})


@click.command()
@as_json
@of_session
@click.argument("words", nargs=-1, required=True)
@pass_client
def send(daemon: Client, *, name: str, words: tuple[str, ...], as_json: bool) -> None:
    """Send a message to a session, which gets it once it is idle. "-" reads standard input.

    Messages that wait for the same session are joined and answered in one turn, except those
    of "ask": each of these is a turn of its own.

    Other users of this computer can see the arguments of a command, but not standard input.
    """
    sent = send_message(daemon, name, prompt_of(words))
    progress = _wait_for_departure(daemon, sent)
    reply(progress.message, " ".join([progress.fate, *_changes(sent)]), as_json=as_json)


def _changes(sent: MessageInfo) -> Iterator[str]:
    """Yield a sentence for each way in which the message does not arrive as it was given."""
    if sent.removed:
        were = "was" if sent.removed == 1 else "were"
        yield f"{count(sent.removed, 'control character')} {were} removed."
    if sent.changed:
        yield f"Its program changes the text: {sent.changed}."


@dataclass(frozen=True, slots=True)
class _Departure:
    """The state of a message a moment after it was sent."""

    message: MessageInfo
    fate: str
    waits: bool
    is_asking: bool = False  #: it waits because its session has a request for the user


def _wait_for_departure(daemon: Client, sent: MessageInfo) -> _Departure:
    """Wait a moment for a message to leave."""
    try:
        progress = await_departure(daemon, sent.id, timeout=DEPARTURE_TIMEOUT_S)
    except NotRunning:
        stopped = "Kept: the daemon has stopped. Start it to deliver the message:  rookery up"
        return _Departure(sent, stopped, waits=True)
    except TimedOut:
        look = f"rookery inbox {sent.recipient}"
        silent = f"Kept: the daemon took the message, but does not answer now. See:  {look}"
        return _Departure(sent, silent, waits=True)
    held = progress.holding and progress.message.step == "pending"
    return _Departure(
        progress.message,
        fate(progress.message, progress.session, held=progress.holding),
        waits=progress.message.step not in _LEFT,
        is_asking=progress.session.is_asking and not held,
    )


def fate(message: MessageProgress, session: SessionInfo, *, held: bool = False) -> str:
    """Return what became of a message, a moment after it was sent."""
    match message.step:
        case "submitted" | "acknowledged":
            return "Sent."
        case "unsure":
            return "Sent; it may not have arrived."
        case "failed":
            return f"Not delivered: {message.blocked_by or 'the session has ended.'}"
        case "pending" if held:
            return f"Kept. {HELD}"
        case _:
            return f"Kept: {why_blocked(session, message.blocked_by)}"


@click.command()
@click.option("--timeout", type=SECONDS, default=600.0, show_default=True, help="Seconds.")
@as_json
@of_session
@click.argument("words", nargs=-1, required=True)
@pass_client
def ask(
    daemon: Client, *, name: str, words: tuple[str, ...], timeout: float, as_json: bool
) -> None:
    """Send a message to a session, wait, and print its answer. Exits with 1 if the turn failed.

    It is a turn of its own, and is not joined with other waiting messages.

    "-" reads standard input. Other users of this computer can see the arguments of a command
    while it waits, but not standard input.
    """
    sent = send_message(daemon, name, prompt_of(words), alone=True)
    _tell_if_kept(daemon, sent)
    with stoppable(name):
        outcome = _wait_for_outcome(daemon, name, sent.id, timeout)
        if outcome.is_command:
            _tell_of_command(outcome, as_json=as_json)
            return
        turn = show_answer(daemon, sent.id, timeout=0.1)
    if as_json:
        show_json(turn)
    elif turn.how != "failed":
        say(turn.answer)
        _tell_if_unread(turn, outcome.session)
        note_seen(daemon, outcome.session.id, [turn.ended_at])
    if turn.how == "failed":
        complain(f"the turn failed: {turn.answer or first_line(outcome.session.reason)}")
    elif turn.how != "finished":
        complain(f"the turn was {turn.how}.")
    if turn.how != "finished":
        sys.exit(FAILED)


def _tell_if_unread(turn: TurnInfo, session: SessionInfo) -> None:
    """Print that the answer may be on the screen only; shells often print nothing."""
    if turn.how == "finished" and not turn.answer and session.agent != "shell":
        remark(
            f"{session.name} gave no answer, or none that can be read here. Some agents"
            " that were started by hand report their answers only by hooks (rookery hooks"
            f" install). See:  rookery screen {session.name}"
        )


def _tell_if_kept(daemon: Client, sent: MessageInfo) -> None:
    """Print why a message waits; a request of its session is shown later."""
    progress = _wait_for_departure(daemon, sent)
    if progress.waits and not progress.is_asking:
        remark(progress.fate)


def _wait_for_outcome(daemon: Client, name: str, message: int, timeout: float) -> DeliveryInfo:
    """Wait until a message is answered; report at once if its session asks the user."""
    deadline = monotonic() + timeout
    known_since: str | None = None
    while True:
        outcome = patiently(
            daemon,
            partial(await_outcome, daemon, message, known_since=known_since),
            timeout=max(deadline - monotonic(), 0.1),
            otherwise=goes_on(name),
        )
        if outcome.is_settled or monotonic() > deadline:
            return outcome
        if outcome.session.is_asking:
            known_since = outcome.session.since
            _tell_of_dialog(daemon, outcome.session)


def _tell_of_command(delivery: DeliveryInfo, *, as_json: bool) -> None:
    """Print that the message was a command, which starts no turn."""
    name = delivery.session.name
    accepted = {"message": delivery.message.json, "session": delivery.session.json}
    text = f"{name} has taken the command. See its screen:  rookery screen {name}"
    reply({"command": True, **accepted}, text, as_json=as_json)


def _tell_of_dialog(daemon: Client, session: SessionInfo) -> None:
    complain(f"{session.name} waits for you: {first_line(session.reason)}")
    remark(f"  {how_to_answer(session, open_requests(daemon, session.id))}")
