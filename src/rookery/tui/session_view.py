"""What the interface says about a session: how urgent it is, its state and what it does now.

All texts about sessions come from here, so that one module changes if their wording does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from rookery.client.permissions import RequestInfo
from rookery.client.sessions import PendingInfo, SessionInfo, WaitingInfo
from rookery.model.reason_texts import first_line
from rookery.tui.plain_text import one_line

#: How the summary of a tool call begins; the tool's own name follows.
_MAY_IT_USE = "May it use "

_MILLION, _THOUSAND = 1_000_000, 1_000


class Urgency(IntEnum):
    """The order of sessions in the list."""

    NEEDS_YOU = 0
    FAILED = 1
    WORKING = 2
    IDLE = 3
    ENDED = 4


@dataclass(frozen=True, slots=True)
class Extras:
    """What the daemon lists beside the sessions, by their ids."""

    kept: Mapping[str, WaitingInfo] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    pending: Mapping[str, PendingInfo] = field(default_factory=dict)


def urgency(session: SessionInfo) -> Urgency:
    if session.ended_at:
        return Urgency.FAILED if session.status == "failed" else Urgency.ENDED
    if session.is_asking:
        return Urgency.NEEDS_YOU
    if session.has_failed_turn or session.status == "failed":
        return Urgency.FAILED
    return Urgency.IDLE if session.activity == "idle" else Urgency.WORKING


def state_word(session: SessionInfo) -> str:
    if session.status == "killed":
        return "ended"
    return "failed" if session.has_failed_turn else session.state


def glyph(session: SessionInfo) -> str:
    """Return a sign for the state that can be told apart without colour."""
    match urgency(session):
        case Urgency.NEEDS_YOU:
            return "?" if session.activity == "question" else "!"
        case Urgency.FAILED:
            return "✗"
        case Urgency.WORKING:
            return "▸" if session.activity == "working" else "…"
        case Urgency.IDLE:
            return "●" if is_unread(session) else "○"
        case Urgency.ENDED:
            return "·"


def what_it_does(session: SessionInfo, extras: Extras) -> str:
    """Return in one line what a session does now, asks for, has answered or failed with."""
    return one_line(" ".join(_what(session, extras).split()))


def _what(session: SessionInfo, extras: Extras) -> str:
    queued = _queued(extras.kept.get(session.id))
    if session.is_asking:
        return _joined(asked(session.reason), queued)
    match urgency(session):
        case Urgency.FAILED:
            return extras.failures.get(session.id, "") or first_line(session.reason)
        case Urgency.WORKING:
            return _joined(_doing(session), queued)
        case Urgency.IDLE:
            commands = f"{session.background} still running" if session.background else ""
            answer = _first_text_line(_text(session, "last_answer"))
            return _joined(queued, commands, answer or session.title)
        case _:
            return session.title or first_line(session.reason)


def _joined(*parts: str) -> str:
    return " · ".join(filter(None, parts))


def _queued(queued: WaitingInfo | None) -> str:
    if queued is None or not queued.messages:
        return ""
    messages = "1 message waits" if queued.messages == 1 else f"{queued.messages} messages wait"
    return f"{messages}: {queued.blocked_by}" if queued.blocked_by else messages


def _doing(session: SessionInfo) -> str:
    if session.activity != "working":
        return first_line(session.reason) or session.title
    tool, argument = _text(session, "last_tool"), _text(session, "tool_argument")
    if not tool or _text(session, "tool_ended_at"):
        return _text(session, "last_prompt") or session.title
    return f"{tool}: {argument}" if argument else _joined(tool, session.title)


def _first_text_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def asked(summary: str) -> str:
    """Return the summary of a request, with the tool first: ``Bash: rm -rf build``."""
    if not summary.startswith(_MAY_IT_USE):
        return summary
    tool, question_mark, call = summary.removeprefix(_MAY_IT_USE).partition("? ")
    return f"{tool}: {call}" if question_mark else tool.rstrip("?")


def is_unread(session: SessionInfo) -> bool:
    """Return whether the session has an answer that the user has not seen."""
    return session.json.get("is_unread") is True


def unread_since(session: SessionInfo) -> str:
    """Return when the answer was given that the user has not seen; empty if there is none."""
    return _text(session, "last_answer_at") if is_unread(session) else ""


def is_hidden(session: SessionInfo) -> bool:
    return bool(session.json.get("is_hidden") or session.json.get("hidden"))


def tags(session: SessionInfo) -> tuple[str, ...]:
    found = session.json.get("tags")
    return tuple(map(str, found)) if isinstance(found, list) else ()


def folder(session: SessionInfo) -> str:
    """Return the project's folder, with the user's home as a tilde."""
    home, path = os.path.expanduser("~"), session.project_path  # noqa: PTH111 - a prefix
    is_below = path == home or path.startswith(f"{home}/")
    return one_line("~" + path.removeprefix(home) if is_below else path)


def searched_text(session: SessionInfo) -> tuple[str, ...]:
    """Return the texts that a search looks at, most telling first."""
    return (
        session.name,
        session.project_path,
        " ".join((session.agent, session.title, *tags(session))),
        session.first_prompt,
        _text(session, "last_answer"),
    )


def usage(session: SessionInfo) -> str:
    """Return tokens and cost as far as they are known."""
    tokens = _number(session, "input_tokens") + _number(session, "output_tokens")
    micro_dollars = _number(session, "cost")
    return _joined(
        f"{_short_count(tokens)} tokens" if tokens else "",
        f"${micro_dollars / _MILLION:.2f}" if micro_dollars else "",
    )


def _short_count(number: int) -> str:
    for size, unit in ((_MILLION, "M"), (_THOUSAND, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def details(session: SessionInfo) -> str:
    """Return the line below a session's name: agent, model, folder, branch and usage."""
    marks = " ".join(f"#{each}" for each in tags(session))
    observed = "observed" if session.runtime == "observed" else ""
    model = _text(session, "model")
    agent = session.agent if model in {"", session.agent} else f"{session.agent} {model}"
    parts = (agent, folder(session), _text(session, "branch"))
    return one_line(_joined(*parts, usage(session), marks, observed))


def deadline_note(request: RequestInfo, session: SessionInfo | None, on_timeout: str) -> str:
    """Return what happens to a request that is not answered in time."""
    is_headless = session is not None and session.is_headless
    if request.tool == "Stop":
        return "it may stop"
    if not request.has_dialog or is_headless or on_timeout == "deny":
        return "it is denied"
    return "its terminal takes over"


def _text(session: SessionInfo, name: str) -> str:
    value = session.json.get(name)
    return value if isinstance(value, str) else ""


def _number(session: SessionInfo, name: str) -> int:
    value = session.json.get(name)
    return value if isinstance(value, int) else 0
