"""The command that sends a message, waits, and prints the answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import monotonic
from typing import IO, TypedDict, Unpack

import click

from rookery.agents.names import SHELL
from rookery.cli.completion import of_session
from rookery.cli.daemon_waits import goes_on, patiently, stoppable
from rookery.cli.exit_codes import FAILED
from rookery.cli.failures import fail
from rookery.cli.options import SECONDS, as_json, examples, from_file, pass_client
from rookery.cli.person_needed import (
    fails_when_asked,
    on_permission_option,
    person_needed,
    tell_of_dialog,
)
from rookery.cli.prompts import words_of
from rookery.cli.render import remark, reply, say_verbatim, show_json
from rookery.cli.seen import note_seen
from rookery.cli.send import wait_for_departure
from rookery.cli.wait_line import shown_during, wait_line
from rookery.client import Client
from rookery.client.messages import (
    DeliveryInfo,
    MessageInfo,
    MessageOptions,
    await_outcome,
    send_message,
    show_answer,
)
from rookery.client.sessions import SessionInfo, show_session
from rookery.client.turns import TurnInfo
from rookery.model.reason_texts import first_line

#: What becomes of a message whose sender cannot wait for the answer, because no daemon runs.
KEPT = "Your message is kept, and is sent by the next daemon if it has not been sent yet."


class AskOptions(TypedDict):
    name: str
    words: tuple[str, ...]
    file: IO[bytes] | None
    timeout: float
    on_permission: str | None
    as_json: bool


@click.command(
    epilog=examples(
        'rookery ask api "Do the tests pass?"',
        "rookery ask api --timeout 60 --on-permission fail - < question.md",
    )
)
@click.option("--timeout", type=SECONDS, default=600.0, show_default=True, help="Seconds.")
@on_permission_option()
@from_file
@as_json
@of_session
@click.argument("words", nargs=-1)
@pass_client
def ask(daemon: Client, **given: Unpack[AskOptions]) -> None:
    """Send a message to a session, wait, and print its answer. Exits with 1 if the turn failed.

    It is a turn of its own, and is not joined with other waiting messages.

    "-" reads standard input. Other users of this computer can see the arguments of a command
    while it waits, but not standard input.
    """
    name, as_json = given["name"], given["as_json"]
    text = words_of(given["words"], given["file"])
    sent = send_message(daemon, name, text, MessageOptions(alone=True))
    _tell_if_kept(daemon, sent)
    with stoppable(name):
        outcome = _wait_for_outcome(daemon, sent, given)
        if outcome.is_command:
            _tell_of_command(outcome, as_json=as_json)
            return
        turn = show_answer(daemon, sent.id, timeout=0.1)
    if as_json:
        show_json(turn)
    elif turn.how != "failed":
        say_verbatim(turn.answer)
        _tell_if_unread(turn, outcome.session)
        note_seen(daemon, outcome.session.id, [turn.ended_at])
    exit_by_turn(turn, outcome.session)


def exit_by_turn(turn: TurnInfo, session: SessionInfo) -> None:
    """End the command with 1 if a turn did not finish, and print why."""
    if turn.how == "failed":
        why = turn.answer or first_line(session.reason)
        fail("turn-failed", f"The turn failed: {why}", FAILED)
    elif turn.how != "finished":
        fail(f"turn-{turn.how}", f"The turn was {turn.how}.", FAILED)


def _tell_if_unread(turn: TurnInfo, session: SessionInfo) -> None:
    """Print a hint if no answer could be read. A shell's command often prints nothing."""
    if turn.how == "finished" and not turn.answer and session.agent != SHELL:
        remark(
            f"{session.name} gave no answer, or none that can be read here. Some agents"
            " that were started by hand report their answers only by hooks (rookery hooks"
            f" install). See:  rookery screen {session.name}"
        )


def _tell_if_kept(daemon: Client, sent: MessageInfo) -> None:
    """Print why a message waits; a request of its session is shown later."""
    progress = wait_for_departure(daemon, sent)
    if progress.waits and not progress.is_asking:
        remark(progress.text)


def _wait_for_outcome(daemon: Client, sent: MessageInfo, options: AskOptions) -> DeliveryInfo:
    """Wait until a message is answered; report at once if its session asks the user."""
    deadline = monotonic() + options["timeout"]
    known_since: str | None = None
    with wait_line(daemon, _recipient(daemon, sent)) as line:
        while True:
            ask = partial(await_outcome, daemon, sent.id, known_since=known_since)
            outcome = patiently(
                daemon,
                shown_during(line, ask),
                timeout=max(deadline - monotonic(), 0.1),
                otherwise=goes_on(options["name"], note=KEPT),
            )
            if outcome.is_settled or monotonic() > deadline:
                return outcome
            if outcome.session.is_asking and outcome.session.since != known_since:
                if fails_when_asked(options["on_permission"]):
                    raise person_needed(daemon, outcome.session, _still_queued(outcome))
                known_since = outcome.session.since
                tell_of_dialog(daemon, outcome.session)


def _still_queued(delivery: DeliveryInfo) -> str:
    """Return a note if a message is still queued, so that a script does not send it again."""
    number, is_queued = delivery.message.id, delivery.message.step == "pending"
    return f"Message {number} stays queued (rookery inbox rm {number})." if is_queued else ""


def _recipient(daemon: Client, sent: MessageInfo) -> Iterator[SessionInfo]:
    """Yield the recipient of a message; the daemon is asked only if its state is shown."""
    yield show_session(daemon, sent.recipient)


def _tell_of_command(delivery: DeliveryInfo, *, as_json: bool) -> None:
    """Print that the message was a command, which starts no turn."""
    name = delivery.session.name
    accepted = {"message": delivery.message.json, "session": delivery.session.json}
    text = f"{name} has taken the command. See its screen:  rookery screen {name}"
    reply({"command": True, **accepted}, text, as_json=as_json)
