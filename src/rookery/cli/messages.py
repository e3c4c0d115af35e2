"""The commands that ask for an answer and print the turns of a session."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from time import monotonic
from typing import IO

import click

from rookery.cli.blocked import how_to_answer, open_requests
from rookery.cli.completion import of_session
from rookery.cli.daemon_waits import await_return, goes_on, patiently, stoppable
from rookery.cli.exit_codes import FAILED
from rookery.cli.options import SECONDS, as_json, from_file, pass_client
from rookery.cli.prompts import words_of
from rookery.cli.render import complain, plain, remark, reply, say, show_json
from rookery.cli.send import wait_for_departure
from rookery.cli.tables import cut
from rookery.client import Client, ConnectionLost
from rookery.client.messages import (
    DeliveryInfo,
    MessageInfo,
    MessageOptions,
    await_outcome,
    send_message,
    show_answer,
)
from rookery.client.sessions import (
    SessionInfo,
    TurnInfo,
    TurnsInfo,
    Undelivered,
    show_screen,
    show_turns,
)
from rookery.model.reason_texts import first_line

#: The text about messages that no turn has taken up, by step.
UNHEARD = {
    "failed": "not delivered",
    "unsure": "it may not have arrived",
    "withdrawn": "withdrawn",
}


@click.command()
@click.option("--timeout", type=SECONDS, default=600.0, show_default=True, help="Seconds.")
@from_file
@as_json
@of_session
@click.argument("words", nargs=-1)
@pass_client
def ask(  # noqa: PLR0913 - its options
    daemon: Client,
    *,
    name: str,
    words: tuple[str, ...],
    file: IO[bytes] | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Send a message to a session, wait, and print its answer. Exits with 1 if the turn failed.

    It is a turn of its own, and is not joined with other waiting messages.

    "-" reads standard input. Other users of this computer can see the arguments of a command
    while it waits, but not standard input.
    """
    text = words_of(words, file)
    sent = send_message(daemon, name, text, MessageOptions(alone=True))
    _tell_if_kept(daemon, sent)
    with stoppable(name):
        outcome = _wait_for_outcome(daemon, name, sent.id, timeout)
        if outcome.is_command:
            _tell_of_command(outcome, as_json=as_json)
            return
        turn = show_answer(daemon, sent.id, timeout=0.1)
    if as_json:
        show_json(turn)
    elif turn.how != "failed":
        say(turn.answer)
        _tell_if_unread(turn, outcome.session)
    if turn.how == "failed":
        complain(f"the turn failed: {turn.answer or first_line(outcome.session.reason)}")
    elif turn.how != "finished":
        complain(f"the turn was {turn.how}.")
    if turn.how != "finished":
        sys.exit(FAILED)


def _tell_if_unread(turn: TurnInfo, session: SessionInfo) -> None:
    """Print that the answer may be on the screen only; shells often print nothing."""
    if turn.how == "finished" and not turn.answer and session.agent != "shell":
        remark(
            f"{session.name} gave no answer, or none that can be read here. Some agents"
            " that were started by hand report their answers only by hooks (rookery hooks"
            f" install). See:  rookery screen {session.name}"
        )


def _tell_if_kept(daemon: Client, sent: MessageInfo) -> None:
    """Print why a message waits; a request of its session is shown later."""
    progress = wait_for_departure(daemon, sent)
    if progress.waits and not progress.is_asking:
        remark(progress.fate)


def _wait_for_outcome(daemon: Client, name: str, message: int, timeout: float) -> DeliveryInfo:
    """Wait until a message is answered; report at once if its session asks the user."""
    deadline = monotonic() + timeout
    known_since: str | None = None
    while True:
        outcome = patiently(
            daemon,
            partial(await_outcome, daemon, message, known_since=known_since),
            timeout=max(deadline - monotonic(), 0.1),
            otherwise=goes_on(name),
        )
        if outcome.is_settled or monotonic() > deadline:
            return outcome
        if outcome.session.is_asking:
            known_since = outcome.session.since
            _tell_of_dialog(daemon, outcome.session)


def _tell_of_command(delivery: DeliveryInfo, *, as_json: bool) -> None:
    """Print that the message was a command, which starts no turn."""
    name = delivery.session.name
    accepted = {"message": delivery.message.json, "session": delivery.session.json}
    text = f"{name} has taken the command. See its screen:  rookery screen {name}"
    reply({"command": True, **accepted}, text, as_json=as_json)


def _tell_of_dialog(daemon: Client, session: SessionInfo) -> None:
    complain(f"{session.name} waits for you: {first_line(session.reason)}")
    remark(f"  {how_to_answer(session, open_requests(daemon, session.id))}")


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Follow new turns.")
@click.option("--last", type=click.IntRange(1), default=None, help="Only the last N turns.")
@as_json
@of_session
@pass_client
def output(daemon: Client, *, name: str, follow: bool, last: int | None, as_json: bool) -> None:
    """Print the prompts and answers of a session."""
    ask = partial(show_turns, daemon, name, last=last or 200)
    try:
        turns = ask()
    except ConnectionLost:  # the daemon restarts
        await_return(daemon, otherwise=goes_on(name))
        turns = ask()
    if as_json:
        show_json({part: turns.json[part] for part in ("turns", "unheard")})
        return
    print_turns(turns.turns, turns.session)
    if follow:
        turns = _follow(daemon, turns)
    elif not turns.turns:
        _show_screen_instead(daemon, turns.session)
    _show_rest(turns)


def _show_screen_instead(daemon: Client, session: SessionInfo) -> None:
    """Show the screen of a session without turns, unless its reason contains it."""
    if session.is_headless:
        say(f"{session.name} has no terminal, and has answered nothing yet.")
    elif session.status != "failed" or "\n" not in session.reason.strip():
        lines = show_screen(daemon, session.id).lines
        say("\n".join(line.rstrip() for line in lines).strip() or "Nothing yet.")


def _follow(daemon: Client, turns: TurnsInfo) -> TurnsInfo:
    """Print turns as they end until the session ends."""
    session = turns.session
    running = {turn.started_at for turn in turns.turns if turn.ended_at is None}
    while not turns.session.ended_at:
        after = turns.count
        turns = patiently(
            daemon,
            partial(show_turns, daemon, session.id, after=after),
            timeout=60.0,
            otherwise=goes_on(session.name),
        )
        new = turns.count - after
        for turn in [turn for turn in turns.turns if turn.ended_at][-new:] if new else []:
            if turn.started_at not in running:
                _show_prompt(turn.prompt)
            _show_answer(turn, session)
        sys.stdout.flush()
    return turns


def print_turns(turns: Iterable[TurnInfo], session: SessionInfo) -> None:
    for turn in turns:
        _show_prompt(turn.prompt)
        _show_answer(turn, session)


def _show_prompt(prompt: str, note: str = "") -> None:
    click.secho("❯ " + cut(plain(" ".join(prompt.split())), 200), bold=True, nl=False)
    say(f"  ({note})" if note else "")


def _show_answer(turn: TurnInfo, session: SessionInfo) -> None:
    if turn.ended_at:
        say(turn.answer or f"({turn.how})")
    elif session.is_asking:
        say(f"… (it waits for you: {first_line(session.reason)})")
    else:
        say("… (it is working)")
    say()


def _show_rest(turns: TurnsInfo) -> None:
    """Print the messages that no turn took up and, for a failed session, its reason."""
    for each in turns.unheard:
        _show_prompt(each.words, UNHEARD.get(each.step, _waits(each)))
    if turns.session.status == "failed":
        say(f"{turns.session.name} failed: {turns.session.reason}")


def _waits(unheard: Undelivered) -> str:
    why = unheard.blocked_by
    return f"it waits: {why.removesuffix('.')}" if why else "it waits"
