"""What a waiting command does when an agent asks its person something."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click

from rookery.cli.blocked import how_to_answer, open_requests, what_it_asks
from rookery.cli.render import complain_of, remark
from rookery.cli.tables import width_here
from rookery.cli.wrapping import between_commands
from rookery.client import Client
from rookery.client.sessions import SessionInfo
from rookery.model.errors import PersonNeeded
from rookery.presentation.texts import as_sentence

C = TypeVar("C", bound=Callable[..., object])

WAIT, FAIL = "wait", "fail"

#: Not a choice of the user: end the wait, and let the command report what the session asks.
REPORT = "report"


def on_permission_option(default: str = "wait in a terminal, else fail") -> Callable[[C], C]:
    """Return the option that says what happens when the agent needs a person.

    ``default`` says in the help what happens without the option.
    """
    return click.option(
        "--on-permission",
        type=click.Choice([WAIT, FAIL]),
        help="If the agent asks you something: keep waiting, or exit with 6."
        f" Default: {default}.",
    )


def fails_when_asked(chosen: str | None) -> bool:
    """Return whether a command ends when the agent needs a person, by option or by default."""
    return chosen == FAIL or (chosen is None and not sys.stdin.isatty())


def tell_of_dialog(daemon: Client, session: SessionInfo) -> None:
    """Print what a session asks, and how to answer."""
    requests = open_requests(daemon, session.id)
    complain_of(f"{session.name} waits for you: {what_it_asks(session, requests)}")
    how = f"  Answer:  {how_to_answer(session, requests)}"
    remark(between_commands(how, width_here()) if sys.stderr.isatty() else how)


def person_needed(daemon: Client, session: SessionInfo, note: str = "") -> PersonNeeded:
    """Return the error that ends a command because its session asks something.

    ``note`` is a sentence that follows what the session asks.
    """
    requests = open_requests(daemon, session.id)
    how = how_to_answer(session, requests)
    asks = f"{session.name} waits for you: {what_it_asks(session, requests)}"
    return PersonNeeded(f"{as_sentence(asks)} {note}" if note else asks, how=how)
