"""The command that follows what happens."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from rookery.cli.group import as_json, client, rookery
from rookery.cli.naming import with_names_by
from rookery.cli.show import count, local, safe_json, say, say_line
from rookery.cli.waiting import await_return
from rookery.client import Client
from rookery.model.errors import Answered, NotRunning

#: What every event has, and what only programs want to know of one.
_PLAIN = frozenset({"seq", "at", "kind", "session", "request", "call", "parcel"})


@dataclass(frozen=True, slots=True)
class Event:
    seq: int
    kind: str
    text: str  #: JSON


@rookery.command()
@click.option("--after", type=click.IntRange(0), help="Begin after this entry.")
@click.option("--no-follow", is_flag=True, help="Print what is there, and stop.")
@as_json
def events(*, after: int | None, no_follow: bool, as_json: bool) -> None:
    """Follow what happens, from now on or after an entry; with --json a line each."""
    daemon = client()
    printer = _Printer(daemon)
    told = _so_far(daemon, after) if no_follow else from_now_on(daemon, after)
    for event in told:
        if as_json:
            click.echo(safe_json(event.text))
        else:
            printer.show(event)
        sys.stdout.flush()


def _so_far(daemon: Client, after: int | None) -> Iterator[Event]:
    yield from _read(daemon.lines("events", after=after or 0, until_now=True))


def from_now_on(
    daemon: Client, after: int | None = None, *, again: str = ""
) -> Iterator[Event]:
    """Tell what happens, and after a restart of the daemon go on where it was.

    Should none come back, it is said that ``again`` is the command to go on with.
    """
    daemon.get("status")  # without a daemon there is nothing to wait for
    while True:
        query = {} if after is None else {"after": after}
        try:
            for event in _read(daemon.lines("events", **query)):
                after = event.seq
                yield event
        except NotRunning:
            pass
        then = again or f"rookery events --after {after or 0}"
        start = f"Start it:  rookery up  then:  {then}"
        await_return(daemon, otherwise=f"while this followed. {start}")


def _read(lines: Iterator[str]) -> Iterator[Event]:
    seq, kind = 0, ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "id":
            seq = int(value)
        elif name == "event":
            kind = value
        elif name == "data":
            yield Event(seq, kind, value)


@dataclass(frozen=True, slots=True)
class _Printer:
    """Shows events as people read them: sessions by their names."""

    daemon: Client
    names: dict[str, str] = field(default_factory=dict)

    def show(self, event: Event) -> None:
        fields = json.loads(event.text)
        if event.kind == "snapshot":
            self.names.update({each["id"]: each["name"] for each in fields["sessions"]})
            known = count(len(fields["sessions"]), "session")
            say(f"{known} known. What happens after entry {event.seq} (Ctrl-C stops this):")
            return
        moment, name = local(fields["at"])[11:], self._name(fields)
        # Cut first: an agent's words may be long, and name whom they like.
        told = with_names_by("  ".join(_telling(fields))[:240], self._known_by)[:120]
        say_line(f"{event.seq:>7}  {moment}  {name:16}  {event.kind:18}  {told}")

    def _name(self, fields: Mapping[str, Any]) -> str:
        session = fields["session"]
        if not session:  # it is of the whole house, as a hold is
            return "–"
        if fields["kind"] == "session-renamed":
            self.names[session] = fields["name"]
        return self._known_by(session)

    def _known_by(self, session: str) -> str:
        if session not in self.names:
            self.names[session] = _ask_for_name(self.daemon, session)
        return self.names[session]


def _telling(fields: Mapping[str, Any]) -> Iterator[str]:
    values = (value for name, value in fields.items() if name not in _PLAIN and value)
    return (" ".join(str(value).split()) for value in values)


def _ask_for_name(daemon: Client, session: str) -> str:
    try:
        return str(daemon.get("sessions", session)["name"])
    except (Answered, NotRunning):  # it is forgotten, or nobody can tell now
        return session[:8]
