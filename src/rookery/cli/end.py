"""The command that ends sessions."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import click

from rookery.cli.completion import session_names
from rookery.cli.exit_codes import FAILED
from rookery.cli.names import with_names_from
from rookery.cli.options import SECONDS, as_json, examples, pass_client
from rookery.cli.render import complain, reply, say, show_json
from rookery.cli.workspace_texts import describe_end
from rookery.client import Client
from rookery.client.sessions import (
    SessionInfo,
    end_all_sessions,
    end_session,
    list_sessions,
    wait_for_session,
)
from rookery.client.turns import show_turns
from rookery.model.errors import Answered, BadInput, TimedOut
from rookery.model.reason_texts import first_line
from rookery.presentation.states import ended_by, status_word
from rookery.presentation.texts import count, one_line


class EndOptions(TypedDict):
    names: tuple[str, ...]
    everything: bool
    yes: bool
    tags: tuple[str, ...]
    force: bool
    timeout: float
    as_json: bool


@click.command(
    epilog=examples(
        "rookery end api web", "rookery end --all --yes", "rookery end review --force"
    )
)
@click.option("--all", "everything", is_flag=True, help="Every session that Rookery started.")
@click.option("--yes", "-y", is_flag=True, help="With --all: do not ask for confirmation.")
@click.option("--tag", "-t", "tags", multiple=True, help="Every session with this tag.")
@click.option("--force", is_flag=True, help="Also one that Rookery did not start.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds.")
@as_json
@click.argument("names", nargs=-1, shell_complete=session_names)
@pass_client
def end(daemon: Client, **given: Unpack[EndOptions]) -> None:
    """End sessions: ask each agent to quit, then SIGTERM, then SIGKILL.

    With --all it asks for confirmation first; without a terminal, --yes is needed.
    """
    names, everything = given["names"], given["everything"] or bool(given["tags"])
    if bool(names) == everything or (given["everything"] and given["tags"]):
        raise BadInput("name a session, or use --all or --tag.")
    if given["everything"] and not given["yes"]:
        _confirm(daemon)
    if len(names) == 1:
        ending = _end(daemon, names[0], given["timeout"], force=given["force"])
        text = "" if given["as_json"] else ending.as_text(daemon, by_all=False)
        reply(ending.session, text, as_json=given["as_json"])
        return
    refusals = _end_several(daemon, _targets(daemon, given), given)
    if given["everything"] and not given["as_json"]:
        _name_others(daemon)
    for refusal in refusals:
        complain(refusal)
    if refusals:
        sys.exit(FAILED)


def _end_several(
    daemon: Client, targets: Mapping[str, str], given: EndOptions
) -> Sequence[str]:
    """End sessions, by their ids or names; return why some of them could not be ended."""
    endings, refusals = list[_Ending](), list[str]()
    for each, name in targets.items():
        try:
            endings.append(_end(daemon, each, given["timeout"], force=given["force"]))
        except (Answered, TimedOut) as error:
            refusals.append(f"{name} was not ended. {error}")
        else:
            if not given["as_json"]:
                say(endings[-1].as_text(daemon, by_all=not given["names"]))
    if given["as_json"]:
        show_json({"sessions": [each.session.json for each in endings]})
    elif not targets:
        tagged = given["tags"]
        say(
            f"No running session has the tag {' and '.join(tagged)}."
            if tagged
            else "No session that Rookery started is running."
        )
    return refusals


def _name_others(daemon: Client) -> None:
    """Print which sessions keep running because Rookery did not start them."""
    listed = list_sessions(daemon, all=True).sessions
    others = [each.name for each in listed if not (each.is_ours or each.ended_at)]
    if others:
        say(
            f"Not ended, because Rookery did not start them: {', '.join(others)}."
            f" To end one:  rookery end {others[0]} --force"
        )


def _confirm(daemon: Client) -> None:
    """Ask for confirmation to end all sessions. Raises ``BadInput`` without a terminal."""
    listed = list_sessions(daemon, all=True).sessions
    names = [each.name for each in listed if each.is_ours and not each.ended_at]
    if not names:
        return
    if not sys.stdin.isatty():
        raise BadInput("nothing was ended. To confirm, use:  rookery end --all --yes")
    question = f"End {count(len(names), 'session')} ({', '.join(names)})?"
    if not click.confirm(one_line(question), err=True):
        raise click.Abort


def _targets(daemon: Client, given: EndOptions) -> Mapping[str, str]:
    """Return the names of the sessions to end, by what was named or by id.

    With --all, the ends of all sessions that Rookery started are requested together.
    """
    if given["names"]:
        return {each: each for each in given["names"]}
    tags = given["tags"]
    listed = list_sessions(daemon, all=True, tags=tags).sessions
    live = {each.id: each.name for each in listed if each.ended_at is None}
    if tags:
        return live
    return {each: live.get(each, each) for each in end_all_sessions(daemon).ended}


@dataclass(frozen=True, slots=True)
class _Ending:
    session: SessionInfo
    was_over: bool
    undelivered: int
    worktree: str = ""  #: a sentence on what became of the worktree

    def as_text(self, daemon: Client, *, by_all: bool) -> str:
        name = self.session.name
        if self.was_over and not by_all:
            if ended := ended_by(self.session):
                return f"{name} had already ended: {with_names_from(ended, daemon)}."
            why = first_line(self.session.reason).removesuffix(".")
            return f"{name} had already ended: {why or status_word(self.session.status)}."
        were = "was" if self.undelivered == 1 else "were"
        lost = f" {count(self.undelivered, 'message')} {were} not delivered."
        return f"{name} was ended." + (lost if self.undelivered else "") + self.worktree


def _end(daemon: Client, name: str, timeout: float, *, force: bool) -> _Ending:
    ending = end_session(daemon, name, force=force)
    ended = wait_for_session(daemon, ending.id, until="end", timeout=timeout)
    unheard = show_turns(daemon, ending.id, last=1).unheard
    undelivered = sum(each.step == "failed" for each in unheard)
    return _Ending(ended, bool(ending.ended_at), undelivered, describe_end(daemon, ended))
