"""Answer requests, wait until the answers have arrived, and report them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from rookery.cli.exit_codes import FAILED
from rookery.cli.names import known_sessions, name_of
from rookery.cli.render import complain, say, short, show_json
from rookery.cli.request_choice import (
    NONE_PENDING,
    AnswerCommand,
    open_requests_for,
    quoted,
)
from rookery.cli.request_text import in_one_line, is_partial, show_input
from rookery.cli.wait_line import shown_text
from rookery.client import Client
from rookery.client import permissions as api
from rookery.client.permissions import AlwaysAllowedInfo, RequestInfo, RulePreviewInfo
from rookery.model.errors import Answered, CommandRefused
from rookery.presentation.answers import delivery_problem, given_answers

#: Seconds for which a command waits for the delivery of an answer before it says so.
QUIET_WAIT_S = 1.0

#: The verb that is printed before a request, by the command that has answered it.
_DONE: Mapping[AnswerCommand, str] = {
    "allow": "Allowed",
    "deny": "Denied",
    "answer": "Answered",
}


def answer_all(
    daemon: Client,
    command: AnswerCommand,
    decide: Callable[[str], RequestInfo],
    *,
    as_json: bool,
) -> None:
    """Answer the permission requests that are open now, and print each.

    Exits with 1 if an answer was refused or did not arrive.
    """
    requests = open_requests_for(daemon, command)
    names = known_sessions(daemon, (each.session for each in requests))
    about = {each.id: f"{name_of(each.session, names)} ({each.id})" for each in requests}
    answered, failures = _decide_each(daemon, about, decide)
    if as_json:
        show_json({"requests": [each.json for each in answered]})
    elif not requests:
        say(NONE_PENDING)
    else:
        for each in answered:
            _show_answered(each, f"{_DONE[command]} for {name_of(each.session, names)}")
    for failure in failures:
        complain(failure)
    if failures:
        sys.exit(FAILED)


def _decide_each(
    daemon: Client, about: Mapping[str, str], decide: Callable[[str], RequestInfo]
) -> tuple[list[RequestInfo], list[str]]:
    """Answer each request; return the answered ones, and why the others failed."""
    accepted, arrived, failures = [], [], []
    for request, name in about.items():
        try:
            accepted.append(decide(request))
        except Answered as refusal:
            failures.append(f"{name}: {refusal}")
    for each in accepted:
        now = await_delivery(daemon, each)
        try:
            require_delivered(now)
        except CommandRefused as refusal:
            failures.append(f"{about[each.id]}: {refusal}")
        else:
            arrived.append(now)
    return arrived, failures


def await_delivery(daemon: Client, answered: RequestInfo) -> RequestInfo:
    """Wait until an answer has reached its agent; say so in a terminal if it takes long."""
    soon = api.await_delivery(daemon, answered, timeout=QUIET_WAIT_S)
    if soon.delivery != "due":
        return soon
    with shown_text("Waiting until the agent has taken the answer …"):
        return api.await_delivery(daemon, soon)


def tell(request: RequestInfo, text: str, *, as_json: bool) -> None:
    """Print what was answered. Raises ``CommandRefused`` if the answer did not arrive."""
    if as_json:
        show_json(request)
    require_delivered(request)
    if not as_json:
        _show_answered(request, text)
    if request.note:
        complain(request.note)


def require_delivered(request: RequestInfo) -> None:
    """Raise ``CommandRefused`` if an answer did not reach its agent, or may not have."""
    if problem := delivery_problem(request):
        raise CommandRefused(problem)


def _show_answered(request: RequestInfo, text: str) -> None:
    given = f" → {in_one_line(given_answers(request))}" if request.answers else ""
    say(f"{text}: {in_one_line(request.message)}{given}")
    if request.kind == "permission" and is_partial(request):
        show_input(request)


def show_preview(daemon: Client, preview: RulePreviewInfo, *, everywhere: bool) -> None:
    """Print the rule that --always would add, and the pattern for more calls."""
    say(f"This rule would be added to {preview.file}:\n\n{preview.rule}")
    if not everywhere:
        _say_where_it_applies(daemon, preview.request)
    if preview.pattern:
        say(
            f"For all calls like it:  rookery allow {preview.request.id} --always"
            f" {quoted([preview.pattern])}"
        )


def _say_where_it_applies(daemon: Client, request: RequestInfo) -> None:
    """Print that a rule made in a worktree does not apply to the rest of its project."""
    session = known_sessions(daemon, [request.session]).get(request.session)
    if session and session.workspace:
        say(
            f"It applies only in this worktree, {short(session.workspace.path)}: neither in the"
            " project's folder nor in its other worktrees. For all projects:  --everywhere"
        )


def tell_always(
    daemon: Client, allowed: AlwaysAllowedInfo, *, everywhere: bool, as_json: bool
) -> None:
    """Print the rule that always allows a call, then what became of the request."""
    request = await_delivery(daemon, allowed.request)
    if as_json:
        show_json({**allowed.json, "request": request.json})
        require_delivered(request)
        return
    added = "Added to" if allowed.is_new else "This rule was already in"
    say(f"{added} {allowed.file}:\n\n{allowed.rule}")
    if not everywhere:
        _say_where_it_applies(daemon, request)
    tell(request, "Allowed", as_json=False)
