"""The commands that show sessions live, and stop showing them."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import click

from rookery.cli.completion import session_names
from rookery.cli.exit_codes import INTERRUPTED
from rookery.cli.follow import CHANNEL, Follower
from rookery.cli.followed_session import FollowedSession
from rookery.cli.notice_printer import NoticePrinter, print_json
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import remark, reply
from rookery.client import Client
from rookery.client.foreground import BackgroundInfo, list_foregrounds, put_into_background
from rookery.client.sessions import show_session
from rookery.model.errors import BadInput, NotRunning

#: Signals that end this command like Ctrl-C.
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@click.command(
    epilog=examples("rookery follow", "rookery follow builder", "rookery follow | tee seen")
)
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
@pass_client
def follow(daemon: Client, *, name: str, as_json: bool) -> None:
    """Show a session while it works: first what you missed, then everything as it happens.

    It prints each prompt, each tool, each request and the answer of each turn. Without NAME,
    it shows all sessions in the foreground, also those that an agent brings there meanwhile.
    Ctrl-C puts what this command brought into the background again; sessions keep working.
    With --json one event per line.
    """
    if daemon.badge:
        raise BadInput(
            "follow is for a person at a terminal; an agent uses its tool `foreground`."
        )
    follower = Follower(daemon, print_json if as_json else NoticePrinter(daemon).tell, name)
    with _stoppable(follower):
        follower.follow()


@contextmanager
def _stoppable(follower: Follower) -> Iterator[None]:
    """Put back the sessions that this command showed; after Ctrl-C, say how to show them."""
    ends = [each for each in ENDING_SIGNALS if signal.getsignal(each) is signal.SIG_DFL]
    for each in ends:
        signal.signal(each, _interrupt)
    try:
        yield
    except KeyboardInterrupt:
        remark(_put_back(follower))
        sys.exit(INTERRUPTED)
    finally:
        for each in ends:
            signal.signal(each, signal.SIG_DFL)
        _put_back(follower)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _put_back(follower: Follower) -> str:
    """Put the sessions of this command into the background. Returns a text about that."""
    remaining = [*follower.fronts.values()]
    try:
        ours = follower.put_back()
    except NotRunning:
        names = ", ".join(each.name for each in remaining)
        return f"\nNo daemon is running; still in the foreground:  {names}"
    if not remaining:
        return "\nStopped."
    if ours:
        again = "  |  ".join(f"rookery follow {each.name}" for each in ours)
        return f"\n{_names(ours)} in the background now. Show again:  {again}"
    return (
        f"\nStopped; {_names(remaining)} still in the foreground. Show again:  rookery follow"
    )


def _names(fronts: list[FollowedSession]) -> str:
    names = ", ".join(each.name for each in fronts)
    return f"{names} {'is' if len(fronts) == 1 else 'are'}"


@click.command(epilog=examples("rookery bg builder", "rookery bg --all"))
@click.option("--all", "everything", is_flag=True, help="All sessions in the foreground.")
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
@pass_client
def bg(daemon: Client, *, name: str, everything: bool, as_json: bool) -> None:
    """Put a session into the background: it keeps working, and its turns wait for you.

    Without NAME, it is the session in the foreground. A running `rookery follow NAME` ends.
    """
    if name and everything:
        raise BadInput("name a session, or use --all.")
    sessions = [name] if name else _in_front(daemon, everything=everything)
    results = [put_into_background(daemon, each, channel=CHANNEL) for each in sessions]
    names = [show_session(daemon, each.session).name for each in results]
    pairs = [*zip(names, results, strict=True)]
    lines = [_result_text(session, each) for session, each in pairs]
    reply(
        {"background": [{"name": session, **each.json} for session, each in pairs]},
        "\n".join(lines) or "No session is in the foreground.",
        as_json=as_json,
    )


def _in_front(daemon: Client, *, everything: bool) -> list[str]:
    in_foreground = [
        each.session for each in list_foregrounds(daemon, channel=CHANNEL).foregrounds
    ]
    if len(in_foreground) > 1 and not everything:
        names = ", ".join(show_session(daemon, each).name for each in in_foreground)
        raise BadInput(
            f"several sessions are in the foreground: {names}. Name one, or use --all."
        )
    return in_foreground


def _result_text(name: str, result: BackgroundInfo) -> str:
    if not result.was_in_front:
        return f"{name} was not in the foreground."
    return f"{name} is in the background now. Show again:  rookery follow {name}"
