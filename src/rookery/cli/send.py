"""The command that sends a message, and reports a moment later what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TypedDict, Unpack

import click

from rookery.cli.completion import of_session
from rookery.cli.options import as_json, examples, from_file, pass_client, read_span
from rookery.cli.prompts import words_of
from rookery.cli.render import reply
from rookery.client import Client
from rookery.client.messages import MessageInfo, MessageOptions, await_departure, send_message
from rookery.client.sessions import show_session
from rookery.model.errors import NotRunning, TimedOut
from rookery.presentation.deliveries import UrgentWay, delivery_text
from rookery.presentation.texts import count

#: Steps in which a message no longer waits.
_LEFT = frozenset({"submitted", "acknowledged", "unsure", "failed", "withdrawn"})


class SendOptions(TypedDict):
    now: bool
    expire: float | None
    file: IO[bytes] | None
    as_json: bool
    words: tuple[str, ...]


@click.command(
    epilog=examples(
        'rookery send api "run the tests"',
        "rookery send api --file prompt.md",
        'rookery send api --now "stop, use the other file"',
        'rookery send api --expire 10m "the build is green"',
    )
)
@click.option(
    "--now", is_flag=True, help="Send it before waiting messages, even during a turn."
)
@click.option(
    "--expire", callback=read_span, help="Withdraw it if it was not sent by then: 30s, 10m, 2h."
)
@from_file
@as_json
@of_session
@click.argument("words", nargs=-1)
@pass_client
def send(daemon: Client, *, name: str, **given: Unpack[SendOptions]) -> None:
    """Send a message to a session, which gets it once it is idle. "-" reads standard input.

    Messages that wait for the same session are joined and answered in one turn, except those
    of "ask": each of these is a turn of its own.

    With --now it is sent before the messages that wait. During a turn it is typed into that
    turn if the agent takes that, such as Claude Code; else the turn is interrupted. It is never
    typed into a dialog or over a draft.

    Other users of this computer can see the arguments of a command, but not standard input.
    """
    options = MessageOptions(now=given["now"], expire=given["expire"])
    words = words_of(given["words"], given["file"])
    is_working = given["now"] and show_session(daemon, name).state == "working"
    sent = send_message(daemon, name, words, options)
    way = UrgentWay(sent.urgency) if is_working else UrgentWay.NONE
    progress = wait_for_departure(daemon, sent, way)
    text = " ".join([progress.text, *_changes(sent)])
    reply(progress.message, text, as_json=given["as_json"])


def _changes(sent: MessageInfo) -> Iterator[str]:
    """Yield a sentence for each change that the text of the message undergoes."""
    if sent.removed:
        were = "was" if sent.removed == 1 else "were"
        yield f"{count(sent.removed, 'control character')} {were} removed."
    if sent.changed:
        yield f"Its program changes the text: {sent.changed}."


@dataclass(frozen=True, slots=True)
class Departure:
    """The state of a message a moment after it was sent."""

    message: MessageInfo
    text: str
    waits: bool
    is_asking: bool = False  #: it waits because its session has a request for the user


def wait_for_departure(
    daemon: Client, sent: MessageInfo, way: UrgentWay = UrgentWay.NONE
) -> Departure:
    """Wait a moment for a message to leave."""
    try:
        progress = await_departure(daemon, sent.id)
    except NotRunning:
        stopped = f"Queued ({sent.id}): the daemon has stopped. Start it:  rookery up"
        return Departure(sent, stopped, waits=True)
    except TimedOut:
        look = f"rookery inbox {sent.recipient}"
        silent = f"Queued ({sent.id}): the daemon does not answer now. See:  {look}"
        return Departure(sent, silent, waits=True)
    held = progress.holding and progress.message.step == "pending"
    return Departure(
        progress.message,
        delivery_text(progress.message, progress.session, held=progress.holding, way=way),
        waits=progress.message.step not in _LEFT,
        is_asking=progress.session.is_asking and not held,
    )
