"""Resume all sessions that were lost or ended unexpectedly, one after the other."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import click

from rookery.cli.cut_off import what_was_cut_off
from rookery.cli.exit_codes import FAILED
from rookery.cli.render import ago, complain, say, say_line, short, show_json
from rookery.cli.start_options import environment_here
from rookery.client import Client
from rookery.client.lost_sessions import LostInfo, LostListInfo, list_lost
from rookery.client.sessions import SessionInfo
from rookery.client.starts import ResumeOrder, resume_session
from rookery.model.errors import Answered, BadInput
from rookery.model.reason_texts import first_line
from rookery.presentation.projects import project_folder
from rookery.presentation.texts import count


@dataclass(frozen=True, slots=True)
class LostSelection:
    """Which sessions are resumed."""

    everything: bool  #: also sessions that failed or expired, not only lost ones
    hours: float | None  #: maximum hours since their end; ``None`` for the daemon's default

    def nothing_found(self, hours: float) -> str:
        if self.everything:
            return f"No session ended unexpectedly in the last {hours:g} hours."
        return f"No session was lost in the last {hours:g} hours, or all are resumed."


@dataclass(frozen=True, slots=True)
class _Outcome:
    resumed: list[SessionInfo] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)  #: by the name of the session


def resume_all(
    daemon: Client, selection: LostSelection, *, is_sure: bool, as_json: bool
) -> None:
    """List the sessions, ask for confirmation and resume each. Exits with 1 if one fails."""
    listed = list_lost(daemon, all=selection.everything, hours=selection.hours)
    resumable = [each.session for each in listed.sessions if not each.obstacle]
    if not as_json:
        _show(listed, selection)
    if resumable and not is_sure:
        _confirm(len(resumable))
    outcome = _resume_each(daemon, resumable)
    if as_json:
        _show_json(listed, outcome)
    elif resumable:
        _tell_resumed(daemon, outcome.resumed, of=len(resumable))
    for name, why in outcome.failures.items():
        complain(f"{name} was not resumed. {why}")
    if outcome.failures:
        sys.exit(FAILED)


def _tell_resumed(daemon: Client, resumed: list[SessionInfo], *, of: int) -> None:
    for session in resumed:
        for each in what_was_cut_off(daemon, session):
            say(f"{session.name}: {each}")
    say(f"Resumed {len(resumed)} of {count(of, 'session')}. See them with:  rookery ls")


def _show(listed: LostListInfo, selection: LostSelection) -> None:
    for each in listed.sessions:
        say_line(_line(each))
    if not listed.sessions:
        say(selection.nothing_found(listed.hours))


def _line(lost: LostInfo) -> str:
    session = lost.session
    ended = f"{ago(session.ended_at)} ago" if session.ended_at else ""
    why = f"not resumable: {lost.obstacle}" if lost.obstacle else first_line(session.reason)
    return f"{session.name}  {session.agent}  {short(project_folder(session))}  {ended}  {why}"


def _confirm(number: int) -> None:
    if not sys.stdin.isatty():
        raise BadInput("nothing was resumed. To confirm, use:  --yes")
    if not click.confirm(f"Resume {count(number, 'session')}?"):
        raise click.Abort


def _resume_each(daemon: Client, sessions: list[SessionInfo]) -> _Outcome:
    outcome, environment = _Outcome(), environment_here()
    order = ResumeOrder(
        fork=False, prompt="", name="", agent="", project="", environment=environment
    )
    for each in sessions:
        try:
            outcome.resumed.append(resume_session(daemon, each.id, order))
        except Answered as refusal:  # the others can still be resumed
            outcome.failures[each.name] = str(refusal)
    return outcome


def _show_json(listed: LostListInfo, outcome: _Outcome) -> None:
    show_json(
        {
            "resumed": [each.json for each in outcome.resumed],
            "failed": outcome.failures,
            "not_resumable": {
                each.session.name: each.obstacle for each in listed.sessions if each.obstacle
            },
        }
    )
