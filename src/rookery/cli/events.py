"""The command that prints the events of the journal as they happen."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import click

from rookery.cli.daemon_waits import await_return
from rookery.cli.names import known_sessions, name_of, with_names_by
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import local, safe_json
from rookery.client import Client
from rookery.client.daemon import show_status
from rookery.client.decoding import JsonObject
from rookery.client.sessions import show_session
from rookery.client.streams import EventFields, ShownEvent, read_batches, read_events
from rookery.model.errors import Answered, NotRunning
from rookery.presentation.texts import count, one_line

#: Fields that are printed separately or that only programs need.
_OMITTED = frozenset({"seq", "at", "kind", "session", "request", "call", "parcel"})


@click.command(
    epilog=examples(
        "rookery events",
        "rookery events --after 1200 --no-follow",
        "rookery events --json | jq .kind",
    )
)
@click.option("--after", type=click.IntRange(0), help="Start after this entry.")
@click.option("--no-follow", is_flag=True, help="Print the stored events and exit.")
@as_json
@pass_client
def events(daemon: Client, *, after: int | None, no_follow: bool, as_json: bool) -> None:
    """Print events as they happen, from now on or after an entry; with --json one per line."""
    printer = _Printer(daemon)
    events = _stored_events(daemon, after) if no_follow else _live_events(daemon, after)
    for some in events:
        if as_json:
            click.echo(safe_json("\n".join(event.text for event in some)))
        else:
            printer.show(some)
        sys.stdout.flush()


def _stored_events(daemon: Client, after: int | None) -> Iterator[list[ShownEvent]]:
    """Return the stored events in batches."""
    return read_batches(daemon.texts("events", after=after or 0, until_now=True))


def _live_events(daemon: Client, after: int | None) -> Iterator[list[ShownEvent]]:
    return ([event] for event in from_now_on(daemon, after))


def from_now_on(
    daemon: Client, after: int | None = None, *, again: str = ""
) -> Iterator[ShownEvent]:
    """Yield events as they happen, and continue after a restart of the daemon.

    If no daemon comes back, the error names ``again`` as the command to continue with.
    """
    show_status(daemon)  # raises without a daemon, instead of waiting for one
    while True:
        query = {} if after is None else {"after": after}
        try:
            for event in read_events(daemon.lines("events", **query)):
                after = event.seq
                yield event
        except NotRunning:
            pass
        then = again or f"rookery events --after {after or 0}"
        start = f"Start it:  rookery up  then:  {then}"
        await_return(daemon, otherwise=f"while this followed. {start}")


@dataclass(frozen=True, slots=True)
class _Printer:
    """Prints events for a user, with names in place of session ids."""

    daemon: Client
    names: dict[str, str] = field(default_factory=dict)

    def show(self, events: Sequence[ShownEvent]) -> None:
        facts = [(each, each.fact) for each in events]
        self._learn_names(fact.session for _, fact in facts)
        # One echo for all lines: an echo takes as long as formatting its line.
        click.echo("\n".join(self._line(each, fact) for each, fact in facts))

    def _line(self, event: ShownEvent, fact: EventFields) -> str:
        if event.kind == "snapshot":
            self.names.update({each.id: each.name for each in fact.sessions})
            sessions = count(len(fact.sessions), "session")
            return f"{sessions}. Events after entry {event.seq} (stop with Ctrl-C):"
        moment, name = _clock_time(_second(fact.at)), self._name(fact)
        # Cut before resolving names: an agent's text may be long and contain any session's id.
        values = with_names_by("  ".join(_shown_values(fact.json))[:240], self._name_by_id)[
            :120
        ]
        return one_line(f"{event.seq:>7}  {moment}  {name:16}  {event.kind:18}  {values}")

    def _learn_names(self, sessions: Iterable[str]) -> None:
        """Look up the names of many sessions in one request."""
        unknown = {each for each in sessions if each and each not in self.names}
        if len(unknown) > 1:
            found_sessions = known_sessions(self.daemon, unknown)
            self.names.update({each: name_of(each, found_sessions) for each in unknown})

    def _name(self, fact: EventFields) -> str:
        if not fact.session:  # it concerns all sessions, like a hold
            return "–"
        if fact.kind == "session-renamed":
            self.names[fact.session] = fact.name
        return self._name_by_id(fact.session)

    def _name_by_id(self, session: str) -> str:
        if session not in self.names:
            self.names[session] = _ask_for_name(self.daemon, session)
        return self.names[session]


def _second(moment: str) -> str:
    """Return a time without its fraction of a second: 2026-01-31T12:00:00+00:00."""
    return moment[:19] + moment[-6:]


@lru_cache(maxsize=1_000)
def _clock_time(moment: str) -> str:
    """Return the local time of day; cached because thousands of events share a second."""
    return local(moment)[11:]


def _shown_values(fields: JsonObject) -> Iterator[str]:
    values = (value for name, value in fields.items() if name not in _OMITTED and value)
    return (" ".join(str(value).split()) for value in values)


def _ask_for_name(daemon: Client, session: str) -> str:
    try:
        return show_session(daemon, session).name
    except (Answered, NotRunning):  # the session was pruned, or no daemon runs
        return session[:8]
