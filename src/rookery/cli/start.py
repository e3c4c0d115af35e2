"""The command that starts a session."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TypedDict, Unpack

import click

from rookery.agents.names import PROJECT_FILES
from rookery.cli.completion import agent_names
from rookery.cli.options import SECONDS, as_json, not_empty, pass_client
from rookery.cli.prompts import prompt_of
from rookery.cli.render import remark
from rookery.cli.report import awaited, report, warn_of_missing_hooks
from rookery.cli.workspace_texts import describe_start
from rookery.client import Client
from rookery.client.sessions import SessionInfo, StartOrder, start_session
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
    tags: tuple[str, ...]
    profile: str
    worktree: str | None
    base: str
    file: IO[bytes] | None
    wait: bool
    timeout: float | None
    as_json: bool
    prompt: tuple[str, ...]


@click.command()
@click.option(
    "--agent",
    "-a",
    default="",
    shell_complete=agent_names,
    help="claude, codex, gemini, opencode, shell, demo.",
)
@click.option(
    "--profile", "-P", default="", help="Profile of the configuration, instead of an agent."
)
@click.option(
    "--name", "-n", default="", callback=not_empty, help="Default: made of the prompt."
)
@click.option("--project", "-p", default=".", help="Folder to work in. Default: this one.")
@click.option("--runtime", default="tmux", show_default=True)
@click.option("--model", "-m", default="", help="Default: the agent's own choice.")
@click.option("--permission-mode", default="", help="Default: the agent's own.")
@click.option("--no-tools", is_flag=True, help="Without Rookery's tools (MCP).")
@click.option("--tag", "-t", "tags", multiple=True, help="Tag it. Can be repeated.")
@click.option(
    "--worktree",
    "-w",
    is_flag=False,
    flag_value="",
    metavar="[BRANCH]",
    help="In a git worktree of its own. Default branch: rookery/NAME.",
)
@click.option("--base", default="", help="Commit or branch from which it begins; else HEAD.")
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
    if session.workspace:
        remark(describe_start(session.workspace))
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
    branch, words = _branch_and_prompt(options)
    order = StartOrder(
        agent=options["agent"],
        name=options["name"],
        project=str(Path(options["project"]).expanduser().absolute()),
        runtime=options["runtime"],
        model=options["model"],
        permission_mode=options["permission_mode"],
        prompt="" if is_shell else prompt_of(words, options["file"]),
        command=list(words) if is_shell else [],
        environment=environment_here(),
        tools=not options["no_tools"],
        tags=list(options["tags"]),
        profile=options["profile"],
        worktree=options["worktree"] is not None,
        branch=branch,
        base=options["base"],
    )
    try:
        return start_session(daemon, order)
    except Answered as refusal:
        raise _with_hint(refusal, options["prompt"]) from refusal


def _branch_and_prompt(options: StartOptions) -> tuple[str, tuple[str, ...]]:
    """Return the branch of --worktree; text with a blank after the option is the prompt."""
    value = options["worktree"] or ""
    is_prompt = len(value.split()) > 1
    return ("", (value, *options["prompt"])) if is_prompt else (value, options["prompt"])


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
