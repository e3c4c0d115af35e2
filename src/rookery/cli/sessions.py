"""The commands for sessions: start, list, wait for and rename them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TypedDict, Unpack

import click

from rookery.agents.names import PROJECT_FILES
from rookery.cli.completion import agent_names, of_session, session_names
from rookery.cli.daemon_waits import WaitGoal, gathered, how_many, stoppable
from rookery.cli.exit_codes import FAILED
from rookery.cli.options import SECONDS, as_json, examples, not_empty, pass_client
from rookery.cli.prompts import prompt_of
from rookery.cli.render import (
    HELD,
    at_deadline,
    out_of_date,
    remark,
    reply,
    rules_warning,
    say,
    show_json,
)
from rookery.cli.report import awaited, has_failed, report, summary, warn_of_missing_hooks
from rookery.cli.session_table import show_sessions
from rookery.client import Client
from rookery.client.sessions import (
    PendingInfo,
    SessionInfo,
    SessionList,
    StartOrder,
    list_sessions,
    rename_session,
    show_session,
    start_session,
)
from rookery.environment import FROM_CALLER
from rookery.model.errors import Answered


class StartOptions(TypedDict):
    agent: str
    name: str
    project: str
    runtime: str
    model: str
    permission_mode: str
    no_tools: bool
    file: IO[bytes] | None
    wait: bool
    timeout: float | None
    as_json: bool
    prompt: tuple[str, ...]


@click.command()
@click.option(
    "--agent",
    "-a",
    required=True,
    shell_complete=agent_names,
    help="claude, codex, gemini, opencode, shell, demo.",
)
@click.option(
    "--name", "-n", default="", callback=not_empty, help="Default: made of the prompt."
)
@click.option("--project", "-p", default=".", help="Folder to work in. Default: this one.")
@click.option("--runtime", default="tmux", show_default=True)
@click.option("--model", "-m", default="", help="Default: the agent's own choice.")
@click.option("--permission-mode", default="", help="Default: the agent's own.")
@click.option("--no-tools", is_flag=True, help="Without Rookery's tools (MCP).")
@click.option("--file", "-f", type=click.File("rb"), help="Read the prompt from a file.")
@click.option(
    "--wait", is_flag=True, help="Wait until it is up and, with a prompt, has answered."
)
@click.option("--timeout", type=SECONDS, help="Seconds to wait. Default: no limit.")
@as_json
@click.argument("prompt", nargs=-1)
@pass_client
def start(daemon: Client, **given: Unpack[StartOptions]) -> None:
    """Start an agent, optionally with a PROMPT; "-" reads it from standard input.

    For the agent "shell", "--" precedes the command to run. With --wait it exits with 1 if the
    session or its first turn fails.
    """
    session = _begin(daemon, given)
    if project_settings := _project_settings(session):
        remark(f"This project has settings of its own for {session.agent}: {project_settings}.")
    warn_of_missing_hooks(daemon, session)
    if given["wait"]:
        until = "stop" if session.first_prompt else "up"
        session = awaited(daemon, session, until, given["timeout"])
    report(daemon, session, as_json=given["as_json"])


def _project_settings(session: SessionInfo) -> str:
    """Name the project files that may run programs once the agent trusts the folder."""
    folder = Path(session.project_path)
    names = PROJECT_FILES.get(session.agent, ())
    present = [name for name in names if (folder / name).exists()]
    return (
        ", ".join(present) if folder != Path.home() else ""
    )  # in the home they are the user's


def _begin(daemon: Client, options: StartOptions) -> SessionInfo:
    is_shell = options["agent"] == "shell"
    order = StartOrder(
        agent=options["agent"],
        name=options["name"],
        project=str(Path(options["project"]).expanduser().absolute()),
        runtime=options["runtime"],
        model=options["model"],
        permission_mode=options["permission_mode"],
        prompt="" if is_shell else prompt_of(options["prompt"], options["file"]),
        command=list(options["prompt"]) if is_shell else [],
        environment=environment_here(),
        tools=not options["no_tools"],
    )
    try:
        return start_session(daemon, order)
    except Answered as refusal:
        raise _with_hint(refusal, options["prompt"]) from refusal


def _with_hint(refusal: Answered, command: Sequence[str]) -> Answered:
    """Add a hint if a whole command line was given as one argument."""
    if refusal.code != "program-missing" or len(command) != 1 or " " not in command[0]:
        return refusal
    return Answered(refusal.code, f"{refusal} Or leave out the quotes:  -- {command[0]}")


def environment_here() -> dict[str, str]:
    """Return the variables that the daemon may use; empty within a session."""
    if "ROOKERY_BADGE" in os.environ:
        return {}
    return {name: os.environ[name] for name in FROM_CALLER if name in os.environ}


@click.command()
@click.option("--all", "-a", "everything", is_flag=True, help="Also older ones.")
@click.option("--tree", is_flag=True, help="Show each below the session that started it.")
@as_json
@pass_client
def ls(daemon: Client, *, everything: bool, tree: bool, as_json: bool) -> None:
    """List sessions; those that wait for you come first."""
    listed = list_sessions(daemon, all=everything)
    reply(listed, partial(_show_list, listed, as_tree=tree), as_json=as_json)


def _show_list(listed: SessionList, *, as_tree: bool) -> None:
    if listed.holding:
        remark(HELD)
    if listed.trouble:
        remark(out_of_date(listed.trouble))
    if listed.hooks_problem:
        remark(f"{listed.hooks_problem}.")
    if listed.rules_problem:
        remark(rules_warning(listed.rules_problem))
    show_sessions(
        listed.sessions,
        kept=listed.kept,
        failures=listed.failures,
        asked=_deadlines(listed.pending, listed.on_timeout),
        as_tree=as_tree,
    )


def _deadlines(pending: Mapping[str, PendingInfo], on_timeout: str) -> dict[str, str]:
    """Return a note for each session about the deadline of its request, or that it passed."""
    notes = {}
    for session, each in pending.items():
        if each.missed:
            notes[session] = "missed"
        elif each.deadline:
            notes[session] = at_deadline(each.deadline, on_timeout, each.fallback)
    return notes


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
