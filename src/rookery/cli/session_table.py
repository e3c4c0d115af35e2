"""The table of sessions that ``rookery ls`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click

from rookery.cli.end_texts import ended_by
from rookery.cli.names import with_names
from rookery.cli.render import ago, count, is_colourful, one_line, plain, running_on, say, short
from rookery.cli.tables import Layout, line_of, width_here
from rookery.client.sessions import SessionInfo, WaitingInfo
from rookery.model.reason_texts import first_line

_LAYOUT = Layout(
    titles=("NAME", "AGENT", "STATE", "SINCE", "PROJECT", "WHAT"),
    spared=("PROJECT", "AGENT", "SINCE"),
    shrinking=("PROJECT", "WHAT"),
    last_resort="WHAT",
)

_COLOURS = {
    "working": "green",
    "idle": "blue",
    "permission": "yellow",
    "question": "yellow",
    "starting": "cyan",
    "closing": "cyan",
    "failed": "red",
}

#: Sessions that wait for the user come first, then sessions that are free for a new task.
_ORDER = ("permission", "question", "failed turn", "idle", "working", "starting", "closing")


def show_sessions(
    sessions: Sequence[SessionInfo],
    *,
    kept: Mapping[str, WaitingInfo] | None = None,
    failures: Mapping[str, str] | None = None,
    asked: Mapping[str, str] | None = None,
    as_tree: bool = False,
) -> None:
    """Print a table as wide as the terminal, with the sessions that wait for the user first.

    As a tree, each session is below the one that started it.
    """
    if not sessions:
        say('No sessions. Start one:  rookery start --agent demo "say: Hello"')
        return
    waiting, failed = kept or {}, failures or {}
    ranked, by_id = sorted(sessions, key=_rank), {each.id: each for each in sessions}
    rows = []
    for depth, each in _tree(ranked) if as_tree else ((0, each) for each in ranked):
        description = _description(each, waiting.get(each.id), failed.get(each.id, ""))
        if note := (asked or {}).get(each.id):
            description = f"[{note}] {description}"
        rows.append(_row(each, with_names(description, by_id), depth))
    widths = _LAYOUT.fit(rows, width_here())
    lines = [click.style(line_of(_LAYOUT.head, widths), bold=is_colourful())]
    for row in rows:
        line, colour = line_of(row, widths), _COLOURS.get(row["STATE"])
        lines.append(click.style(line, fg=colour) if colour and is_colourful() else line)
    click.echo("\n".join(lines))  # one echo, because each one flushes


def _rank(session: SessionInfo) -> tuple[int, str]:
    state = "failed turn" if session.has_failed_turn else _state(session)
    rank = _ORDER.index(state) if state in _ORDER else len(_ORDER)
    return rank, session.created_at


def _tree(sessions: Sequence[SessionInfo]) -> Iterator[tuple[int, SessionInfo]]:
    """Yield each session after the one that started it, with its depth in the tree."""
    listed = {each.id for each in sessions}
    children: dict[str | None, list[SessionInfo]] = {}
    for each in sessions:
        above = each.parent if each.parent in listed else None
        children.setdefault(above, []).append(each)

    def below(parent: str | None, depth: int) -> Iterator[tuple[int, SessionInfo]]:
        for each in children.get(parent, ()):
            yield depth, each
            yield from below(each.id, depth + 1)

    return below(None, 0)


def _state(session: SessionInfo) -> str:
    return "ended" if ended_by(session) else session.state


def _row(session: SessionInfo, description: str, depth: int) -> Mapping[str, str]:
    row = {
        "NAME": "  " * depth + session.name,
        "AGENT": session.agent,
        "STATE": _state(session),
        "SINCE": ago(session.since),
        "PROJECT": short(session.project_path),
        "WHAT": " ".join(plain(description).split()),
    }
    return {title: one_line(cell) for title, cell in row.items()}


def _description(session: SessionInfo, queued: WaitingInfo | None, failure: str) -> str:
    """Return a session's subject, or the problem with it or with messages for it."""
    about, state = session.reason or session.title, _state(session)
    if queued and state == "idle" and queued.why:
        return f"{_wait(queued)}: {queued.blocked_by}"
    if queued and state in {"permission", "question", "working", "starting"}:
        return f"{about}; {_wait(queued)}"
    if session.has_failed_turn:
        return f"failed: {failure}".removesuffix(": ")
    if session.status == "failed":
        return first_line(session.reason)
    if ended := ended_by(session):
        return ended
    commands = session.background if state == "idle" else 0
    return f"{running_on(commands)} · {about}" if commands else about


def _wait(queued: WaitingInfo) -> str:
    return f"{count(queued.messages, 'message')} {'waits' if queued.messages == 1 else 'wait'}"
