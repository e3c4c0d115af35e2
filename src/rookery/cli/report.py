"""Wait for a session and report its state."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial

from rookery.agents.names import WITH_INSTALLED_HOOKS
from rookery.cli.blocked import BlockedNotices, how_to_answer, open_requests
from rookery.cli.daemon_waits import goes_on, patiently, stoppable
from rookery.cli.end_texts import ended_by
from rookery.cli.exit_codes import FAILED
from rookery.cli.names import with_names_from
from rookery.cli.render import remark, reply, running_on
from rookery.client import Client
from rookery.client.sessions import SessionInfo, show_evidence, wait_for_session
from rookery.model.errors import Answered
from rookery.model.reason_texts import first_line


def awaited(
    daemon: Client, session: SessionInfo, until: str, timeout: float | None
) -> SessionInfo:
    """Wait for one session; without ``timeout`` indefinitely."""
    notices = BlockedNotices(daemon)
    with stoppable(session.name):
        return patiently(
            daemon,
            partial(wait_for_session, daemon, session.id, until=until),
            timeout=timeout,
            otherwise=goes_on(session.name),
            meanwhile=partial(notices.tell, (session.id,)) if until == "stop" else None,
        )


def warn_of_missing_hooks(daemon: Client, session: SessionInfo) -> None:
    """Say that a new session runs without hooks, if its agent's are not installed."""
    if session.agent not in WITH_INSTALLED_HOOKS:
        return
    with suppress(Answered):  # it is only a warning; the session has started
        if warning := show_evidence(daemon, session.id).hooks_missing:
            remark(warning)


def report(daemon: Client, session: SessionInfo, *, as_json: bool) -> None:
    """Print the state of a session. Exits with 1 if it or its last turn failed."""
    reply(session, "" if as_json else summary(daemon, session), as_json=as_json)
    if has_failed(session):
        sys.exit(FAILED)


def has_failed(session: SessionInfo) -> bool:
    return session.status == "failed" or session.has_failed_turn


def summary(daemon: Client, session: SessionInfo) -> str:
    """Return one line about the state of a session, with the commands that show more."""
    name, state = session.name, session.state
    reason = first_line(session.reason)
    if session.status == "failed":
        is_more = reason != session.reason.strip()
        return f"{name} failed: {reason}" + (
            f". Its last screen:  rookery output {name}" if is_more else ""
        )
    if session.is_asking:
        how = how_to_answer(session, open_requests(daemon, session.id))
        return f"{name} waits for your answer: {reason}  {how}"
    if session.has_failed_turn:
        does = f"is {state}; its last turn failed."
    elif ended := ended_by(session):
        does = f"was {with_names_from(ended, daemon)}."
    else:
        commands = session.background if state == "idle" else 0
        details = "; ".join(filter(None, [reason, running_on(commands) if commands else ""]))
        does = f"is {state} ({details})." if details else f"is {state}."
    return f"{name} {does}  rookery attach {name}  |  rookery output {name}"
