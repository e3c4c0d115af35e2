"""The commands for what agents may do: see what they ask, answer, and who is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rookery.cli.completion import session_names
from rookery.cli.messages import prompt_of
from rookery.cli.names import known_sessions, name_of, with_names
from rookery.cli.render import (
    ago,
    at_deadline,
    complain,
    cut,
    local,
    out_of_date,
    plain,
    rules_warning,
    say,
    say_line,
    show_json,
)
from rookery.cli.requests import hidden_fields, in_one_line, is_partial, show_input
from rookery.cli.root import as_json, client, examples, rookery
from rookery.client import Client
from rookery.model.errors import BadInput, CommandRefused
from rookery.model.folders import runs_command
from rookery.model.permissions import STOP
from rookery.model.sessions import HEADLESS


@rookery.group(invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Also what is decided.")
@as_json
@click.pass_context
def permissions(context: click.Context, *, everything: bool, as_json: bool) -> None:
    """List what agents ask for; answer with allow, deny or answer."""
    if context.invoked_subcommand:
        return
    daemon = client()
    found = daemon.get("permissions", all=everything)
    if as_json:
        show_json(found)
        return
    if found["trouble"]:
        complain(rules_warning(found["trouble"]))
    if found.get("store_trouble"):
        complain(out_of_date(found["store_trouble"]))
    known = _known(daemon, found["requests"], by="answered_by")
    for request in found["requests"]:
        _show_request(request, known, found["on_timeout"])
    if not found["requests"] and not found.get("store_trouble"):
        say("Nobody asks for anything.")
    if missed := [each["id"] for each in found["requests"] if each["missed"]]:
        daemon.post("permissions", "seen", requests=missed)


def _known(
    daemon: Client, listed: Sequence[Mapping[str, Any]], *, by: str
) -> Mapping[str, Mapping[str, Any]]:
    """Return the sessions that were asked about, and those that answered."""
    sessions = (each["session"] for each in listed)
    return known_sessions(daemon, sessions, (each[by] for each in listed))


def _is_open(request: Mapping[str, Any]) -> bool:
    return bool(request["outcome"] == "open")


def _show_request(
    request: Mapping[str, Any],
    known: Mapping[str, Mapping[str, Any]],
    on_timeout: str,
) -> None:
    """Print a request, and how to answer it by its id.

    By the session's name, another request that came meanwhile would be answered.
    """
    name, since = name_of(request["session"], known), ago(request["asked_at"])
    say_line(f"{request['id']}  {name}  {since} ago  {_state(request, known, on_timeout)}")
    if len(request["questions"]) <= 1 and not request["input"].get("plan"):
        also = ", ".join(map(in_one_line, hidden_fields(request)))
        say(f"    {in_one_line(request['message'])}" + (f"  (also: {also})" if also else ""))
    elif request["input"].get("plan"):
        say("    May it carry out its plan?")
        for line in plain(str(request["input"]["plan"])).splitlines():
            say(f"      {line}".rstrip())
    several = len(request["questions"]) > 1
    for number, question in enumerate(request["questions"], 1):
        if several:
            say(f"    {number}) {in_one_line(question['text'])}")
        _show_options(question)
    if _is_open(request):
        if request["reason"]:
            say(f"    The last answer was not given: {in_one_line(request['reason'])}.")
        whole = f"rookery permissions show {request['id']}  |  " if is_partial(request) else ""
        say(f"    {whole}{_how_to_answer(request, name)}")


def _state(
    request: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], on_timeout: str
) -> str:
    outcome, by = request["outcome"], with_names(request["answered_by"], known)
    missed = "missed: not answered in time; " if request["missed"] else ""
    if outcome == "open":
        deadline = request["deadline"]
        fallback = _fallback(request, known)
        left = f", {at_deadline(deadline, on_timeout, fallback)}" if deadline else ""
        seen = ", seen on its screen" if request["source"] == "screen" else ""
        return f"{missed}open{left}{seen}"
    if outcome == "gone":
        return f"{missed}{request['reason'] or f'gone by {by}'}"
    return f"{missed}denied (timed out)" if by == "the clock" else f"{missed}{outcome} by {by}"


def _fallback(request: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what can happen to a request at its deadline."""
    if request["tool"] == STOP:
        return "stop"
    is_headless = known.get(request["session"], {}).get("runtime") == HEADLESS
    return "dialog" if request.get("has_dialog", True) and not is_headless else "denial"


def _show_options(question: Mapping[str, Any]) -> None:
    described = question.get("descriptions") or []
    for number, option in enumerate(question["options"], 1):
        about = described[number - 1] if number <= len(described) else ""
        more = f": {in_one_line(about)}" if about else ""
        say(f"      {number}. {in_one_line(option)}{more}")


def _how_to_answer(request: Mapping[str, Any], session: str) -> str:  # noqa: PLR0911 - a table
    questions, is_seen, id_ = request["questions"], request["source"] == "screen", request["id"]
    if request["kind"] == "permission" and not is_seen:
        return f"rookery allow {id_}  |  rookery deny {id_} --reason WORDS"
    if is_seen and not questions[0]["options"]:
        keys = "  |  ".join(f"rookery keys {session} {key}" for key in ("enter", "escape"))
        return f"rookery attach {session}  |  {keys}"
    if request["kind"] == "permission":
        return f"rookery allow {id_}  |  rookery deny {id_}  |  rookery answer {id_} NUMBER"
    if len(questions) > 1:
        each = " ".join(f"ANSWER{number}" for number in range(1, len(questions) + 1))
        return f"rookery answer {id_} {each}   (one for each question, in their order)"
    question = questions[0]
    if not question["options"]:
        return f"rookery answer {id_} WORDS"
    if is_seen:
        return f"rookery answer {id_} NUMBER"
    several = " [NUMBER …]" if question["takes_several"] else ""
    own = f"rookery answer {id_} --text WORDS"
    free = own if request.get("takes_text", True) else f"rookery attach {session}"
    return f"rookery answer {id_} NUMBER{several}  |  {free}"


@permissions.command()
@as_json
@click.argument("request", shell_complete=session_names)
def show(*, request: str, as_json: bool) -> None:
    """Show the whole input of REQUEST, or of all that a session asks for."""
    daemon = client()
    listed = daemon.get("permissions")
    known = known_sessions(daemon, (each["session"] for each in listed["requests"]))
    asked = [
        each
        for each in listed["requests"]
        if _is_open(each) and name_of(each["session"], known) == request
    ]
    found = asked or [daemon.get("permissions", request)]
    if as_json:
        show_json({"requests": found})
        return
    for each in found:
        _show_request(each, known, listed["on_timeout"])
        show_input(each)


@permissions.command()
@click.option("--agent", default="claude", show_default=True)
@click.option("--project", default=".", help="Folder that the call is made in; else this one.")
@click.option("--folder", default="", help="Folder of the command, if not the project's.")
@click.option("--session", default="", help="The name of the session that makes it.")
@as_json
@click.argument("call")
def test(  # noqa: PLR0913 - its options
    *, agent: str, project: str, folder: str, session: str, as_json: bool, call: str
) -> None:
    """Say which rule decides about CALL: '{"tool": "Bash", "input": {"command": "ls"}}'."""
    try:
        given = json.loads(prompt_of((call,)))
    except ValueError as error:
        raise BadInput(f"that is not JSON: {error}") from error
    match given:
        case {"tool_name": str(tool), "tool_input": dict(fields)}:
            pass
        case {"tool": str(tool)}:
            fields = given.get("input", {})
        case _:
            raise BadInput('say which tool: {"tool": "Bash", "input": {"command": "ls"}}')
    # Absolute: the daemon runs elsewhere.
    where = {
        "project": _absolute(project),
        "folder": _absolute(folder) if folder else "",
        "session": session,
    }
    found = client().post("rules", "test", tool=tool, input=fields, agent=agent, **where)
    if as_json:
        show_json(found)
        return
    if not found["rule"]:
        say(found["reason"])
        return
    say(f"{found['decision']} by the rule {found['rule']!r}. {found['reason']}".strip())


def _absolute(folder: str) -> str:
    # With links followed, as the project of a session is.
    return str(Path(folder).expanduser().resolve())


@rookery.command()
@click.option("--session", "for_session", is_flag=True, help="And the same call from now on.")
@as_json
@click.argument("request", shell_complete=session_names)
def allow(*, request: str, for_session: bool, as_json: bool) -> None:
    """Let the tool call run that REQUEST, or a session, asks for."""
    found = _answer(request, decision="allow", for_session=for_session)
    _tell(found, "Allowed", as_json=as_json)


@rookery.command()
@click.option("--reason", default="", help="Told to the agent.")
@as_json
@click.argument("request", shell_complete=session_names)
def deny(*, request: str, reason: str, as_json: bool) -> None:
    """Refuse what REQUEST, or a session, asks for."""
    _tell(_answer(request, decision="deny", reason=reason), "Denied", as_json=as_json)


@rookery.command(
    epilog=examples(
        "rookery answer builder 2",
        "rookery answer builder Postgres",
        "rookery answer builder Postgres unit,e2e",
        'rookery answer builder --text "None of them: use SQLite"',
    )
)
@click.option(
    "--text",
    "--own-words",
    "own_words",
    is_flag=True,
    help="Take the words as free text, not for an option.",
)
@as_json
@click.argument("request", shell_complete=session_names)
@click.argument("words", nargs=-1, required=True)
def answer(*, request: str, words: tuple[str, ...], own_words: bool, as_json: bool) -> None:
    """Answer a question: by an option's number, its name or how it begins; or by --text.

    Where an agent asks several questions, give one answer for each, in their order.
    """
    found = _answer(request, decision="answer", answers=list(words), own_words=own_words)
    _tell(found, "Answered", as_json=as_json)


#: Seconds for an answer to be seen to have taken effect: longer than the daemon waits for a
#: hook program to come back, before it presses the answer in the agent's dialog.
DELIVERY_TIMEOUT_S = 60


def _answer(request: str, **verdict: object) -> Mapping[str, Any]:
    """Answer, and wait until the answer has reached its agent."""
    daemon = client()
    given: Mapping[str, Any] = daemon.post("permissions", request, "answer", **verdict)
    if given["delivery"] != "due":
        return given
    now = daemon.get("permissions", given["id"], timeout=DELIVERY_TIMEOUT_S)
    return {**now, "note": given["note"]}


def _tell(request: Mapping[str, Any], what: str, *, as_json: bool) -> None:
    if as_json:
        show_json(request)
    if request["outcome"] in {"open", "gone"}:
        raise CommandRefused(f"the answer was not given: {request['reason']}.")
    if request["delivery"] == "due":
        raise CommandRefused("it is not known yet whether the answer was taken; look again.")
    if not as_json:
        say(f"{what}: {in_one_line(request['message'])}{_given(request)}")
        if request["kind"] == "permission" and is_partial(request):
            show_input(request)
    if request["note"]:
        complain(request["note"])


def _given(request: Mapping[str, Any]) -> str:
    """Say which answers were given."""
    given = [", ".join(each) for each in request["answers"].values()]
    return f" → {in_one_line('; '.join(given))}" if given else ""


@rookery.command()
@as_json
@click.argument("mode", required=False, type=click.Choice(["local", "remote"]))
def mode(*, mode: str | None, as_json: bool) -> None:
    """Say who asks for permissions: each agent in its terminal (local), or Rookery (remote)."""
    found = client().post("mode", mode=mode) if mode else client().get("mode")
    if as_json:
        show_json(found)
    elif found["mode"] == "remote":
        say("remote: Rookery asks. See:  rookery permissions")
    else:
        say("local: each agent asks in its own terminal.")


@rookery.command()
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
def audit(*, name: str, limit: int, as_json: bool) -> None:
    """List what was decided about tool calls: by whom or what, and why."""
    daemon = client()
    found = daemon.get("audit", session=name, limit=limit)
    if as_json:
        show_json(found)
        return
    known = _known(daemon, found["decisions"], by="by")
    for each in found["decisions"]:
        whose = name_of(each["session"], known)
        by = f"{with_names(each['by'], known)} {each['rule']}".strip()
        what = " ".join(json.dumps(each["input"], ensure_ascii=False).split())
        why = f"  ({cut(' '.join(each['reason'].split()), 100)})" if each["reason"] else ""
        tool = f"{each['tool']}{_elsewhere(each, known)}"
        done = f"{each['decision']:8}  {by:20}  {tool}  {cut(what, 100)}{why}"
        say_line(f"{local(each['at'])}  {whose:16}  {done}")
    if not found["decisions"]:
        say("Nothing was decided yet.")


def _elsewhere(decided: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> str:
    """Say where a command ran, if that is not its session's project folder."""
    folder = decided["folder"] if runs_command(decided["input"]) else ""
    project = known.get(decided["session"], {}).get("project_path", "")
    return f" in {in_one_line(folder)}" if folder not in {"", project} else ""
