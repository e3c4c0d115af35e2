"""Define the options that start a session, and build the start request from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TypedDict, TypeVar

import click

from rookery.agents.names import NAMES, PROJECT_FILES, SHELL
from rookery.cli.agent_words import is_agent, require_no_misspelt_agent, without_agent_of
from rookery.cli.completion import agent_names, folders, permission_modes, runtime_names
from rookery.cli.options import SECONDS, as_json, not_empty
from rookery.cli.person_needed import on_permission_option
from rookery.cli.prompts import prompt_of
from rookery.cli.render import remark
from rookery.cli.report import warn_of_changed_config, warn_of_missing_hooks
from rookery.cli.workspace_texts import describe_start
from rookery.client import Client
from rookery.client.sessions import SessionInfo
from rookery.client.starts import AUTO_RUNTIME, StartOrder, start_session
from rookery.environment import FROM_CALLER
from rookery.model.errors import Answered
from rookery.user_paths import expanded

C = TypeVar("C", bound=Callable[..., object])


class StartOptions(TypedDict):
    agent: str
    name: str
    project: str
    runtime: str
    budget: float | None
    system_prompt: str
    allowed_tools: tuple[str, ...]
    single_turn: bool
    queue: bool
    model: str
    permission_mode: str
    no_tools: bool
    tags: tuple[str, ...]
    profile: str
    worktree: str | None  #: the word after --worktree, "" without one; ``None``: not given
    base: str
    file: IO[bytes] | None
    timeout: float | None
    on_permission: str | None
    as_json: bool
    prompt: tuple[str, ...]
    arguments: tuple[str, ...]  #: the words after "--"


class StartCommand(click.Command):
    """A command whose words after "--" are for the agent's program, not for Rookery."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        own, others = args[:at], args[at + 1 :]
        remaining = super().parse_args(ctx, own)
        ctx.params["arguments"] = tuple(others)
        return remaining

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGS...]"]


#: The options that describe the session to start, in the order of the help.
_START_OPTIONS = (
    click.option(
        "--agent",
        "-a",
        default="",
        shell_complete=agent_names,
        help=f"{', '.join(NAMES)}. Default: the first word, or default_agent.",
    ),
    click.option(
        "--profile",
        "-P",
        default="",
        help="Profile of the configuration, instead of an agent.",
    ),
    click.option(
        "--name",
        "-n",
        default="",
        callback=not_empty,
        help="Name of the session. Default: derived from the prompt.",
    ),
    click.option(
        "--project",
        "-p",
        default=".",
        shell_complete=folders,
        help="Folder to work in. Default: this one.",
    ),
    click.option(
        "--runtime",
        default=AUTO_RUNTIME,
        shell_complete=runtime_names,
        help="tmux, or no terminal: sdk, acp, codex, opencode. Default: agents.NAME.runtime.",
    ),
    click.option(
        "--budget",
        type=click.FloatRange(min=0, min_open=True),
        metavar="USD",
        help="Driven session: US dollars after which it ends.",
    ),
    click.option(
        "--system-prompt", default="", help="Driven session: add this to its instructions."
    ),
    click.option(
        "--allow-tool",
        "allowed_tools",
        multiple=True,
        help="Driven session: a tool that it may use without asking. Can be repeated.",
    ),
    click.option(
        "--single-turn", is_flag=True, help="Driven session: end it after its first turn."
    ),
    click.option(
        "--queue",
        is_flag=True,
        help="Driven session: at limits.driven_sessions, wait instead of failing.",
    ),
    click.option("--model", "-m", default="", help="Default: the agent's own choice."),
    click.option(
        "--permission-mode",
        default="",
        shell_complete=permission_modes,
        help="Default: the agent's own.",
    ),
    click.option("--no-tools", is_flag=True, help="Do not give the agent Rookery's MCP tools."),
    click.option(
        "--tag", "-t", "tags", multiple=True, help="Tag of the session. Can be repeated."
    ),
    click.option(
        "--worktree",
        "-w",
        is_flag=False,
        flag_value="",
        metavar="[BRANCH]",
        help="Start it in a git worktree of its own. Default branch: rookery/NAME.",
    ),
    click.option(
        "--base",
        default="",
        help="With --worktree: commit, branch or tag to begin at. Default: HEAD.",
    ),
    click.option("--file", "-f", type=click.File("rb"), help="Read the prompt from a file."),
    click.option("--timeout", type=SECONDS, help="Seconds to wait. Default: no limit."),
    on_permission_option(),
    as_json,
    click.argument("prompt", nargs=-1, shell_complete=agent_names),
)


def start_options(command: C) -> C:
    """Add the options that describe the session to start."""
    for option in reversed(_START_OPTIONS):
        command = option(command)
    return command


def begin(daemon: Client, options: StartOptions, *, prompt: str | None = None) -> SessionInfo:
    """Start the session that the options describe, and print notes and warnings about it.

    ``prompt`` replaces the prompt of the options.
    """
    agent, words = _agent_and_words(options)
    if words and not (agent or options["profile"]):
        require_no_misspelt_agent(words[0])
    is_shell, arguments = agent == SHELL, options["arguments"]
    if prompt is None:
        prompt = "" if is_shell else prompt_of(words, options["file"])
    order = StartOrder(
        agent=agent,
        name=options["name"],
        project=str(expanded(options["project"]).absolute()),
        runtime=options["runtime"],
        budget_usd=options["budget"],
        system_prompt=options["system_prompt"],
        allowed_tools=[*options["allowed_tools"]],
        single_turn=options["single_turn"],
        queue=options["queue"],
        model=options["model"],
        permission_mode=options["permission_mode"],
        prompt=prompt,
        command=[*words, *arguments] if is_shell else [],
        environment=environment_here(),
        tools=not options["no_tools"],
        arguments=[] if is_shell else [*arguments],
        tags=[*options["tags"]],
        profile=options["profile"],
        worktree=options["worktree"] is not None,
        branch=_branch(options),
        base=options["base"],
    )
    try:
        session = start_session(daemon, order)
    except Answered as refusal:
        raise _with_hint(refusal, order.command) from refusal
    _warn(daemon, session)
    return session


def has_prompt(options: StartOptions) -> bool:
    """Return whether the options contain a prompt."""
    return bool(_agent_and_words(options)[1] or options["file"])


def is_for_shell(options: StartOptions) -> bool:
    return _agent_and_words(options)[0] == SHELL


def _agent_and_words(options: StartOptions) -> tuple[str, tuple[str, ...]]:
    """Return the agent (--agent, or the first word if it names one) and the other words."""
    agent, words = options["agent"], options["prompt"]
    if (value := options["worktree"]) and not _branch(options):
        # click took the word after a bare --worktree for its branch: an agent's name is the
        # first word again, and a quoted prompt the last.
        words = (value, *words) if value in NAMES else (*words, value)
    if options["profile"] and not agent:
        return "", without_agent_of(options["profile"], words)
    if agent or not words or not is_agent(words[0]):
        return agent, words
    return words[0], words[1:]


def _branch(options: StartOptions) -> str:
    """Return the branch given to --worktree; empty if an agent or a prompt follows it."""
    value = options["worktree"] or ""
    is_agent = value in NAMES and not options["agent"] and not options["profile"]
    return "" if is_agent or len(value.split()) > 1 else value


def _warn(daemon: Client, session: SessionInfo) -> None:
    if project_settings := _project_settings(session):
        remark(f"This project has settings of its own for {session.agent}: {project_settings}.")
        if session.is_driven:
            remark("Without a terminal they are used only if you have accepted this folder.")
    if session.workspace:
        remark(describe_start(session.workspace))
    warn_of_missing_hooks(daemon, session)
    warn_of_changed_config(daemon)


def _project_settings(session: SessionInfo) -> str:
    """Return the project files that may run programs once the agent trusts the folder."""
    folder = Path(session.project_path)
    names = PROJECT_FILES.get(session.agent, ())
    present = [name for name in names if (folder / name).exists()]
    # In the home folder, these files are the user's own settings.
    return ", ".join(present) if folder != Path.home() else ""


def _with_hint(refusal: Answered, command: Sequence[str]) -> Answered:
    """Add a hint for a whole command line in one argument."""
    if refusal.code == "program-missing" and len(command) == 1 and " " in command[0]:
        return Answered(refusal.code, f"{refusal} Or leave out the quotes:  -- {command[0]}")
    return refusal


def environment_here() -> dict[str, str]:
    """Return the variables that a new session takes from the caller; empty in a session."""
    if "ROOKERY_BADGE" in os.environ:
        return {}
    return {name: os.environ[name] for name in FROM_CALLER if name in os.environ}
