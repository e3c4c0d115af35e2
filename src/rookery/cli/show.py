"""The command that shows everything about one session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

import click

from rookery.cli.colour import colour_option, is_colourful
from rookery.cli.completion import of_any_session
from rookery.cli.conversation import EXPIRED
from rookery.cli.names import with_names_from
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.program_name import with_program_name_in_prose
from rookery.cli.render import ago, local, reply, short
from rookery.cli.seen import note_turns_seen
from rookery.cli.tables import width_here
from rookery.cli.wrapping import say_wrapped
from rookery.client import Client
from rookery.client.session_details import DetailsInfo, RelativeInfo, show_details
from rookery.client.sessions import ListedSession
from rookery.client.turns import TurnInfo
from rookery.client.workspaces import show_workspace
from rookery.model.messages import EXPIRY
from rookery.model.money import in_dollars
from rookery.model.reason_texts import in_one_line
from rookery.presentation.activity import Surroundings, activity, tool_text
from rookery.presentation.cells import cut
from rookery.presentation.next_steps import next_commands
from rookery.presentation.projects import project_folder
from rookery.presentation.runtimes import runtime_text
from rookery.presentation.states import state_with_reason, state_word, status_word
from rookery.presentation.texts import count, one_line, plain
from rookery.presentation.turns import outcome_note
from rookery.presentation.worktrees import compared_with_base

#: Maximum lines of the last prompt and of its answer that are printed.
MAX_PROMPT_LINES, MAX_ANSWER_LINES = 3, 8

#: Cells of the column of titles, with the gap after it.
_TITLE_CELLS = 13

#: A line of the output: the title of a detail of the session, and its value.
Detail = tuple[str, str]


@click.command(epilog=examples("rookery show api", "rookery show api --json"))
@colour_option
@as_json
@of_any_session
@pass_client
def show(daemon: Client, *, name: str, as_json: bool) -> None:
    """Show everything about one session, and the commands for what to do next."""
    details = show_details(daemon, name)
    reply(details, partial(_print, daemon, details), as_json=as_json)


def _print(daemon: Client, details: DetailsInfo) -> None:
    session, width = details.session, width_here()
    click.echo(_title(session, width))
    facts = [
        *_now(daemon, details),
        *_agent(session),
        *_place(daemon, session),
        ("overlap", details.overlap),
        *_times(session),
    ]
    for title, value in (*facts, *_relatives(details), *_queue(details)):
        if value:
            say_wrapped(one_line(value), first=f"  {title:<{_TITLE_CELLS}}")
    if details.last:
        _print_turn(details.last)
    click.echo("\nNext:")
    for each in next_commands(session, details.requests):
        click.echo(cut(with_program_name_in_prose(f"  {one_line(each)}"), width))
    note_turns_seen(daemon, session, [details.last] if details.last else [])


def _title(session: ListedSession, width: int) -> str:
    since = f" for {ago(session.since)}" if session.since else ""
    title = cut(one_line(f"{session.name}  {state_word(session)}{since}"), width)
    return click.style(title, bold=True) if is_colourful() else title


def _now(daemon: Client, details: DetailsInfo) -> Iterator[Detail]:
    session = details.session
    last = details.last
    failure = last.answer if session.has_failed_turn and last else ""
    yield "now", activity(session, Surroundings(datetime.now(UTC), failure=failure))
    yield "state", with_names_from(state_with_reason(session), daemon)
    if session.last_tool:
        tool = in_one_line(tool_text(session.last_tool, session.tool_argument))
        when = f" · {ago(session.tool_at)} ago" if session.tool_at else ""
        yield "last tool", f"{tool}{when}"
    for request in details.requests:
        yield "asks", f"{request.id}  {in_one_line(request.message)}"


def _agent(session: ListedSession) -> Iterator[Detail]:
    yield "agent", session.agent
    yield "profile", session.profile
    yield "runtime", runtime_text(session) or session.runtime
    yield "model", session.model
    yield "permissions", session.permission_mode
    tokens = f"{session.input_tokens:,} in, {session.output_tokens:,} out"
    yield "tokens", tokens if session.input_tokens or session.output_tokens else ""
    context = f"{session.context_tokens:,} tokens"
    yield "context", context if session.context_tokens else ""
    estimated = " (estimated)" if session.estimated_cost else ""
    yield "cost", "" if session.cost_usd is None else f"${session.cost_usd:.4f}{estimated}"
    yield "budget", f"${in_dollars(session.budget):.2f}" if session.budget else ""
    denied = f", {session.denial_count} denied" if session.denial_count else ""
    yield "tools", f"{count(session.tool_count, 'call')}{denied}" if session.tool_count else ""


def _place(daemon: Client, session: ListedSession) -> Iterator[Detail]:
    yield "tags", ", ".join(session.tags)
    yield "project", short(project_folder(session))
    if session.workspace:
        yield "worktree", short(session.workspace.path)
        if not session.ended_at:
            worktree = show_workspace(daemon, session.id, timeout=0)
            yield "changes", compared_with_base(worktree)
    yield "branch", session.branch
    yield "id", session.id
    yield "native id", session.native_id or ""
    yield "transcript", short(session.transcript_path)
    if session.tmux_session:
        server = f" on {session.tmux_server}" if session.tmux_server else ""
        window = f", window {session.label}" if session.runtime == "observed" else ""
        yield "tmux", f"{session.tmux_session} {session.tmux_pane or ''}{server}{window}"


def _times(session: ListedSession) -> Iterator[Detail]:
    yield "created", _moment(session.created_at)
    yield "active", _moment(session.last_activity_at)
    yield "ended", _moment(session.ended_at)


def _moment(moment: str | None) -> str:
    return f"{local(moment)} ({ago(moment)} ago)" if moment else ""


def _relatives(details: DetailsInfo) -> Iterator[Detail]:
    yield "started by", _names([details.parent] if details.parent else [])
    yield "started", _names(details.children)
    yield "continues", _names([details.continues] if details.continues else [])
    yield "continued by", _names(details.continued_by)


def _names(relatives: Sequence[RelativeInfo]) -> str:
    return ", ".join(
        f"{each.name} ({status_word(each.status)}, {each.id[:8]})" for each in relatives
    )


def _queue(details: DetailsInfo) -> Iterator[Detail]:
    for each in details.queue:
        why = f" ({each.blocked_by})" if each.blocked_by else ""
        is_expired = each.step == "withdrawn" and each.withdrawn_by == EXPIRY
        step = EXPIRED if is_expired else each.step
        yield "message", f"{step}{why}: {in_one_line(each.words)}"
    yield "turns", str(details.turns)


def _print_turn(turn: TurnInfo) -> None:
    """Print the beginning of the last prompt and of its answer."""
    click.echo()
    for line in _beginning(turn.prompt, MAX_PROMPT_LINES):
        say_wrapped(line, first="❯ ")
    for line in _beginning(turn.answer, MAX_ANSWER_LINES):
        say_wrapped(line, first="  ")
    if turn.ended_at and (note := outcome_note(turn)):
        say_wrapped(f"({note})", first="  ")


def _beginning(text: str, limit: int) -> list[str]:
    lines = plain(text.strip()).expandtabs(4).splitlines()
    more = len(lines) - limit
    return [*lines[:limit], f"… ({count(more, 'more line')})"] if more > 0 else lines
