"""The command that starts an agent, prints its answer and ends it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Unpack

import click

from rookery.cli.ask import exit_by_turn
from rookery.cli.blocked import open_requests
from rookery.cli.exit_codes import FAILED, INTERRUPTED
from rookery.cli.failures import fail
from rookery.cli.options import examples, pass_client
from rookery.cli.prompts import prompt_of
from rookery.cli.render import remark, say_verbatim, show_json
from rookery.cli.report import SessionWait, awaited_until_interrupted, has_failed, summary
from rookery.cli.start_options import (
    StartCommand,
    StartOptions,
    begin,
    has_prompt,
    is_for_shell,
    start_options,
)
from rookery.client import Client
from rookery.client.sessions import SessionInfo, end_done_session
from rookery.client.turns import TurnInfo, show_turns
from rookery.model.errors import Answered, BadInput, NotRunning, PersonNeeded
from rookery.model.permissions import DIALOG
from rookery.presentation.texts import as_sentence


@click.command(
    cls=StartCommand,
    epilog=examples(
        'rookery run claude "Which tests are slow?"',
        "git diff | rookery run claude --permission-mode plan",
        'rookery run codex --keep --name review --json "Review the last commit."',
    ),
)
@click.option("--keep", is_flag=True, help="Do not end the session afterwards.")
@start_options
@pass_client
def run(daemon: Client, *, keep: bool, **given: Unpack[StartOptions]) -> None:
    """Start an agent with a PROMPT, print its answer, and end it.

    Without a prompt, or with "-", it reads standard input. Exits with 0 if the turn finished,
    1 if it failed or was interrupted, 4 if it timed out, 6 if the agent needs you.
    """
    if is_for_shell(given):
        raise BadInput("run needs an agent that answers; a shell has no turns.")
    session = begin(daemon, given, prompt=_prompt_from_pipe(given))
    wait = SessionWait("stop", given["timeout"], given["on_permission"], shows_tools=True)
    with _ended_afterwards(daemon, session, keep=keep):
        session = awaited_until_interrupted(daemon, session, wait)
        turns = [each for each in show_turns(daemon, session.id).turns if each.ended_at]
        _print(session, turns, as_json=given["as_json"])
    if not turns:
        fail("no-answer", summary(daemon, session), FAILED)
    exit_by_turn(turns[-1], session)
    if has_failed(session):
        sys.exit(FAILED)


def _prompt_from_pipe(options: StartOptions) -> str | None:
    """Return the text on standard input; ``None`` if the options contain a prompt."""
    if has_prompt(options):
        return None
    if sys.stdin.isatty():
        raise BadInput('give a prompt:  rookery run claude "Which tests are slow?"')
    text = prompt_of(("-",))
    if not text.strip():
        raise BadInput("there is no prompt, and standard input is empty.")
    return text


def _print(session: SessionInfo, turns: list[TurnInfo], *, as_json: bool) -> None:
    if as_json:
        answer = turns[-1].answer if turns else ""
        shown = {"session": session.json, "turns": [each.json for each in turns]}
        show_json({"answer": answer, "how": turns[-1].how if turns else "", **shown})
        return
    for turn in turns:
        if turn.how != "failed":
            say_verbatim(turn.answer)
    sys.stdout.flush()


def _takes_rules(daemon: Client, session: SessionInfo) -> bool:
    """Return whether rules can answer what a session asks: a tool call, not a dialog."""
    requests = open_requests(daemon, session.id)
    return any(each.kind == "permission" and each.tool != DIALOG for each in requests)


@contextmanager
def _ended_afterwards(daemon: Client, session: SessionInfo, *, keep: bool) -> Iterator[None]:
    """End the session when the body is over; after Ctrl-C print what became of it."""
    try:
        yield
    except PersonNeeded as needed:
        if keep:
            raise
        by_rule = "allow it by a rule, or " if _takes_rules(daemon, session) else ""
        how = f"{by_rule}use --keep and answer it"
        raise PersonNeeded(
            f"{as_sentence(str(needed))} The session was ended.", how=how
        ) from needed
    except KeyboardInterrupt:
        fate = f"is kept. See:  rookery output {session.name}" if keep else "was ended."
        remark(f"\nStopped; {session.name} {fate}")
        sys.exit(INTERRUPTED)
    finally:
        if not keep:
            with suppress(NotRunning, Answered):  # it may have ended by itself
                end_done_session(daemon, session.id)
