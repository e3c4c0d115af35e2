"""The commands that continue a conversation, or start a branch of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Literal, TypedDict, TypeVar, Unpack, get_args

import click

from rookery.cli.completion import agent_names, any_session_names, folders, runtime_names
from rookery.cli.cut_off import what_was_cut_off
from rookery.cli.options import SECONDS, as_json, examples, not_empty, pass_client
from rookery.cli.person_needed import on_permission_option
from rookery.cli.prompts import prompt_of
from rookery.cli.render import remark
from rookery.cli.report import (
    SessionWait,
    awaited,
    report,
    report_answer,
    warn_of_changed_config,
    warn_of_missing_hooks,
)
from rookery.cli.resume_lost import LostSelection, resume_all
from rookery.cli.start_options import environment_here
from rookery.cli.workspace_texts import describe_sharing
from rookery.client import Client
from rookery.client.starts import ResumeOrder, resume_session
from rookery.model.errors import BadInput
from rookery.user_paths import expanded

C = TypeVar("C", bound=Callable[..., object])


class ResumeOptions(TypedDict):
    name: str
    agent: str
    project: str
    runtime: str
    budget: float | None
    queue: bool
    file: IO[bytes] | None
    wait: bool
    timeout: float | None
    on_permission: str | None
    as_json: bool
    session: str
    prompt: tuple[str, ...]


class ResumeCommandOptions(ResumeOptions):
    fork: bool
    lost: bool
    everything: bool
    within: float | None
    yes: bool


_OptionOfOne = Literal[
    "session",
    "prompt",
    "fork",
    "name",
    "agent",
    "project",
    "runtime",
    "budget",
    "queue",
    "file",
    "wait",
    "timeout",
    "on_permission",
]

#: The options of both commands, in the order of the help.
_OPTIONS = (
    click.option(
        "--name",
        "-n",
        default="",
        callback=not_empty,
        help="Default: its old name, if that is free.",
    ),
    click.option(
        "--agent",
        "-a",
        default="",
        shell_complete=agent_names,
        help="With the id of a conversation that Rookery does not know: its agent.",
    ),
    click.option(
        "--project",
        "-p",
        default="",
        shell_complete=folders,
        help="Its folder, likewise.",
    ),
    click.option(
        "--runtime",
        default="",
        shell_complete=runtime_names,
        help="tmux, sdk, acp, codex or opencode. Default: the same as before.",
    ),
    click.option(
        "--budget",
        type=click.FloatRange(min=0, min_open=True),
        metavar="USD",
        help="Driven session: further US dollars after which it ends. Default: as before.",
    ),
    click.option(
        "--queue",
        is_flag=True,
        help="Driven session: at limits.driven_sessions, wait instead of failing.",
    ),
    click.option("--file", "-f", type=click.File("rb"), help="Read the prompt from a file."),
    click.option(
        "--wait",
        is_flag=True,
        help="Wait until it is up; with a prompt, print its answer.",
    ),
    click.option("--timeout", type=SECONDS, help="Seconds to wait. Default: no limit."),
    on_permission_option(),
    as_json,
    click.argument("prompt", nargs=-1),
)


def _with_options(command: C) -> C:
    """Add the options that choose the conversation and how it continues."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


#: The options for a single session, which cannot be combined with --lost or --all.
_OPTIONS_OF_ONE: tuple[_OptionOfOne, ...] = get_args(_OptionOfOne)


@click.command(
    epilog=examples(
        'rookery resume builder "and now the tests"',
        "rookery resume --lost",
        "rookery resume 0f8a3c1e-58d4-4b5e-9a53-0c8de7d2a111 --agent claude --project .",
    )
)
@click.option("--fork", is_flag=True, help="Start a branch; the same as fork.")
@click.option(
    "--lost",
    is_flag=True,
    help="Every session that ended because the daemon, tmux or the computer did.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also sessions whose program failed, or that ended after a long inactivity.",
)
@click.option(
    "--within",
    type=click.FloatRange(min=0, min_open=True),
    help="Hours since the end. Default: 168 with --lost, 24 with --all.",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@click.argument("session", required=False, default="", shell_complete=any_session_names)
@_with_options
@pass_client
def resume(daemon: Client, **given: Unpack[ResumeCommandOptions]) -> None:
    """Continue the conversation of SESSION, which has ended, in a new session.

    It has the same agent, folder, model and mode. The conversation of a live session can only
    be branched. The id of a conversation that Rookery does not know is passed to the agent.
    --lost and --all resume several sessions that were not resumed yet, with their old names.
    """
    if not (given["lost"] or given["everything"]):
        if not given["session"] or given["within"] or given["yes"]:
            raise BadInput("name a session, or use --lost or --all.")
        _resume(daemon, given, fork=given["fork"])
        return
    if any(given[each] for each in _OPTIONS_OF_ONE):
        raise BadInput("--lost and --all take only --within, --yes and --json.")
    selection = LostSelection(given["everything"], given["within"])
    resume_all(daemon, selection, is_sure=given["yes"], as_json=given["as_json"])


@click.command(epilog=examples('rookery fork builder --name other "without the cache"'))
@click.argument("session", shell_complete=any_session_names)
@_with_options
@pass_client
def fork(daemon: Client, **given: Unpack[ResumeOptions]) -> None:
    """Start a new session with a branch of the conversation of SESSION, which may be live."""
    _resume(daemon, given, fork=True)


def _resume(daemon: Client, options: ResumeOptions, *, fork: bool) -> None:
    project = options["project"]
    order = ResumeOrder(
        fork=fork,
        prompt=prompt_of(options["prompt"], options["file"]),
        name=options["name"],
        agent=options["agent"],
        project=str(expanded(project).absolute()) if project else "",
        environment=environment_here(),
        runtime=options["runtime"],
        budget_usd=options["budget"],
        queue=options["queue"],
    )
    session = resume_session(daemon, options["session"], order)
    if sharing := describe_sharing(daemon, session):
        remark(sharing)
    for each in () if fork else what_was_cut_off(daemon, session):
        remark(f"{session.name}: {each}")
    warn_of_missing_hooks(daemon, session)
    warn_of_changed_config(daemon)
    if not options["wait"]:
        report(daemon, session, as_json=options["as_json"])
        return
    until = "stop" if session.first_prompt else "up"
    wait = SessionWait(until, options["timeout"], options["on_permission"])
    session = awaited(daemon, session, wait)
    report_answer(daemon, session, as_json=options["as_json"])
