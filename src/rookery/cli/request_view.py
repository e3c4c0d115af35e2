"""Print an agent's request, with its state and how to answer it."""

from __future__ import annotations

from collections.abc import Mapping

from rookery.cli.names import name_of, with_names
from rookery.cli.render import ago, at_deadline, say, say_hint, say_line
from rookery.cli.request_text import hidden_fields, in_one_line, is_partial
from rookery.cli.wrapping import say_wrapped
from rookery.client.permissions import QuestionInfo, RequestInfo
from rookery.client.sessions import SessionInfo
from rookery.model.actors import CLOCK
from rookery.presentation.fallbacks import fallback_of
from rookery.presentation.texts import plain

#: Printed instead of commands if a session asks in a terminal without a known pane.
OUT_OF_REACH = "Answer it in the terminal where it runs: it is in no tmux pane."


def show_request(
    request: RequestInfo,
    sessions: Mapping[str, SessionInfo],
    on_timeout: str,
) -> None:
    """Print a request and how to answer it by its id.

    With the session's name, the command could answer another request that came meanwhile.
    """
    name, since = name_of(request.session, sessions), ago(request.asked_at)
    say_line(f"{request.id}  {name}  {since} ago  {_state(request, sessions, on_timeout)}")
    if len(request.questions) <= 1 and not request.input.get("plan"):
        also = ", ".join(map(in_one_line, hidden_fields(request)))
        more = f"  (also: {also})" if also else ""
        say_wrapped(f"{in_one_line(request.message)}{more}", first="    ")
    elif request.input.get("plan"):
        say("    May it carry out its plan?")
        for line in plain(str(request.input["plan"])).splitlines():
            say_wrapped(line, first="      ")
    several = len(request.questions) > 1
    for number, question in enumerate(request.questions, 1):
        if several:
            say_wrapped(in_one_line(question.text), first=f"    {number}) ")
        _show_options(question)
    if request.is_open:
        if request.reason:
            say(f"    The last answer was not delivered: {in_one_line(request.reason)}.")
        whole = f"rookery permissions show {request.id}  |  " if is_partial(request) else ""
        session = sessions.get(request.session)
        is_out_of_reach = request.by_keys and session is not None and session.is_headless
        how = OUT_OF_REACH if is_out_of_reach else _how_to_answer(request, name)
        say_hint(f"    {whole}{how}")


def _state(request: RequestInfo, sessions: Mapping[str, SessionInfo], on_timeout: str) -> str:
    outcome, by = request.outcome, with_names(request.answered_by, sessions)
    missed = "missed: not answered in time; " if request.missed else ""
    if outcome == "open":
        deadline = request.deadline
        fallback = fallback_of(request, sessions.get(request.session))
        deadline_note = f", {at_deadline(deadline, on_timeout, fallback)}" if deadline else ""
        source_note = ", seen on its screen" if request.source == "screen" else ""
        return f"{missed}open{deadline_note}{source_note}"
    if outcome == "gone":
        return f"{missed}{request.reason or f'ended by {by}'}"
    return f"{missed}denied (timed out)" if by == CLOCK else f"{missed}{outcome} by {by}"


def _show_options(question: QuestionInfo) -> None:
    described = question.descriptions
    for number, option in enumerate(question.options, 1):
        about = described[number - 1] if number <= len(described) else ""
        more = f": {in_one_line(about)}" if about else ""
        say_wrapped(f"{in_one_line(option)}{more}", first=f"      {number}. ")
    if question.takes_several:
        say("      (one or more of them)")


def _how_to_answer(request: RequestInfo, session: str) -> str:  # noqa: PLR0911 - a table
    questions, is_seen, id_ = request.questions, request.source == "screen", request.id
    if request.kind == "permission" and not is_seen:
        reason = " --reason WORDS" if request.takes_reason else ""
        return f"rookery allow {id_}  |  rookery deny {id_}{reason}"
    if is_seen and not questions[0].options:
        keys = "  |  ".join(f"rookery keys {session} {key}" for key in ("enter", "escape"))
        return f"rookery attach {session}  |  {keys}"
    if request.kind == "permission":
        return f"rookery allow {id_}  |  rookery deny {id_}  |  rookery answer {id_} NUMBER"
    if len(questions) > 1 and not request.takes_options:
        return f"rookery attach {session}  |  rookery keys {session} KEY   (key by key)"
    if len(questions) > 1:
        each = " ".join(f"ANSWER{number}" for number in range(1, len(questions) + 1))
        commas = any(question.takes_several for question in questions)
        how = "in order; commas between several options" if commas else "in order"
        return f"rookery answer {id_} {each}   (one for each question, {how})"
    question = questions[0]
    if not question.options:
        return f"rookery answer {id_} WORDS"
    if is_seen:
        return f"rookery answer {id_} NUMBER"
    several = " [NUMBER …]" if question.takes_several else ""
    free_text_command = f"rookery answer {id_} --text WORDS"
    free = free_text_command if request.takes_text else f"rookery attach {session}"
    return f"rookery answer {id_} NUMBER{several}  |  {free}"
