"""The commands that send messages and print the turns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import click

from rookery.cli.blocked import why_blocked
from rookery.cli.completion import of_any_session, of_session
from rookery.cli.daemon_waits import await_return, goes_on, patiently
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.prompts import prompt_of
from rookery.cli.render import (
    HELD,
    count,
    plain,
    reply,
    say,
    say_verbatim,
    show_json,
)
from rookery.cli.tables import cut
from rookery.client import Client, ConnectionLost
from rookery.client.messages import (
    MessageInfo,
    await_departure,
    send_message,
)
from rookery.client.sessions import (
    MessageProgress,
    SessionInfo,
    TurnInfo,
    TurnsInfo,
    Undelivered,
    show_screen,
    show_turns,
)
from rookery.model.errors import NotRunning, TimedOut
from rookery.model.reason_texts import first_line

#: Seconds for a message to leave; after that it is reported as waiting.
DEPARTURE_TIMEOUT_S = 1.0

#: The text about messages that no turn has taken up, by step.
UNHEARD = {"failed": "not delivered", "unsure": "it may not have arrived"}

#: Steps in which a message no longer waits.
_LEFT = frozenset({"submitted", "acknowledged", "unsure", "failed"})


@click.command(
    epilog=examples('rookery send api "and now the tests"', "rookery send api - < notes.md")
)
@as_json
@of_session
@click.argument("words", nargs=-1, required=True)
@pass_client
def send(daemon: Client, *, name: str, words: tuple[str, ...], as_json: bool) -> None:
    """Send a message to a session, which gets it once it is idle. "-" reads standard input.

    Messages that wait for the same session are joined and answered in one turn, except those
    of "ask": each of these is a turn of its own.

    Other users of this computer can see the arguments of a command, but not standard input.
    """
    sent = send_message(daemon, name, prompt_of(words))
    progress = wait_for_departure(daemon, sent)
    reply(progress.message, " ".join([progress.fate, *_changes(sent)]), as_json=as_json)


def _changes(sent: MessageInfo) -> Iterator[str]:
    """Yield a sentence for each way in which the message does not arrive as it was given."""
    if sent.removed:
        were = "was" if sent.removed == 1 else "were"
        yield f"{count(sent.removed, 'control character')} {were} removed."
    if sent.changed:
        yield f"Its program changes the text: {sent.changed}."


@dataclass(frozen=True, slots=True)
class MessageDeparture:
    """The state of a message a moment after it was sent."""

    message: MessageInfo
    fate: str
    waits: bool
    is_asking: bool = False  #: it waits because its session has a request for the user


def wait_for_departure(daemon: Client, sent: MessageInfo) -> MessageDeparture:
    """Wait a moment for a message to leave."""
    try:
        progress = await_departure(daemon, sent.id, timeout=DEPARTURE_TIMEOUT_S)
    except NotRunning:
        stopped = "Kept: the daemon has stopped. Start it to deliver the message:  rookery up"
        return MessageDeparture(sent, stopped, waits=True)
    except TimedOut:
        look = f"rookery inbox {sent.recipient}"
        silent = f"Kept: the daemon took the message, but does not answer now. See:  {look}"
        return MessageDeparture(sent, silent, waits=True)
    held = progress.holding and progress.message.step == "pending"
    return MessageDeparture(
        progress.message,
        fate(progress.message, progress.session, held=progress.holding),
        waits=progress.message.step not in _LEFT,
        is_asking=progress.session.is_asking and not held,
    )


def fate(message: MessageProgress, session: SessionInfo, *, held: bool = False) -> str:
    """Return what became of a message, a moment after it was sent."""
    match message.step:
        case "submitted" | "acknowledged":
            return "Sent."
        case "unsure":
            return "Sent; it may not have arrived."
        case "failed":
            return f"Not delivered: {message.blocked_by or 'the session has ended.'}"
        case "pending" if held:
            return f"Kept. {HELD}"
        case _:
            return f"Kept: {why_blocked(session, message.blocked_by)}"


@click.command(
    epilog=examples(
        "rookery output api", "rookery output api --last 1", "rookery output api --follow"
    )
)
@click.option("--follow", "-f", is_flag=True, help="Follow new turns.")
@click.option("--last", type=click.IntRange(1), default=None, help="Only the last N turns.")
@as_json
@of_any_session
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
        say_verbatim("\n".join(line.rstrip() for line in lines).strip() or "Nothing yet.")


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
        say_verbatim(turn.answer or f"({turn.how})")
    elif session.is_asking:
        say_verbatim(f"… (it waits for you: {first_line(session.reason)})")
    else:
        say("… (it is working)")
    say()


def _show_rest(turns: TurnsInfo) -> None:
    """Print the messages that no turn took up and, for a failed session, its reason."""
    for each in turns.unheard:
        _show_prompt(each.words, UNHEARD.get(each.step, _waits(each)))
    if turns.session.status == "failed":
        say_verbatim(f"{turns.session.name} failed: {turns.session.reason}")


def _waits(unheard: Undelivered) -> str:
    why = unheard.blocked_by
    return f"it waits: {why.removesuffix('.')}" if why else "it waits"
