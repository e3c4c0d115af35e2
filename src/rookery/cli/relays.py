"""The commands for relays: open, list, show, join, leave and close them."""

from __future__ import annotations

from functools import partial
from itertools import zip_longest
from typing import TypedDict, Unpack

import click
from click.shell_completion import CompletionItem

from rookery.cli.completion import completed, of_session, session_names
from rookery.cli.names import known_sessions, name_of, with_names
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import ago, local, reply, say, say_line
from rookery.client import Client
from rookery.client.relays import (
    RelayInfo,
    RelayListInfo,
    RelayTalk,
    SaidInfo,
    close_relay,
    join_relay,
    leave_relay,
    list_relays,
    open_relay,
    show_relay,
)
from rookery.model.errors import BadInput
from rookery.presentation.texts import count

#: The number of members that a relay needs.
MIN_MEMBERS = 2


#: The argument of ``relay new``; the group itself completes session names as this argument.
_NAMES = click.Argument(["names"], nargs=-1)


class RelayCommands(click.Group):
    """Treats session names as ``relay new`` and no arguments as ``relay ls``."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(context, [*self._implied_command(context, args), *args])

    def _implied_command(self, context: click.Context, args: list[str]) -> list[str]:
        if args and (args[0] in self.commands or args[0] in context.help_option_names):
            return []
        if any(not each.startswith("-") for each in args):
            return ["new"]
        # For shell completion every subcommand and name is possible.
        return [] if context.resilient_parsing else ["ls"]

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        names = session_names(context, _NAMES, incomplete)
        return [*super().shell_complete(context, incomplete), *map(CompletionItem, names)]


@click.group(
    cls=RelayCommands,
    epilog=examples(
        "rookery relay planner builder",
        "rookery relay planner builder --as Ann --as Ben --max-hops 20",
        "rookery relay show 3f2a",
    ),
)
def relay() -> None:
    """Let sessions talk: the answers of each are sent to all others.

    With names of sessions, it opens a relay like `relay new`; without any, it is `relay ls`.
    """


def _relay_ids(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    return completed(
        incomplete, context, lambda daemon: [each.id for each in list_relays(daemon).relays]
    )


_of_relay = click.argument("relay", metavar="ID", shell_complete=_relay_ids)


class RelayOptions(TypedDict):
    called: tuple[str, ...]
    max_hops: int | None
    max_a_minute: int | None
    as_json: bool
    names: tuple[str, ...]


@relay.command(epilog=examples("rookery relay new planner builder --max-hops 20"))
@click.option("--as", "called", multiple=True, help="Alias of a member; one for each.")
@click.option(
    "--max-hops",
    type=click.IntRange(1, 1_000),
    help="Maximum of relayed answers in a row (hops). Default: relays.max_hops.",
)
@click.option(
    "--max-a-minute", type=click.IntRange(1, 10_000), help="Maximum of messages a minute."
)
@as_json
@click.argument("names", nargs=-1, required=True, shell_complete=session_names)
@pass_client
def new(daemon: Client, **given: Unpack[RelayOptions]) -> None:
    """Open a relay between the sessions NAMES."""
    names, called = given["names"], given["called"]
    if len(names) < MIN_MEMBERS:
        raise BadInput("name two sessions or more.")
    if len(called) > len(names):
        raise BadInput("there are more --as than sessions.")
    opened = open_relay(
        daemon,
        zip_longest(names, called, fillvalue=""),
        max_hops=given["max_hops"],
        max_a_minute=given["max_a_minute"],
    )
    begin = f"rookery send {names[0]} WORDS  |  rookery relay show {opened.id}"
    reply(opened, f"{_talk(opened)}\nStart with:  {begin}", as_json=given["as_json"])


@relay.command(epilog=examples("rookery relay ls", "rookery relay ls planner"))
@click.option("--all", "everything", is_flag=True, help="Also older ones.")
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
@pass_client
def ls(daemon: Client, *, name: str, everything: bool, as_json: bool) -> None:
    """List the open relays and those that were closed recently.

    With NAME only the relays of this session.
    """
    listed = list_relays(daemon, session=name, all=everything)
    reply(listed, partial(_show_list, daemon, listed), as_json=as_json)


def _show_list(daemon: Client, listed: RelayListInfo) -> None:
    named_sessions = known_sessions(daemon, (), (each.reason for each in listed.relays))
    for each in listed.relays:
        members = _present(each) or ", ".join(member.name for member in each.members)
        say_line(f"{each.id}  {with_names(_state(each), named_sessions)}: {members}")
    if not listed.relays:
        say("There are no relays. Open one:  rookery relay NAME NAME")


@relay.command(epilog=examples("rookery relay show 3f2a"))
@click.option("--last", type=click.IntRange(1, 10_000), default=200, show_default=True)
@as_json
@_of_relay
@pass_client
def show(daemon: Client, *, relay: str, last: int, as_json: bool) -> None:
    """Print what was said in a relay.

    Also who has not received it yet, and why the relay stopped, if it did.
    """
    talk = show_relay(daemon, relay, last=last)
    reply(talk, partial(_show_talk, daemon, talk), as_json=as_json)


def _show_talk(daemon: Client, talk: RelayTalk) -> None:
    one = talk.relay
    members = (each.session for each in one.members)
    named_sessions = known_sessions(daemon, members, (one.created_by, one.reason))
    name_by_session = {each.session: each.name for each in one.members}
    opened = f"By {one.created_by}, at {local(one.created_at)}"
    say(with_names(f"Relay {one.id}, {_state(one)}. {opened}.", named_sessions))
    for member in one.members:
        # Closing a relay also records the time at which its last members left.
        left_before = member.left_at if member.left_at != one.closed_at else None
        left_note = f", left at {local(left_before)}" if left_before else ""
        session = name_of(member.session, named_sessions)
        say_line(f"  {member.number}. {member.name}: {session}{left_note}")
    for each in talk.said:
        _show_words(each, name_by_session)
    if one.stayed and not one.closed_at:
        say(f"\nThe last answer went no further: {one.stayed}.")


def _show_words(message: SaidInfo, name_by_session: dict[str, str]) -> None:
    first, _, rest = message.words.partition("\n")
    say(f"\n{local(message.at)}  {first}")
    say("\n".join(f"    {line}" for line in rest.strip().splitlines()))
    if message.missing:
        names = ", ".join(name_by_session.get(each, each[:8]) for each in message.missing)
        have = "has" if len(message.missing) == 1 else "have"
        say(f"    ({names} {have} not received it yet)")


@relay.command(epilog=examples("rookery relay join 3f2a tester"))
@click.option("--as", "called", default="", help="Alias. Default: its name.")
@as_json
@_of_relay
@of_session
@pass_client
def join(daemon: Client, *, relay: str, name: str, called: str, as_json: bool) -> None:
    """Add a session to a relay."""
    joined = join_relay(daemon, relay, session=name, name=called)
    reply(joined, _talk(joined), as_json=as_json)


@relay.command(epilog=examples("rookery relay leave 3f2a tester"))
@as_json
@_of_relay
@of_session
@pass_client
def leave(daemon: Client, *, relay: str, name: str, as_json: bool) -> None:
    """Remove a session from a relay; the others are notified."""
    relay_left = leave_relay(daemon, relay, session=name)
    text = f"{name} has left relay {relay_left.id}"
    over, goes_on = (
        f", which is closed: {_reason(relay_left)}.",
        f"; {_present(relay_left)} stay.",
    )
    reply(relay_left, text + (over if relay_left.closed_at else goes_on), as_json=as_json)


@relay.command(epilog=examples("rookery relay close 3f2a"))
@as_json
@_of_relay
@pass_client
def close(daemon: Client, *, relay: str, as_json: bool) -> None:
    """Close a relay. Its sessions are notified, and keep working."""
    closed = close_relay(daemon, relay)
    reply(closed, partial(_show_closed, daemon, closed), as_json=as_json)


def _show_closed(daemon: Client, relay: RelayInfo) -> None:
    reason = with_names(_reason(relay), known_sessions(daemon, (), [relay.reason]))
    was = reason if reason.startswith("closed") else f"closed: {reason}"
    say(f"Relay {relay.id} is {was}.")


def _reason(relay: RelayInfo) -> str:
    """Return why a relay was closed, in words for its person."""
    return relay.reason.replace("by person", "by you")


def _talk(relay: RelayInfo) -> str:
    return f"{_present(relay)} talk in relay {relay.id}."


def _state(relay: RelayInfo) -> str:
    if relay.closed_at:
        return f"closed since {ago(relay.closed_at)} ({_reason(relay)})"
    since = f"open since {ago(relay.created_at)}"
    if relay.stayed:
        return f"{since}, silent after {relay.stayed}"
    return f"{since}, at most {count(relay.limits.hops, 'hop')}"


def _present(relay: RelayInfo) -> str:
    return ", ".join(each.name for each in relay.members if not each.left_at)
