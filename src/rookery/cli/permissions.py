"""The commands for permissions: list requests, test rules, show decisions."""

from __future__ import annotations

import json
from functools import partial
from typing import TypedDict, Unpack

import click

from rookery.agents.names import DEFAULT
from rookery.cli.completion import any_session_names, asking_names
from rookery.cli.names import known_sessions, name_of, with_names
from rookery.cli.options import as_json, context_client, examples, pass_client
from rookery.cli.prompts import prompt_of
from rookery.cli.render import complain, local, reply, say, say_line, show_json
from rookery.cli.request_choice import NONE_PENDING
from rookery.cli.request_text import in_one_line, show_input
from rookery.cli.request_view import show_request
from rookery.client import Client
from rookery.client import permissions as api
from rookery.client.permissions import (
    AuditInfo,
    DecisionInfo,
    RequestListInfo,
    RuleTestCall,
)
from rookery.client.sessions import SessionInfo
from rookery.model.errors import BadInput
from rookery.model.folders import runs_command
from rookery.presentation.cells import cut
from rookery.presentation.evidence import out_of_date, rules_warning
from rookery.user_paths import expanded


@click.group(
    invoke_without_command=True,
    epilog=examples("rookery permissions", "rookery permissions --all"),
)
@click.option("--all", "everything", is_flag=True, help="Also answered requests.")
@as_json
@click.pass_context
def permissions(context: click.Context, *, everything: bool, as_json: bool) -> None:
    """List open requests; answer them with allow, deny or answer."""
    if context.invoked_subcommand:
        return
    daemon = context_client(context)
    listed = api.list_requests(daemon, all=everything)
    reply(listed, partial(_show_list, daemon, listed), as_json=as_json)


def _show_list(daemon: Client, listed: RequestListInfo) -> None:
    if listed.trouble:
        complain(rules_warning(listed.trouble))
    if listed.store_trouble:
        complain(out_of_date(listed.store_trouble))
    sessions = (each.session for each in listed.requests)
    named_sessions = known_sessions(
        daemon, sessions, (each.answered_by for each in listed.requests)
    )
    for request in listed.requests:
        show_request(request, named_sessions, listed.on_timeout)
    if not listed.requests and not listed.store_trouble:
        say(NONE_PENDING)
    if missed := [each.id for each in listed.requests if each.missed]:
        api.mark_seen(daemon, missed)


@permissions.command(
    epilog=examples("rookery permissions show api", "rookery permissions show 82cd0e3d")
)
@as_json
@click.argument("request", shell_complete=asking_names)
@pass_client
def show(daemon: Client, *, request: str, as_json: bool) -> None:
    """Show the whole input of REQUEST, or of all requests of a session."""
    listed = api.list_requests(daemon)
    named_sessions = known_sessions(daemon, (each.session for each in listed.requests))
    of_session = [
        each
        for each in listed.requests
        if each.is_open and name_of(each.session, named_sessions) == request
    ]
    selected = of_session or [api.show_request(daemon, request)]
    if as_json:
        show_json({"requests": [each.json for each in selected]})
        return
    for each in selected:
        show_request(each, named_sessions, listed.on_timeout)
        show_input(each)


class CallerOptions(TypedDict):
    """The options that describe the session whose call is tested."""

    agent: str
    project: str
    folder: str
    session: str


@permissions.command(
    epilog=examples(
        """rookery permissions test '{"tool": "Bash", "input": {"command": "ls"}}'""",
        """rookery permissions test --session api '{"tool": "Read", "input": {}}'""",
    )
)
@click.option("--agent", default=DEFAULT, show_default=True)
@click.option(
    "--project", default=".", help="Project folder of the session. Default: this one."
)
@click.option("--folder", default="", help="Folder of the command, if it is another.")
@click.option("--session", default="", help="Name of the session that makes the call.")
@as_json
@click.argument("call")
@pass_client
def test(daemon: Client, *, call: str, as_json: bool, **given: Unpack[CallerOptions]) -> None:
    """Show which rule decides about CALL: '{"tool": "Bash", "input": {"command": "ls"}}'."""
    tool, fields = _tool_call(call)
    # Absolute, because the daemon runs in another folder.
    order = RuleTestCall(
        tool=tool,
        input=fields,
        agent=given["agent"],
        project=_absolute(given["project"]),
        folder=_absolute(given["folder"]) if given["folder"] else "",
        session=given["session"],
    )
    result = api.run_rule_test(daemon, order)
    decided = f"{result.decision} by the rule {result.rule!r}. {result.reason}".strip()
    reply(result, decided if result.rule else result.reason, as_json=as_json)


def _absolute(folder: str) -> str:
    # Symbolic links are resolved, as in the project path of a session.
    return str(expanded(folder).resolve())


def _tool_call(text: str) -> tuple[str, object]:
    """Parse a tool and its input from JSON with the keys of this command or of a hook."""
    try:
        parsed = json.loads(prompt_of((text,)))
    except ValueError as error:
        raise BadInput(f"this is not JSON: {error}") from error
    match parsed:
        case {"tool_name": str(tool), "tool_input": dict(fields)}:
            return tool, fields
        case {"tool": str(tool), **rest}:
            return tool, rest.get("input", {})
        case _:
            raise BadInput('name a tool: {"tool": "Bash", "input": {"command": "ls"}}')


@click.command(epilog=examples("rookery mode", "rookery mode remote"))
@as_json
@click.argument("mode", required=False, type=click.Choice(["local", "remote"]))
@pass_client
def mode(daemon: Client, *, mode: str | None, as_json: bool) -> None:
    """Choose who asks for permissions: each agent (local), or Rookery (remote)."""
    current = api.set_mode(daemon, mode) if mode else api.show_mode(daemon)
    remote = "remote: Rookery asks. See:  rookery permissions"
    local = "local: each agent asks in its own terminal."
    reply(current, remote if current.mode == "remote" else local, as_json=as_json)


@click.command(epilog=examples("rookery audit", "rookery audit api --json"))
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="Maximum number of decisions.",
)
@as_json
@click.argument("name", required=False, default="", shell_complete=any_session_names)
@pass_client
def audit(daemon: Client, *, name: str, limit: int, as_json: bool) -> None:
    """List the decisions about tool calls: by whom or what, and why."""
    decisions = api.show_audit(daemon, session=name, limit=limit)
    reply(decisions, partial(_show_audit, daemon, decisions), as_json=as_json)


def _show_audit(daemon: Client, audited: AuditInfo) -> None:
    sessions = (each.session for each in audited.decisions)
    named_sessions = known_sessions(daemon, sessions, (each.by for each in audited.decisions))
    for each in audited.decisions:
        session_name = name_of(each.session, named_sessions)
        by = f"{with_names(each.by, named_sessions)} {each.rule}".strip()
        input_text = " ".join(json.dumps(each.input, ensure_ascii=False).split())
        why = f"  ({cut(' '.join(each.reason.split()), 100)})" if each.reason else ""
        tool = f"{each.tool}{_elsewhere(each, named_sessions.get(each.session))}"
        done = f"{each.decision:8}  {by:20}  {tool}  {cut(input_text, 100)}{why}"
        say_line(f"{local(each.at)}  {session_name:16}  {done}")
    if not audited.decisions:
        say("There are no decisions yet.")


def _elsewhere(decided: DecisionInfo, session: SessionInfo | None) -> str:
    """Return where a command ran, if that is not its session's project folder."""
    folder = decided.folder if runs_command(decided.input) else ""
    project = session.project_path if session else ""
    return f" in {in_one_line(folder)}" if folder not in {"", project} else ""
