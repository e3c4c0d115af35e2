"""The table of sessions that ``rookery ls`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import click
from msgspec import Struct, field

from rookery.cli.colour import is_colourful
from rookery.cli.names import with_names
from rookery.cli.render import own_home
from rookery.cli.tables import Layout, line_of
from rookery.client.sessions import ListedSession, WaitingInfo
from rookery.presentation.activity import Surroundings, activity
from rookery.presentation.ages import age
from rookery.presentation.amounts import cost_text, short_count
from rookery.presentation.cells import cut
from rookery.presentation.folders import short_folders
from rookery.presentation.order import ranked, tree
from rookery.presentation.projects import project_folders
from rookery.presentation.runtimes import runtime_mark
from rookery.presentation.states import Standing, standing, state_word
from rookery.presentation.texts import one_line, plain

#: The minimum width of the last column, for which other columns are cut or dropped: these
#: cells, or in a short table this part of the table's width if that is more.
ROOM_CELLS, ROOM_PART = 30, 0.4

#: Table widths below which, in this order, notes are short, runtime marks are in the last
#: column, and names have no label.
NOTED_CELLS, MARKED_CELLS, LABELLED_CELLS = 160, 100, 60

#: Minimum width of a long table with a column for runtimes; narrower ones show marks instead.
MARKED_LONG_CELLS = 60

#: Maximum cells for the tmux window's name of an observed session.
MAX_LABEL_CELLS = 16

_SHORT = Layout(
    titles=("NAME", "AGENT", "STATE", "SINCE", "PROJECT", "BRANCH", "WHAT"),
    spared=("BRANCH", "AGENT", "PROJECT", "SINCE"),
    shrinking=("PROJECT", "BRANCH", "WHAT"),
    last_resort="WHAT",
    cut_at_start=frozenset({"PROJECT"}),
)

_LONG = Layout(
    titles=(
        *("NAME", "ID", "AGENT", "PROFILE", "RUNTIME", "MODEL", "MODE", "STATE", "SINCE"),
        *("TOKENS", "COST", "CONTEXT", "PROJECT", "BRANCH", "WHAT"),
    ),
    spared=(
        *("CONTEXT", "MODE", "PROJECT", "BRANCH", "SINCE", "PROFILE", "MODEL", "TOKENS"),
        "AGENT",
    ),
    shrinking=("PROJECT", "BRANCH", "WHAT"),
    last_resort="WHAT",
    cut_at_start=frozenset({"PROJECT"}),
)

_COLOURS = {
    Standing.NEEDS_YOU: "yellow",
    Standing.FAILED: "red",
    Standing.WORKING: "green",
    Standing.STARTING: "cyan",
    Standing.IDLE: "blue",
    Standing.CLOSING: "cyan",
}


class SessionTable(Struct, frozen=True):
    """Sessions, and what the table shows about them beside their own fields."""

    sessions: Sequence[ListedSession]
    kept: Mapping[str, WaitingInfo] = field(default_factory=dict)  #: waiting messages
    failures: Mapping[str, str] = field(default_factory=dict)  #: error texts of failed turns
    #: Notes about deadlines, missed requests and overlaps: a long and a short form each.
    notes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    changes: Mapping[str, str] = field(default_factory=dict)  #: in the worktrees of sessions
    #: Project folders by session. They are found among all sessions: a session that a filter
    #: leaves out may own the worktree in which a shown one works.
    projects: Mapping[str, str] = field(default_factory=dict)
    is_tree: bool = False
    is_long: bool = False
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def lines(self, width: int) -> list[str]:
        """Return the table's lines, with the sessions that need the user first."""
        ordered = [*self._ordered()]
        rows = self._rows(ordered, width)
        layout = self._layout(rows, width)
        widths = layout.fit(rows, width)
        head = line_of(layout.head, widths)
        lines = [line_of(row, widths, layout.cut_at_start) for row in rows]
        if not is_colourful():
            return [head, *lines]
        coloured = map(_coloured, lines, (session for _, session in ordered))
        return [click.style(head, bold=True), *coloured]

    def _layout(self, rows: Sequence[Mapping[str, str]], width: int) -> Layout:
        """Return the columns: no RUNTIME in a narrow table, BRANCH and PROFILE if not empty."""
        layout = _LONG if self.is_long else _SHORT
        dropped = {
            title
            for title in {"BRANCH", "PROFILE"}.intersection(layout.titles)
            if not any(row[title] for row in rows)
        }
        if width < MARKED_LONG_CELLS:
            dropped.add("RUNTIME")
        titles = tuple(title for title in layout.titles if title not in dropped)
        part = 0 if self.is_long else int(width * ROOM_PART)
        return replace(layout, titles=titles, room=max(ROOM_CELLS, part))

    def _ordered(self) -> Iterable[tuple[int, ListedSession]]:
        if self.is_tree:
            return tree(self.sessions)
        return ((0, each) for each in ranked(self.sessions))

    def _rows(
        self, ordered: Iterable[tuple[int, ListedSession]], width: int
    ) -> list[dict[str, str]]:
        rows, titles = list[dict[str, str]](), (_LONG if self.is_long else _SHORT).titles
        projects = {**project_folders(self.sessions), **self.projects}
        shown = {projects[each.id] for each in self.sessions}
        folders = short_folders(shown, own_home())
        by_id = {each.id: each for each in self.sessions}
        for depth, session in ordered:
            row = _row(session, self.now, folders.get(projects[session.id], ""))
            row["NAME"] = "  " * depth + _name(session, width)
            if changes := self.changes.get(session.id):
                row["BRANCH"] += f" ({changes})"
            if (mark := self._mark(session, width)) and width >= MARKED_CELLS:
                row["AGENT"] += f" ({mark})"
            row["WHAT"] = with_names(self._what(session, width), by_id)
            rows.append({title: _cell(row[title]) for title in titles})
        return rows

    def _what(self, session: ListedSession, width: int) -> str:
        around = Surroundings(
            self.now, self.kept.get(session.id), self.failures.get(session.id, "")
        )
        text = activity(session, around)
        if (mark := self._mark(session, width)) and width < MARKED_CELLS:
            text = f"{mark} · {text}"
        if notes := self.notes.get(session.id):
            text = f"[{notes[0] if width >= NOTED_CELLS else notes[1]}] {text}"
        return text

    def _mark(self, session: ListedSession, width: int) -> str:
        """Return a session's runtime mark; empty if the table has a column for runtimes."""
        has_column = self.is_long and width >= MARKED_LONG_CELLS
        return "" if has_column else runtime_mark(session)


def _row(session: ListedSession, now: datetime, project: str) -> dict[str, str]:
    tokens = session.input_tokens + session.output_tokens
    return {
        "ID": session.id[:8],
        "AGENT": session.agent,
        "PROFILE": session.profile,
        "RUNTIME": session.runtime,
        "MODEL": session.model or "–",
        "MODE": session.permission_mode or "–",
        "STATE": state_word(session),
        "SINCE": age(session.since, now) if session.since else "",
        "TOKENS": f"{tokens:,}" if tokens else "–",
        "COST": cost_text(session.cost_usd, estimated=session.estimated_cost > 0),
        "CONTEXT": short_count(session.context_tokens) if session.context_tokens else "–",
        "PROJECT": project,
        "BRANCH": session.branch,
    }


def _name(session: ListedSession, width: int) -> str:
    """Return the name; for an observed session with its window's name, if that says more."""
    label = session.label if session.runtime == "observed" else ""
    is_useful = label and label not in {session.name, session.agent}
    if not is_useful or width < LABELLED_CELLS:
        return session.name
    return f"{session.name} ({cut(_cell(label), MAX_LABEL_CELLS)})"


def _cell(text: str) -> str:
    if text.isprintable() and "  " not in text:  # nearly always
        return text
    indent = len(text) - len(text.lstrip(" "))
    return " " * indent + one_line(" ".join(plain(text).split()))


def _coloured(line: str, session: ListedSession) -> str:
    colour = _COLOURS.get(standing(session))
    return click.style(line, fg=colour, bold=session.is_unread or None, dim=not colour or None)
