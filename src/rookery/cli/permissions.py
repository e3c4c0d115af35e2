"""The commands for what agents may do: see what they ask, answer, and who is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from rookery.cli.complete import session_names
from rookery.cli.group import as_json, client, examples, rookery
from rookery.cli.naming import known_sessions, name_of, with_names
from rookery.cli.show import (
    ago,
    complain,
    cut,
    local,
    plain,
    rules_warning,
    say,
    say_line,
    show_json,
)
from rookery.cli.words import prompt_of
from rookery.model.errors import BadInput


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
    known = known_sessions(daemon)
    for request in found["requests"]:
        _show_request(request, known)
    if not found["requests"]:
        say("Nobody asks for anything.")


def _show_request(request: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> None:
    name, since = name_of(request["session"], known), ago(request["asked_at"])
    outcome, by = request["outcome"], with_names(request["answered_by"], known)
    state = outcome if outcome == "open" else f"{outcome} by {by}"
    say_line(f"{request['id']}  {name}  {since} ago  {state}")
    say(f"    {' '.join(plain(request['message']).split())[:300]}")
    for question in request["questions"]:
        for number, option in enumerate(question["options"], 1):
            say(f"      {number}. {' '.join(plain(option).split())[:300]}")
    if outcome == "open" and request["kind"] == "permission":
        say(f"    rookery allow {name}  |  rookery deny {name} --reason WORDS")
    elif outcome == "open":
        way = f"attach {name}" if request["by_keys"] else f"answer {name} WORDS"
        say(f"    rookery {way}")


@permissions.command()
@click.option("--agent", default="claude", show_default=True)
@click.option("--project", default="", help="The folder that the call is made in.")
@click.option("--session", default="", help="The name of the session that makes it.")
@as_json
@click.argument("call")
def test(*, agent: str, project: str, session: str, as_json: bool, call: str) -> None:
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
    found = client().post(
        "rules", "test", tool=tool, input=fields, agent=agent, project=project, session=session
    )
    if as_json:
        show_json(found)
        return
    by = f" by the rule {found['rule']!r}" if found["rule"] else ""
    say(f"{found['decision']}{by}. {found['reason']}".strip())


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
        'rookery answer builder "None of them: use SQLite"',
        "rookery answer builder --own-words 42",
    )
)
@click.option("--own-words", is_flag=True, help="Take a number as it is, not for an option.")
@as_json
@click.argument("request", shell_complete=session_names)
@click.argument("words", nargs=-1, required=True)
def answer(*, request: str, words: tuple[str, ...], own_words: bool, as_json: bool) -> None:
    """Answer a question: by an option's number or name, or in words of your own."""
    found = _answer(request, decision="answer", answers=list(words), own_words=own_words)
    _tell(found, "Answered", as_json=as_json)


def _answer(request: str, **verdict: object) -> Mapping[str, Any]:
    found: Mapping[str, Any] = client().post("permissions", request, "answer", **verdict)
    return found


def _tell(request: Mapping[str, Any], what: str, *, as_json: bool) -> None:
    if as_json:
        show_json(request)
    else:
        say(f"{what}: {' '.join(plain(request['message']).split())[:200]}")


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
    known = known_sessions(daemon)
    for each in found["decisions"]:
        whose = name_of(each["session"], known)
        by = f"{with_names(each['by'], known)} {each['rule']}".strip()
        what = " ".join(json.dumps(each["input"], ensure_ascii=False).split())
        why = f"  ({cut(' '.join(each['reason'].split()), 100)})" if each["reason"] else ""
        done = f"{each['decision']:8}  {by:20}  {each['tool']}  {cut(what, 100)}{why}"
        say_line(f"{local(each['at'])}  {whose:16}  {done}")
    if not found["decisions"]:
        say("Nothing was decided yet.")
