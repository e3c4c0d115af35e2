"""The commands for conversations that ended, or that one wants a branch of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rookery.cli.completion import agent_names, session_names
from rookery.cli.messages import prompt_of
from rookery.cli.root import SECONDS, as_json, client, examples, not_empty, rookery
from rookery.cli.sessions import awaited, environment_here, report

C = TypeVar("C", bound=Callable[..., object])


def _how(command: C) -> C:
    """Let a command be told what to take up, and how it goes on."""
    for option in reversed(
        (
            click.option(
                *("--name", "-n"),
                default="",
                callback=not_empty,
                help="Else its old one, if that is free.",
            ),
            click.option(
                *("--agent", "-a"),
                default="",
                shell_complete=agent_names,
                help="Whose it is, of a conversation that Rookery does not know.",
            ),
            click.option("--project", "-p", default="", help="And the folder to go on in."),
            click.option(
                "--file", "-f", type=click.File("rb"), help="Read the prompt from a file."
            ),
            click.option("--wait", is_flag=True, help="Until it is up, or has answered."),
            click.option("--timeout", type=SECONDS, help="Seconds to wait; else for ever."),
            as_json,
            click.argument("session", shell_complete=session_names),
            click.argument("prompt", nargs=-1),
        )
    ):
        command = option(command)
    return command


@rookery.command(
    epilog=examples(
        'rookery resume builder "and now the tests"',
        "rookery resume 0f8a3c1e-58d4-4b5e-9a53-0c8de7d2a111 --agent claude --project .",
    )
)
@click.option("--fork", is_flag=True, help="A branch of its own; the same as fork.")
@_how
def resume(*, fork: bool, **given: Any) -> None:  # noqa: ANN401 - the options above
    """Go on with the conversation of SESSION, which is over, in a new session.

    It goes on as the same agent, in the same folder, with the same model and mode. What
    still lives can only be branched. A conversation's own id, of one that Rookery has never
    seen, is handed to the agent.
    """
    _take_up(given, fork=fork)


@rookery.command(epilog=examples('rookery fork builder --name other "without the cache"'))
@_how
def fork(**given: Any) -> None:  # noqa: ANN401 - the options above
    """Begin a new session with a branch of the conversation of SESSION, which may live."""
    _take_up(given, fork=True)


def _take_up(given: dict[str, Any], *, fork: bool) -> None:
    daemon = client()
    project = given["project"]
    session = daemon.post(
        *("sessions", given["session"], "resume"),
        fork=fork,
        prompt=prompt_of(given["prompt"], given["file"]),
        name=given["name"],
        agent=given["agent"],
        project=str(Path(project).expanduser().absolute()) if project else "",
        environment=environment_here(),
    )
    if given["wait"]:
        until = "stop" if session["first_prompt"] else "up"
        session = awaited(daemon, session, until, given["timeout"])
    report(session, as_json=given["as_json"])
