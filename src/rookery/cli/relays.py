"""The commands for relays: let sessions talk, see what they said, end it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import click
from click.shell_completion import CompletionItem

from rookery.cli.completion import of_session, relay_ids, session_names
from rookery.cli.names import known_sessions, name_of, with_names
from rookery.cli.render import ago, count, local, say, say_line, show_json
from rookery.cli.root import as_json, client, examples, rookery
from rookery.model.errors import BadInput

#: Who can talk with each other.
FEWEST = 2


#: What a new relay is made of.
_NAMES = click.Argument(["names"], nargs=-1)


class Relays(click.Group):
    """Takes names of sessions for a new relay, and nothing at all for the list."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(context, [*self._meant(context, args), *args])

    def _meant(self, context: click.Context, args: list[str]) -> list[str]:
        if args and (args[0] in self.commands or args[0] in context.help_option_names):
            return []
        if any(not each.startswith("-") for each in args):
            return ["new"]
        # A shell that completes asks what may come; all of it may.
        return [] if context.resilient_parsing else ["ls"]

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        names = session_names(context, _NAMES, incomplete)
        return [*super().shell_complete(context, incomplete), *map(CompletionItem, names)]


@rookery.group(
    cls=Relays,
    epilog=examples(
        "rookery relay planner builder",
        "rookery relay planner builder --as Ann --as Ben --max-hops 20",
        "rookery relay show 3f2a",
    ),
)
def relay() -> None:
    """Let sessions talk: what one answers reaches every other.

    Names of sessions begin a new relay, as `relay new` does. Without any, it is `relay ls`.
    """


_of_relay = click.argument("relay", metavar="ID", shell_complete=relay_ids)


@relay.command()
@click.option("--as", "called", multiple=True, help="What the others call it; one for each.")
@click.option(
    "--max-hops",
    type=click.IntRange(1, 1_000),
    help="Answers to answers before a person has to speak.",
)
@click.option("--max-a-minute", type=click.IntRange(1, 10_000), help="Messages of all of them.")
@as_json
@click.argument("names", nargs=-1, required=True, shell_complete=session_names)
def new(**given: Any) -> None:  # noqa: ANN401 - the options above
    """Let the sessions NAMES talk with each other."""
    names, called = given["names"], given["called"]
    if len(names) < FEWEST:
        raise BadInput("one alone has nobody to talk to: name two sessions, or more.")
    if len(called) > len(names):
        raise BadInput("there are more --as than sessions.")
    pairs = zip_longest(names, called, fillvalue="")
    members = [{"session": name, "name": other} for name, other in pairs]
    limits = {each: given[each] for each in ("max_hops", "max_a_minute")}
    found = client().post("relays", members=members, **limits)
    if given["as_json"]:
        show_json(found)
        return
    say(f"{_present(found)} talk in relay {found['id']}.")
    say(f"Let one begin:  rookery send {names[0]} WORDS  |  rookery relay show {found['id']}")


@relay.command()
@click.option("--all", "everything", is_flag=True, help="Also those that ended long ago.")
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
def ls(*, name: str, everything: bool, as_json: bool) -> None:
    """List open relays, and those closed not long ago.

    With NAME only those that this session is in.
    """
    daemon = client()
    found = daemon.get("relays", session=name, all=everything)
    if as_json:
        show_json(found)
        return
    known = known_sessions(daemon, (), (each["reason"] for each in found["relays"]))
    for each in found["relays"]:
        say_line(
            f"{each['id']}  {with_names(_state(each), known)}: {_present(each) or _all(each)}"
        )
    if not found["relays"]:
        say("No sessions talk. Let some:  rookery relay NAME NAME")


@relay.command()
@click.option("--last", type=click.IntRange(1, 10_000), default=200, show_default=True)
@as_json
@_of_relay
def show(*, relay: str, last: int, as_json: bool) -> None:
    """Print what was said in a relay.

    And who has not got it yet, and why it stopped, if it did.
    """
    daemon = client()
    found = daemon.get("relays", relay, last=last)
    if as_json:
        show_json(found)
        return
    one = found["relay"]
    members = (each["session"] for each in one["members"])
    known = known_sessions(daemon, members, (one["created_by"], one["reason"]))
    called = {each["session"]: each["name"] for each in one["members"]}
    begun = f"By {one['created_by']}, at {local(one['created_at'])}"
    say(with_names(f"Relay {one['id']}, {_state(one)}. {begun}.", known))
    for member in one["members"]:
        is_gone = member["left_at"] not in {None, one["closed_at"]}
        left = f", left at {local(member['left_at'])}" if is_gone else ""
        session = name_of(member["session"], known)
        say_line(f"  {member['number']}. {member['name']}: {session}{left}")
    for each in found["said"]:
        _show_words(each, called)
    if one["stayed"] and not one["closed_at"]:
        say(f"\nThe last answer went no further: {one['stayed']}.")


def _show_words(said: Mapping[str, Any], called: Mapping[str, str]) -> None:
    first, _, rest = said["words"].partition("\n")
    say(f"\n{local(said['at'])}  {first}")
    say("\n".join(f"    {line}" for line in rest.strip().splitlines()))
    if said["missing"]:
        names = ", ".join(called.get(each, each[:8]) for each in said["missing"])
        have = "has" if len(said["missing"]) == 1 else "have"
        say(f"    ({names} {have} not got it yet)")


@relay.command()
@click.option("--as", "called", default="", help="What the others call it; else its name.")
@as_json
@_of_relay
@of_session
def join(*, relay: str, name: str, called: str, as_json: bool) -> None:
    """Let one more session talk in a relay."""
    found = client().post("relays", relay, "join", session=name, name=called)
    if as_json:
        show_json(found)
    else:
        say(f"{_present(found)} talk in relay {found['id']}.")


@relay.command()
@as_json
@_of_relay
@of_session
def leave(*, relay: str, name: str, as_json: bool) -> None:
    """Let a session talk there no more; the others are told."""
    found = client().post("relays", relay, "leave", session=name)
    if as_json:
        show_json(found)
    elif found["closed_at"]:
        say(f"{name} has left relay {found['id']}, which is over: {found['reason']}.")
    else:
        say(f"{name} has left relay {found['id']}; {_present(found)} go on.")


@relay.command()
@as_json
@_of_relay
def close(*, relay: str, as_json: bool) -> None:
    """End a relay. Its sessions are told, and go on by themselves."""
    daemon = client()
    found = daemon.post("relays", relay, "close")
    if as_json:
        show_json(found)
    else:
        closed = known_sessions(daemon, (), [found["reason"]])
        reason = with_names(found["reason"], closed)
        say(f"Relay {found['id']} is over: {reason}.")


def _state(relay: Mapping[str, Any]) -> str:
    if relay["closed_at"]:
        return f"over since {ago(relay['closed_at'])} ({relay['reason']})"
    since = f"open since {ago(relay['created_at'])}"
    if relay["stayed"]:
        return f"{since}, silent after {relay['stayed']}"
    return f"{since}, at most {count(relay['limits']['hops'], 'hop')}"


def _present(relay: Mapping[str, Any]) -> str:
    return ", ".join(each["name"] for each in relay["members"] if not each["left_at"])


def _all(relay: Mapping[str, Any]) -> str:
    return ", ".join(each["name"] for each in relay["members"])
