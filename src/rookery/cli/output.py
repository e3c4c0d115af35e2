"""The commands that print a session's conversation: output and logs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TypedDict, TypeVar, Unpack

import click

from rookery.agents.names import SHELL
from rookery.cli.block_output import BlockRequest, print_blocks, show_page
from rookery.cli.colour import colour_option
from rookery.cli.completion import any_session_names, of_any_session
from rookery.cli.conversation import (
    ConversationPrinter,
    show_answer,
    show_prompt,
    show_rest,
    show_running,
)
from rookery.cli.daemon_log import print_log
from rookery.cli.daemon_waits import await_return, goes_on, patiently
from rookery.cli.earlier_sessions import DEFAULT_TURNS, earlier_sessions
from rookery.cli.events import from_now_on
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import local, remark, say, show_json
from rookery.cli.seen import note_turns_seen
from rookery.client import Client, ConnectionLost
from rookery.client.blocks import show_blocks
from rookery.client.decoding import JsonObject
from rookery.client.session_details import show_conversation
from rookery.client.sessions import SessionInfo, show_screen
from rookery.client.turns import TurnsInfo, show_turns
from rookery.model.errors import BadInput

C = TypeVar("C", bound=Callable[..., object])
T = TypeVar("T")

#: Latest turns that are read again after each event, because several turns may run at once.
RECENT_TURNS = 20

#: Events after which there may be something new to print.
_EVENTS_WITH_OUTPUT = frozenset(
    {"turn-started", "prompt-found", "tool-called", "turn-ended", "session-ended"}
)


class OutputOptions(TypedDict):
    follow: bool
    last: int | None
    whole: bool
    full: bool
    as_json: bool


class BlockOutputOptions(OutputOptions):
    blocks: bool
    after: int | None
    missed: bool


def _conversation_options(command: C) -> C:
    """Add the options that both commands have."""
    options = (
        click.option(
            "--follow",
            "-f",
            is_flag=True,
            help="Keep printing new output until the session ends.",
        ),
        click.option(
            "--last",
            type=click.IntRange(1),
            help="Only the last N turns, or blocks with --blocks.",
        ),
        click.option(
            "--whole", is_flag=True, help="Include the sessions that this one continues."
        ),
        click.option("--full", is_flag=True, help="Do not shorten tool calls and results."),
        colour_option,
        as_json,
    )
    for each in reversed(options):
        command = each(command)
    return command


@click.command(
    epilog=examples(
        "rookery output api --last 1",
        "rookery output api --tools -f",
        "rookery output api --blocks --after 120",
    )
)
@_conversation_options
@click.option("--tools", is_flag=True, help="Also tool calls, as `rookery logs` prints them.")
@click.option(
    "--blocks",
    is_flag=True,
    help="Everything it says and does, numbered: texts, tool calls, results, diffs, plans.",
)
@click.option("--after", type=click.IntRange(0), help="Only the blocks after this number.")
@click.option(
    "--missed", is_flag=True, help="Only the blocks that --missed has not printed before."
)
@of_any_session
@pass_client
def output(
    daemon: Client, *, name: str, tools: bool, **options: Unpack[BlockOutputOptions]
) -> None:
    """Print the prompts and answers of a session, or all blocks of its output.

    With --blocks --json -f one block per line.
    """
    if not options["blocks"]:
        if options["after"] is not None or options["missed"]:
            raise BadInput("--after and --missed are for blocks; add --blocks.")
        _print_conversation(daemon, name, options, with_tools=tools)
        return
    if tools or options["whole"]:
        raise BadInput("--tools and --whole are for turns; --blocks prints tool calls anyway.")
    if options["missed"] and options["after"] is not None:
        raise BadInput("use either --after or --missed.")
    print_blocks(
        daemon,
        name,
        BlockRequest(
            after=options["after"],
            last=options["last"],
            missed=options["missed"],
            follow=options["follow"],
            is_full=options["full"],
            as_json=options["as_json"],
        ),
    )


@click.command(epilog=examples("rookery logs api -f", "rookery logs api --last 1 --full"))
@_conversation_options
@click.option("--lines", "-n", type=click.IntRange(1), hidden=True)
@click.argument("name", required=False, default="", shell_complete=any_session_names)
@pass_client
def logs(
    daemon: Client, *, name: str, lines: int | None, **options: Unpack[OutputOptions]
) -> None:
    """Print the prompts, tool calls and answers of a session.

    Without NAME it prints the daemon's log, like `rookery daemon logs`.
    """
    if name and lines:
        raise BadInput("-n is for the daemon's log; use --last for the turns of a session.")
    if name:
        _print_conversation(daemon, name, options, with_tools=True)
        return
    remark("This is the daemon's log (rookery daemon logs). A session's is:  rookery logs NAME")
    print_log(lines or 50, follow=options["follow"])


def _print_conversation(
    daemon: Client, name: str, options: OutputOptions, *, with_tools: bool
) -> None:
    read = show_conversation if with_tools else show_turns
    last = options["last"] or DEFAULT_TURNS
    turns = _ask_with_retry(daemon, name, partial(read, daemon, name, last=last))
    left = max(last - len(turns.turns), 0) if options["last"] else None
    earlier = earlier_sessions(daemon, turns.session, left, read) if options["whole"] else []
    if options["as_json"]:
        show_json(_as_json(turns, earlier, options, with_tools=with_tools))
        return
    printer = ConversationPrinter(is_full=options["full"])
    for each in earlier:
        say(f"── {each.session.name}, {local(each.session.created_at)} ──\n")
        printer.show(each)
    if turns.session.continues and not options["whole"] and options["last"] is None:
        again = f"rookery {'logs' if with_tools else 'output'} {turns.session.name} --whole"
        remark(f"It continues an earlier session. Show that, too:  {again}")
    printer.show(turns)
    _finish(daemon, turns, printer if with_tools else None, follow=options["follow"])


def _finish(
    daemon: Client, turns: TurnsInfo, printer: ConversationPrinter | None, *, follow: bool
) -> None:
    """Print that a turn runs, and with ``follow`` what comes next; report the turns as seen."""
    if any(turn.ended_at is None for turn in turns.turns):
        show_running(turns.session)
    note_turns_seen(daemon, turns.session, turns.turns)
    if follow:
        turns = _follow_calls(daemon, turns, printer) if printer else _follow(daemon, turns)
    elif not turns.turns:
        _show_without_turns(daemon, turns.session)
    show_rest(turns)


def _ask_with_retry(daemon: Client, name: str, ask: Callable[[], T]) -> T:
    """Send a request; if the daemon restarts, send it once more."""
    try:
        return ask()
    except ConnectionLost:
        await_return(daemon, otherwise=goes_on(name))
        return ask()


def _as_json(
    turns: TurnsInfo, earlier: list[TurnsInfo], options: OutputOptions, *, with_tools: bool
) -> JsonObject:
    parts = ("turns", "unheard", "tools") if with_tools else ("turns", "unheard")
    shown: JsonObject = {part: turns.json[part] for part in parts}
    if options["whole"]:
        names = parts[::2]
        shown["earlier"] = [
            {"session": each.session.id, **{name: each.json[name] for name in names}}
            for each in earlier
        ]
    return shown


def _show_without_turns(daemon: Client, session: SessionInfo) -> None:
    """Print what a session without turns has shown so far, or that there is nothing.

    An agent's screen is printed only once it has ended. It is left out if the reason of the
    failure contains it.
    """
    if session.is_driven or session.is_headless:
        found = show_blocks(daemon, session.id)
        show_page(found)
        if not found.blocks:
            say(f"{session.name} has no terminal, and has answered nothing yet.")
    elif session.agent != SHELL and not session.ended_at:
        say(f"{session.name} has no turn yet. Its screen:  rookery screen {session.name}")
    elif session.status != "failed" or "\n" not in session.reason.strip():
        remark(f"{session.name} has no turn. Its {'last ' if session.ended_at else ''}screen:")
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
        ended = [turn for turn in turns.turns if turn.ended_at][-new:] if new else []
        for turn in ended:
            if turn.started_at not in running:
                show_prompt(turn.prompt)
            show_answer(turn, session)
        sys.stdout.flush()
        note_turns_seen(daemon, turns.session, ended)
    return turns


def _follow_calls(daemon: Client, turns: TurnsInfo, printer: ConversationPrinter) -> TurnsInfo:
    """Print prompts, tool calls and answers as they happen, until the session ends."""
    session = turns.session
    if session.ended_at:
        return turns
    for event in from_now_on(daemon, again=f"rookery logs {session.name} -f"):
        is_news = event.kind == "snapshot" or (
            event.kind in _EVENTS_WITH_OUTPUT and event.fact.session == session.id
        )
        if not is_news:
            continue
        ask = partial(show_conversation, daemon, session.id, last=RECENT_TURNS)
        turns = _ask_with_retry(daemon, session.name, ask)
        printer.show(turns)
        sys.stdout.flush()
        note_turns_seen(daemon, turns.session, turns.turns)
        if turns.session.ended_at:
            break
    return turns
