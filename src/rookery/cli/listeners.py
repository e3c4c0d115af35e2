"""The commands for listeners."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TypedDict, Unpack

import click

from rookery.cli.completion import session_names
from rookery.cli.daemon_waits import WaitGoal, how_many
from rookery.cli.exit_codes import FAILED
from rookery.cli.names import known_sessions, name_of, with_names
from rookery.cli.options import SECONDS, as_json, examples, pass_client
from rookery.cli.render import ago, local, reply, say, say_line, show_json
from rookery.client import Client
from rookery.client.listeners import (
    CombinedWait,
    ListenerInfo,
    ListenersInfo,
    ListeningInfo,
    ListeningsInfo,
    ListenOrder,
    list_listeners,
    listen_to,
    stop_listening,
)
from rookery.client.sessions import SessionInfo
from rookery.model.errors import Answered, BadInput
from rookery.presentation.states import ending

#: The text for each event of another session that a listener waits for.
_UNTIL = {
    "stop": "to stop",
    "input": "to need input",
    "end": "to end",
    "any": "to stop, to need input or to end",
}


class ListenOptions(TypedDict):
    caller: str
    until: str
    repeat: bool
    every: bool
    some: bool
    number: int | None
    timeout: float | None
    stop: bool
    as_json: bool
    targets: tuple[str, ...]


@click.command(
    epilog=examples(
        "rookery listen",
        "rookery listen builder --for planner",
        "rookery listen one two three --for planner --all --timeout 600",
        "rookery listen --stop builder --for planner",
    )
)
@click.option(
    "--for",
    "caller",
    default="",
    shell_complete=session_names,
    help="The session to notify; in an agent's session, that session.",
)
@click.option(
    "--until",
    type=click.Choice([*_UNTIL]),
    default="stop",
    show_default=True,
    help="Event of the target to notify about.",
)
@click.option("--repeat", is_flag=True, help="Notify each time, not only once.")
@how_many
@click.option(
    "--timeout",
    type=SECONDS,
    help="Seconds after which it is notified of those that have not stopped.",
)
@click.option("--stop", is_flag=True, help="Cancel; the targets keep working.")
@as_json
@click.argument("targets", nargs=-1, shell_complete=session_names)
@pass_client
def listen(daemon: Client, **given: Unpack[ListenOptions]) -> None:
    """Notify a session when TARGETS stop; without targets, list the listeners.

    It is notified in its own pane, once it is idle. With --all, --any or --count there is one
    notification for all targets; otherwise one for each.
    """
    if not given["targets"]:
        if given["stop"] or given["caller"]:
            raise BadInput("name the target sessions.")
        listed = list_listeners(daemon)
        reply(listed, partial(_show_listeners, daemon, listed), as_json=given["as_json"])
    elif given["stop"]:
        _stop_listening(daemon, given)
    else:
        _listen(daemon, given)


def _show_listeners(daemon: Client, listed: ListenersInfo) -> None:
    waiting = (each for listener in listed.listeners for each in _sessions_of(listener))
    sessions = known_sessions(daemon, waiting)
    waits = {each.id: each for each in listed.waits}
    for each in listed.listeners:
        caller, target = (name_of(session, sessions) for session in _sessions_of(each))
        how = " again and again" if each.is_lasting else ""
        notified_when = _notified_when(waits[each.wait]) if each.wait in waits else ""
        since = f"since {ago(each.since)}" if each.since else ""
        say_line(
            f"{caller} waits for {target} {_UNTIL[each.until]}{how}{notified_when}; {since}"
        )
    if not listed.listeners:
        say("No session waits for another.")


def _sessions_of(listener: ListenerInfo) -> tuple[str, str]:
    return listener.caller, listener.target


def _notified_when(wait: CombinedWait) -> str:
    """Return, as text, when a wait for several sessions or with a deadline is over."""
    needed, every, reached = wait.needed, wait.of, wait.there
    when = []
    if every > 1:
        are = {every: f"all {every} are", 1: f"any of {every} is"}
        so_far = f" ({reached} so far)" if reached else ""
        when.append(f"once {are.get(needed, f'{needed} of {every} are')} there{so_far}")
    if wait.deadline:
        when.append(f"at {local(wait.deadline)} at the latest")
    return f", told {' or '.join(when)}" if when else ""


def _listen(daemon: Client, options: ListenOptions) -> None:
    """Add listeners. Exits with 1 if there is nothing new to wait for."""
    enough = WaitGoal(options["every"], options["some"], options["number"])
    with _hinting_at_for(options["caller"]):
        order = ListenOrder(
            targets=options["targets"],
            caller=options["caller"],
            until=options["until"],
            repeat=options["repeat"],
            timeout=options["timeout"],
            needed=enough.of(options["targets"], otherwise="each"),
        )
        listenings = listen_to(daemon, order)
    reply(
        listenings,
        partial(_show_listening, daemon, listenings, options),
        as_json=options["as_json"],
    )
    if not any(each.listening for each in listenings.listeners):
        sys.exit(FAILED)


def _show_listening(daemon: Client, listenings: ListeningsInfo, options: ListenOptions) -> None:
    sessions = known_sessions(daemon, (each.target for each in listenings.listeners))
    sessions |= known_sessions(daemon, (), [each.ended_by for each in sessions.values()])
    for each in listenings.listeners:
        name, until = name_of(each.target, sessions), _UNTIL[options["until"]]
        waits = f"{_caller_name(options)} waits for {name} {until}."
        say(waits if each.listening else f"{name}: {_why_not(each, sessions)}")
        if each.ring:
            say(f"These sessions now wait for each other:  {each.ring}")


def _why_not(listening: ListeningInfo, sessions: Mapping[str, SessionInfo]) -> str:
    """Return why no notification will come; for an ended session, in words for a person."""
    session = sessions.get(listening.target)
    if session and session.ended_at:
        return f"it {with_names(ending(session), sessions)}"
    return listening.reason


def _stop_listening(daemon: Client, options: ListenOptions) -> None:
    caller_name, caller = _caller_name(options), options["caller"]
    with _hinting_at_for(caller):
        stopped = {
            each: stop_listening(daemon, each, caller=caller).stopped
            for each in options["targets"]
        }
    if options["as_json"]:
        show_json({"stopped": stopped})
        return
    for name, was_there in stopped.items():
        no_more = f"{caller_name} no longer waits for {name}."
        say(no_more if was_there else f"{caller_name} did not wait for {name}.")


def _caller_name(options: ListenOptions) -> str:
    return options["caller"] or "This session"


@contextmanager
def _hinting_at_for(caller: str) -> Iterator[None]:
    """Add the option ``--for`` to the daemon's error about a missing caller."""
    try:
        yield
    except Answered as refusal:
        if caller or refusal.details.get("missing") != "caller":
            raise
        why = "You are not a session: name the one to notify:  --for SESSION"
        raise Answered(refusal.code, why) from refusal
