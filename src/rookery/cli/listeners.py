"""The commands for agents together: who waits for whom, and words that wait."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from rookery.cli.blocked import obstacle, why_kept
from rookery.cli.completion import session_names
from rookery.cli.endings import ended_by
from rookery.cli.messages import UNHEARD
from rookery.cli.names import known_sessions, name_of, with_names
from rookery.cli.render import HELD, ago, first_line, local, plain, say, say_line, show_json
from rookery.cli.root import SECONDS, as_json, client, examples, rookery
from rookery.cli.waiting import how_many, needed_of
from rookery.client import Client
from rookery.model.errors import Answered, BadInput

#: What somebody waits for another to do.
_UNTIL = {
    "stop": "to stop",
    "input": "to need somebody",
    "end": "to end",
    "any": "to stop, to need somebody or to end",
}


@rookery.command(
    epilog=examples(
        "rookery listen",
        "rookery listen builder --for planner",
        "rookery listen one two three --for planner --all --timeout 600",
        "rookery listen --stop builder --for planner",
    )
)
@click.option(
    *("--for", "caller"),
    default="",
    shell_complete=session_names,
    help="Who is told; within an agent's session, that one.",
)
@click.option("--until", type=click.Choice([*_UNTIL]), default="stop", show_default=True)
@click.option("--repeat", is_flag=True, help="Tell it each time, not only once.")
@how_many
@click.option("--timeout", type=SECONDS, help="Seconds after which it is told who is missing.")
@click.option("--stop", is_flag=True, help="Let it wait no more for TARGETS, which go on.")
@as_json
@click.argument("targets", nargs=-1, shell_complete=session_names)
def listen(**given: Any) -> None:  # noqa: ANN401 - the options above
    """Have a session told when TARGETS stop; without any, show who waits for whom.

    It is told in its own pane, once it is idle. With --all, --any or --count it is told once,
    of all of them together; else of each apart.
    """
    daemon = client()
    if not given["targets"]:
        if given["stop"] or given["caller"]:
            raise BadInput("say for which sessions.")
        _show_listeners(daemon, as_json=given["as_json"])
    elif given["stop"]:
        _stop_listening(daemon, given)
    else:
        _listen(daemon, given)


def _show_listeners(daemon: Client, *, as_json: bool) -> None:
    found = daemon.get("listeners")
    if as_json:
        show_json(found)
        return
    waiting = (each[role] for each in found["listeners"] for role in ("caller", "target"))
    known = known_sessions(daemon, waiting)
    waits = {each["id"]: each for each in found["waits"]}
    for each in found["listeners"]:
        who, whom = (name_of(each[role], known) for role in ("caller", "target"))
        how = " again and again" if each["is_lasting"] else ""
        told = _when_told(waits[each["wait"]]) if each["wait"] in waits else ""
        say_line(f"{who} waits for {whom} {_UNTIL[each['until']]}{how}{told}; {_since(each)}")
    if not found["listeners"]:
        say("Nobody waits for anybody.")


def _since(listener: Mapping[str, Any]) -> str:
    return f"since {ago(listener['since'])}"


def _when_told(wait: Mapping[str, Any]) -> str:
    """Say of one that waits for several at once, or not for ever, when it is told."""
    needed, every, there = wait["needed"], wait["of"], wait["there"]
    when = []
    if every > 1:
        are = {every: f"all {every} are", 1: f"any of {every} is"}
        so_far = f" ({there} so far)" if there else ""
        when.append(f"once {are.get(needed, f'{needed} of {every} are')} there{so_far}")
    if wait["deadline"]:
        when.append(f"at {local(wait['deadline'])} at the latest")
    return f", told {' or '.join(when)}" if when else ""


def _listen(daemon: Client, given: Mapping[str, Any]) -> None:
    """Have somebody told. Exits with 1 if there is nothing new to wait for."""
    asked = {each: given[each] for each in ("targets", "caller", "until", "repeat", "timeout")}
    with _saying_who(given):
        needed = needed_of(given, given["targets"], otherwise="each")
        found = daemon.post("listeners", **asked, needed=needed)
    if given["as_json"]:
        show_json(found)
    else:
        known = known_sessions(daemon, (each["target"] for each in found["listeners"]))
        enders = (each.get("ended_by") or "" for each in [*known.values()])
        known |= known_sessions(daemon, (), enders)
        for each in found["listeners"]:
            name, until = name_of(each["target"], known), _UNTIL[given["until"]]
            waits = f"{_who(given)} waits for {name} {until}."
            say(waits if each["listening"] else f"{name}: {_why_not(each, known)}")
            if ring := each.get("ring"):
                say(f"They wait for each other now, and none comes first:  {ring}")
    if not any(each["listening"] for each in found["listeners"]):
        sys.exit(1)


def _why_not(listening: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> str:
    """Say why nothing will be told; a session would be given ids and tools, not a person."""
    session = known.get(listening["target"], {})
    if session.get("ended_at"):
        if ended := ended_by(session):
            return f"it is over already: {with_names(ended, known)}"
        return f"it is over already: {session['status']}, {first_line(session['reason'])}"
    return str(listening["reason"])


def _stop_listening(daemon: Client, given: Mapping[str, Any]) -> None:
    who, stopped = _who(given), {}
    with _saying_who(given):
        for each in given["targets"]:
            found = daemon.post("listeners", "stop", target=each, caller=given["caller"])
            stopped[each] = found["stopped"]
    if given["as_json"]:
        show_json({"stopped": stopped})
        return
    for name, was_there in stopped.items():
        no_more = f"{who} waits for {name} no more."
        say(no_more if was_there else f"{who} did not wait for {name}.")


def _who(given: Mapping[str, Any]) -> str:
    return given["caller"] or "This session"


@contextmanager
def _saying_who(given: Mapping[str, Any]) -> Iterator[None]:
    """Say to a person, who is no session, how to name one."""
    try:
        yield
    except Answered as refusal:
        if given["caller"] or "none yourself" not in str(refusal):
            raise
        raise Answered(refusal.code, f"{refusal} Name it:  --for SESSION") from refusal


@rookery.command()
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
def inbox(*, name: str, as_json: bool) -> None:
    """List words that wait, may not have arrived, or never did, and why."""
    daemon = client()
    found = daemon.get("inbox", session=name)
    if as_json:
        show_json(found)
        return
    if found["holding"]:
        say(HELD)
    recipients = (each["session"] for each in found["letters"])
    known = known_sessions(daemon, recipients, (each["author"] for each in found["letters"]))
    held = "words are held." if found["holding"] else ""
    for letter in found["letters"]:
        to = name_of(letter["session"], known)
        about = f"{letter['message']}  to {to}, from {with_names(letter['author'], known)}"
        say_line(f"{about}, {ago(letter['written_at'])} ago: {_state(letter, known, held)}")
        say(f"    {' '.join(plain(letter['words']).split())[:300]}")
    if not found["letters"]:
        say("No words wait.")


def _state(letter: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], held: str) -> str:
    why, session = why_kept(letter), known.get(letter["session"])
    if letter["step"] == "pending":
        return f"waits, {obstacle(session, held or why)}" if session else "waits"
    if letter["step"] in UNHEARD:
        return f"{UNHEARD[letter['step']]}. {why}".strip()
    return "it is on its way"


@rookery.command()
@as_json
def hold(*, as_json: bool) -> None:
    """Keep all words back, at once: those of relays, of listeners and your own."""
    found = client().post("hold")
    if as_json:
        show_json(found)
    else:
        say(HELD)


@rookery.command()
@as_json
def release(*, as_json: bool) -> None:
    """Let words go again that hold keeps back."""
    found = client().post("release")
    if as_json:
        show_json(found)
    else:
        say("Words go again.")
