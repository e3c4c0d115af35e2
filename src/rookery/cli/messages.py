"""The commands that ask for an answer and print the turns of a session."""

from __future__ import annotations

import sys
from functools import partial
from time import monotonic
from typing import IO

import click

from rookery.cli.blocked import how_to_answer, open_requests
from rookery.cli.completion import of_session
from rookery.cli.daemon_waits import goes_on, patiently, stoppable
from rookery.cli.exit_codes import FAILED
from rookery.cli.options import SECONDS, as_json, from_file, pass_client
from rookery.cli.prompts import words_of
from rookery.cli.render import complain, remark, reply, say, show_json
from rookery.cli.seen import note_seen
from rookery.cli.send import wait_for_departure
from rookery.client import Client
from rookery.client.messages import (
    DeliveryInfo,
    MessageInfo,
    MessageOptions,
    await_outcome,
    send_message,
    show_answer,
)
from rookery.client.sessions import (
    SessionInfo,
    TurnInfo,
)
from rookery.model.reason_texts import first_line


@click.command()
@click.option("--timeout", type=SECONDS, default=600.0, show_default=True, help="Seconds.")
@from_file
@as_json
@of_session
@click.argument("words", nargs=-1)
@pass_client
def ask(  # noqa: PLR0913 - its options
    daemon: Client,
    *,
    name: str,
    words: tuple[str, ...],
    file: IO[bytes] | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Send a message to a session, wait, and print its answer. Exits with 1 if the turn failed.

    It is a turn of its own, and is not joined with other waiting messages.

    "-" reads standard input. Other users of this computer can see the arguments of a command
    while it waits, but not standard input.
    """
    text = words_of(words, file)
    sent = send_message(daemon, name, text, MessageOptions(alone=True))
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
    progress = wait_for_departure(daemon, sent)
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
