"""The commands that wait for sessions and rename them."""

from __future__ import annotations

import sys
from typing import TypedDict, Unpack

import click

from rookery.cli.completion import of_session, session_names
from rookery.cli.daemon_waits import WaitGoal, gathered, how_many, stoppable
from rookery.cli.exit_codes import FAILED
from rookery.cli.options import SECONDS, as_json, examples, pass_client
from rookery.cli.render import reply, say, show_json
from rookery.cli.report import awaited, has_failed, report, summary
from rookery.client import Client
from rookery.client.sessions import SessionInfo, rename_session, show_session


class WaitOptions(TypedDict):
    until: str
    every: bool
    some: bool
    number: int | None
    timeout: float | None
    as_json: bool
    names: tuple[str, ...]


@click.command(
    epilog=examples("rookery wait builder", "rookery wait builder tester --any --timeout 600")
)
@click.option(
    "--until", type=click.Choice(["up", "stop", "end"]), default="stop", show_default=True
)
@how_many
@click.option("--timeout", type=SECONDS, help="Seconds to wait. Default: no limit.")
@as_json
@click.argument("names", nargs=-1, required=True, shell_complete=session_names)
@pass_client
def wait(daemon: Client, **given: Unpack[WaitOptions]) -> None:
    """Wait until sessions stop, need you, or end.

    Each session is reported when it gets there. It waits for all of them, unless --any or
    --count is given. Exits with 1 if one of them, or its last turn, failed.
    """
    names = given["names"]
    enough = WaitGoal(given["every"], given["some"], given["number"]).of(names, otherwise="all")
    if len(names) > 1:
        number = {"all": len(names), "any": 1}.get(str(enough)) or int(enough)
        _wait_for_several(daemon, given, number)
        return
    session = show_session(daemon, names[0])
    session = awaited(daemon, session, given["until"], given["timeout"])
    report(daemon, session, as_json=given["as_json"])


def _wait_for_several(daemon: Client, options: WaitOptions, needed: int) -> None:
    names, reached = options["names"], list[SessionInfo]()
    until, timeout = options["until"], options["timeout"]
    with stoppable(*names):
        for session in gathered(daemon, names, needed=needed, until=until, timeout=timeout):
            reached.append(session)
            if not options["as_json"]:
                say(summary(daemon, session))
                sys.stdout.flush()
    if options["as_json"]:
        show_json({"sessions": [each.json for each in reached]})
    if any(map(has_failed, reached)):
        sys.exit(FAILED)


@click.command()
@as_json
@of_session
@click.argument("new_name")
@pass_client
def rename(daemon: Client, *, name: str, new_name: str, as_json: bool) -> None:
    """Rename a session."""
    session = rename_session(daemon, name, new_name)
    reply(session, f"Renamed to {session.name}.", as_json=as_json)
