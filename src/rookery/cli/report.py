"""Wait for a session and report its state."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from time import monotonic

from rookery.agents.names import WITH_INSTALLED_HOOKS
from rookery.cli.blocked import BlockedNotices, how_to_answer, open_requests, what_it_asks
from rookery.cli.daemon_waits import goes_on, patiently, stoppable
from rookery.cli.exit_codes import FAILED
from rookery.cli.names import with_names_from
from rookery.cli.options import home
from rookery.cli.person_needed import (
    REPORT,
    fails_when_asked,
    person_needed,
    tell_of_dialog,
)
from rookery.cli.render import complain_of, remark, reply, say_verbatim, show_json
from rookery.cli.seen import note_seen
from rookery.cli.wait_line import shown_during, wait_line
from rookery.client import Client
from rookery.client.daemon import show_status
from rookery.client.sessions import SessionInfo, show_evidence, wait_for_session
from rookery.client.turns import TurnInfo, show_turns
from rookery.model.errors import Answered
from rookery.model.reason_texts import first_line, with_last_output
from rookery.presentation.activity import running_on
from rookery.presentation.next_steps import watch_command
from rookery.presentation.states import ended_by, state_word
from rookery.presentation.texts import as_sentence


@dataclass(frozen=True, slots=True)
class SessionWait:
    """The state that one session must reach, and what to do if it asks its person something."""

    until: str  #: up, stop or end
    timeout: float | None  #: seconds; ``None`` for no limit
    on_permission: str | None = None  #: wait or fail; ``None`` for the default
    shows_tools: bool = False  #: print the tools that it calls, in a terminal


def awaited(daemon: Client, session: SessionInfo, wait: SessionWait) -> SessionInfo:
    """Wait for one session. Raises ``PersonNeeded`` if it asks and ``wait`` says to fail."""
    with stoppable(session.name):
        return awaited_until_interrupted(daemon, session, wait)


def awaited_until_interrupted(
    daemon: Client, session: SessionInfo, wait: SessionWait
) -> SessionInfo:
    """Wait as ``awaited`` does, and leave Ctrl-C to the caller."""
    deadline = monotonic() + (inf if wait.timeout is None else wait.timeout)
    tell = partial(BlockedNotices(daemon).tell, (session.id,))
    known: tuple[str, ...] = ()
    with wait_line(daemon, [session], shows_tools=wait.shows_tools) as line:
        while True:
            ask = partial(wait_for_session, daemon, session.id, until=wait.until, known=known)
            now = patiently(
                daemon,
                shown_during(line, ask),
                timeout=deadline - monotonic(),
                otherwise=goes_on(session.name),
                meanwhile=tell if wait.until == "stop" else None,
            )
            if wait.until != "stop" or not now.is_asking or wait.on_permission == REPORT:
                return now
            if fails_when_asked(wait.on_permission):
                raise person_needed(daemon, now)
            known += (now.since,)
            tell_of_dialog(daemon, now)


def warn_of_missing_hooks(daemon: Client, session: SessionInfo) -> None:
    """Say that a new session runs without hooks, if its agent's are not installed."""
    if session.agent not in WITH_INSTALLED_HOOKS:
        return
    with suppress(Answered):  # it is only a warning; the session has started
        if warning := show_evidence(daemon, session.id).hooks_missing:
            remark(warning)


def warn_of_changed_config(daemon: Client) -> None:
    """Warn if the configuration has changed since the daemon read it, at its start."""
    with suppress(Answered, OSError):  # it is only a warning; the session has started
        here = home()
        # The daemon creates its socket when it starts: it is asked only if the file is newer.
        is_newer = here.settings.stat().st_ctime > here.door.stat().st_ctime
        if is_newer and (note := show_status(daemon).config_note):
            remark(note)


def report(daemon: Client, session: SessionInfo, *, as_json: bool) -> None:
    """Print the state of a session. Exits with 1 if it or its last turn failed."""
    reply(session, "" if as_json else summary(daemon, session), as_json=as_json)
    if has_failed(session):
        sys.exit(FAILED)


def report_answer(daemon: Client, session: SessionInfo, *, as_json: bool) -> None:
    """Print the answer to a session's prompt, and its state on standard error.

    Without a turn, only its state is printed. Exits with 1 if it or its last turn failed.
    """
    turns = show_turns(daemon, session.id, last=1).turns if session.first_prompt else ()
    if not turns or not turns[-1].ended_at:
        report(daemon, session, as_json=as_json)
        return
    if as_json:
        show_json({**session.json, "answer": turns[-1].answer, "how": turns[-1].how})
    else:
        _say_answer(turns[-1])
        note_seen(daemon, session.id, [turns[-1].ended_at])
        remark(summary(daemon, session))
    if has_failed(session):
        sys.exit(FAILED)


def _say_answer(turn: TurnInfo) -> None:
    """Print an answer; the reason of a failed turn goes to standard error."""
    if turn.how == "failed":
        # Without a text of the agent, the summary that follows has the reason.
        complain_of(f"The turn failed: {turn.answer}" if turn.answer else "The turn failed.")
    else:
        say_verbatim(turn.answer)
        sys.stdout.flush()


def has_failed(session: SessionInfo) -> bool:
    return session.status == "failed" or session.has_failed_turn


def summary(daemon: Client, session: SessionInfo) -> str:
    """Return one line about the state of a session, with the commands that show more."""
    name, state = session.name, state_word(session)
    reason = first_line(session.reason)
    if session.status == "failed":
        is_more = reason != session.reason.strip()
        failed = f"{name} failed: {with_last_output(session.reason)}"
        more = f" Its last screen:  rookery output {name}"
        return as_sentence(failed) + more if is_more else failed
    if session.is_asking:
        requests = open_requests(daemon, session.id)
        asked, how = what_it_asks(session, requests), how_to_answer(session, requests)
        return f"{name} waits for your answer: {asked}  {how}"
    if session.has_failed_turn:
        does = "is idle; its last turn failed."
    elif session.status == "starting" and reason:  # it waits for a place or for its worktree
        does = f"is starting: {as_sentence(reason)}"
    elif ended := ended_by(session):
        does = f"was {with_names_from(ended, daemon)}."
    else:
        commands = session.background if state == "idle" else 0
        details = "; ".join(filter(None, [reason, running_on(commands) if commands else ""]))
        does = f"is {state} ({details})." if details else f"is {state}."
    return f"{name} {does}  {watch_command(session, name)}  |  rookery output {name}"
