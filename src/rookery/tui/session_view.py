"""What the interface says about a session, in the words of ``rookery ls``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rookery.client.permissions import RequestInfo
from rookery.client.sessions import ListedSession, PendingInfo, SessionInfo, WaitingInfo
from rookery.model.permissions import DIALOG, STOP
from rookery.model.tool_inputs import telling
from rookery.presentation.activity import UNREAD, Surroundings, activity, tool_text
from rookery.presentation.amounts import cost_text, short_count
from rookery.presentation.folders import with_tilde
from rookery.presentation.projects import project_folder
from rookery.presentation.runtimes import runtime_text
from rookery.presentation.states import Standing, standing
from rookery.presentation.texts import one_line

#: Signs for states that can be told apart without colour.
_SIGNS = {
    Standing.NEEDS_YOU: "!",
    Standing.FAILED: "✗",
    Standing.WORKING: "▸",
    Standing.STARTING: "…",
    Standing.IDLE: "○",
    Standing.CLOSING: "…",
    Standing.ENDED: "·",
}


@dataclass(frozen=True, slots=True)
class Extras:
    """What the daemon lists beside the sessions, by session id."""

    kept: Mapping[str, WaitingInfo] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    pending: Mapping[str, PendingInfo] = field(default_factory=dict)
    overlaps: Mapping[str, str] = field(default_factory=dict)  #: files that others also change


def sign(session: ListedSession) -> str:
    if session.activity == "question":
        return "?"
    if session.activity == "idle" and session.is_unread and not session.has_failed_turn:
        return UNREAD
    return _SIGNS[standing(session)]


def what_it_does(session: ListedSession, extras: Extras, now: datetime) -> str:
    """Return in one line what a session does now, asks for, has answered or failed with."""
    queued, failure = extras.kept.get(session.id), extras.failures.get(session.id, "")
    text = activity(session, Surroundings(now, queued, failure))
    pending = extras.pending.get(session.id)
    mark = "overlap · " if session.id in extras.overlaps else ""
    if pending and pending.missed:
        mark = "missed · "
    mark = f"hidden · {mark}" if session.hidden else mark
    # The row already begins with the sign of an unread answer.
    return mark + one_line(" ".join(text.split())).removeprefix(f"{UNREAD} ")


def asked(request: RequestInfo) -> str:
    """Return what a request asks for; a tool call as ``Bash — rm -rf build``."""
    is_call = request.kind == "permission" and not request.questions
    if not is_call or request.tool in {DIALOG, STOP} or request.input.get("plan"):
        return request.message
    return tool_text(request.tool, telling(request.input, request.tool))


def unread_since(session: ListedSession) -> str:
    """Return the time of the unread answer; empty if there is none."""
    return (session.last_answer_at or "") if session.is_unread else ""


def folder(session: SessionInfo) -> str:
    """Return the project's folder, with the user's home as a tilde."""
    return shown_folder(project_folder(session))


def shown_folder(path: str) -> str:
    home = os.path.expanduser("~")  # noqa: PTH111 - a prefix of text, not a path
    return one_line(with_tilde(path, home))


def searched_text(session: ListedSession) -> tuple[str, ...]:
    """Return the texts that a search looks at, most telling first."""
    return (
        session.name,
        f"{project_folder(session)}\n{session.project_path}",
        " ".join((session.agent, session.title, session.branch, *session.tags)),
        f"{session.last_prompt}\n{session.first_prompt}",
        session.last_answer,
    )


def usage(session: ListedSession) -> str:
    """Return tokens, context and cost as far as they are known."""
    tokens = session.input_tokens + session.output_tokens
    context = session.context_tokens
    parts = (
        f"{short_count(tokens)} tokens" if tokens else "",
        f"{short_count(context)} in context" if context else "",
        cost_text(session.cost_usd, estimated=session.estimated_cost > 0)
        if session.cost_usd
        else "",
    )
    return " · ".join(filter(None, parts))


def details(session: ListedSession, overlap: str = "") -> str:
    """Return the line below a session's name, from its agent and usage to its worktree.

    ``overlap`` names the files that other sessions also change. What may be cut off, such as a
    long folder, comes last.
    """
    tags = " ".join(f"#{each}" for each in session.tags)
    worktree = f"worktree {shown_folder(session.workspace.path)}" if session.workspace else ""
    parts = (
        *(_agent(session), runtime_text(session), overlap, usage(session), folder(session)),
        *(session.branch, tags, worktree),
    )
    return one_line(" · ".join(filter(None, parts)))


def _agent(session: ListedSession) -> str:
    """Return the agent and its model, whose name may begin with that of the agent."""
    agent, model = session.agent, session.model
    return model if model.startswith(agent) else f"{agent} {model}".strip()
