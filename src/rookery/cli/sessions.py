"""The commands for sessions: start, see, wait, press keys, end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from rookery.cli.blocked import Obstacles, how_to_answer, open_requests
from rookery.cli.completion import agent_names, of_session, session_names
from rookery.cli.endings import ended_by, with_names_of
from rookery.cli.messages import prompt_of
from rookery.cli.render import (
    HELD,
    at_deadline,
    count,
    first_line,
    has_failed_turn,
    out_of_date,
    remark,
    rules_warning,
    running_on,
    say,
    show_json,
    show_sessions,
)
from rookery.cli.root import SECONDS, as_json, client, examples, not_empty, rookery
from rookery.cli.waiting import (
    gathered,
    goes_on,
    how_many,
    needed_of,
    patiently,
    stoppable,
)
from rookery.client import Client
from rookery.environment import FROM_CALLER
from rookery.model.errors import Answered, BadInput

#: Where each agent takes settings from the folder that it works in.
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "claude": (".claude", ".mcp.json"),
    "codex": (".codex",),
    "gemini": (".gemini",),
    "opencode": (".opencode", "opencode.json", "opencode.jsonc"),
}


@rookery.command()
@click.option(
    "--agent",
    "-a",
    required=True,
    shell_complete=agent_names,
    help="claude, codex, gemini, opencode, shell, demo.",
)
@click.option("--name", "-n", default="", callback=not_empty, help="Else made of the prompt.")
@click.option("--project", "-p", default=".", help="Folder to work in; else this one.")
@click.option("--runtime", default="tmux", show_default=True)
@click.option("--model", "-m", default="", help="Else the agent's own choice.")
@click.option("--permission-mode", default="", help="Else the agent's own.")
@click.option("--no-tools", is_flag=True, help="Without Rookery's own tools (MCP).")
@click.option("--file", "-f", type=click.File("rb"), help="Read the prompt from a file.")
@click.option("--wait", is_flag=True, help="Until it is up and, with a prompt, has answered.")
@click.option("--timeout", type=SECONDS, help="Seconds to wait; else for ever.")
@as_json
@click.argument("prompt", nargs=-1)
def start(**given: Any) -> None:  # noqa: ANN401 - the options above
    """Start an agent, with a PROMPT if you like; "-" reads it from standard input.

    For the agent "shell", what follows "--" is the command to run. With --wait it exits
    with 1 if the session, or its first turn, fails.
    """
    daemon = client()
    session = _begin(daemon, given)
    if brought := _brought_along(session):
        remark(f"This project has settings of its own for {session['agent']}: {brought}.")
    if given["wait"]:
        until = "stop" if session["first_prompt"] else "up"
        session = awaited(daemon, session, until, given["timeout"])
    report(session, as_json=given["as_json"])


def _brought_along(session: Mapping[str, Any]) -> str:
    """Name what a project holds that may run programs once its agent trusts the folder."""
    folder = Path(session["project_path"])
    found = [name for name in SETTINGS.get(session["agent"], ()) if (folder / name).exists()]
    return ", ".join(found) if folder != Path.home() else ""  # there, they are the user's own


def _begin(daemon: Client, given: Mapping[str, Any]) -> Mapping[str, Any]:
    is_shell = given["agent"] == "shell"
    try:
        session: Mapping[str, Any] = daemon.post(
            "sessions",
            agent=given["agent"],
            name=given["name"],
            project=str(Path(given["project"]).expanduser().absolute()),
            runtime=given["runtime"],
            model=given["model"],
            permission_mode=given["permission_mode"],
            prompt="" if is_shell else prompt_of(given["prompt"], given["file"]),
            command=list(given["prompt"]) if is_shell else [],
            environment=environment_here(),
            tools=not given["no_tools"],
        )
    except Answered as refusal:
        raise _with_a_hint(refusal, given["prompt"]) from refusal
    return session


def _with_a_hint(refusal: Answered, command: Sequence[str]) -> Answered:
    """Say what else to try where a whole command line was given as one word."""
    if refusal.code != "program-missing" or len(command) != 1 or " " not in command[0]:
        return refusal
    return Answered(refusal.code, f"{refusal} Or leave out the quotes:  -- {command[0]}")


def awaited(
    daemon: Client, session: Mapping[str, Any], until: str, timeout: float | None
) -> Mapping[str, Any]:
    """Wait for one session, as long as it takes or as is said."""
    name = session["name"]
    in_the_way = partial(Obstacles(daemon).tell, (session["id"],))
    with stoppable(name):
        found: Mapping[str, Any] = patiently(
            daemon,
            *("sessions", session["id"], "wait"),
            timeout=timeout,
            otherwise=goes_on(name),
            meanwhile=in_the_way if until == "stop" else None,
            until=until,
        )
    return found


def report(session: Mapping[str, Any], *, as_json: bool) -> None:
    """Say how a session is; that it failed, or its last turn, also by the exit code."""
    if as_json:
        show_json(session)
    else:
        say(told(session))
    if _has_failed(session):
        sys.exit(1)


def _has_failed(session: Mapping[str, Any]) -> bool:
    return session["status"] == "failed" or has_failed_turn(session)


def told(session: Mapping[str, Any]) -> str:
    """Say in one line how a session is, and how one sees more of it."""
    name, state = session["name"], session["activity"] or session["status"]
    reason = first_line(session["reason"])
    if session["status"] == "failed":
        is_more = reason != session["reason"].strip()
        return f"{name} failed: {reason}" + (
            f". Its last screen:  rookery output {name}" if is_more else ""
        )
    if state in {"permission", "question"}:
        how = how_to_answer(session, open_requests(client(), session["id"]))
        return f"{name} waits for your answer: {reason}  {how}"
    if has_failed_turn(session):
        does = f"is {state}; its last turn failed."
    elif ended := ended_by(session):
        does = f"was {with_names_of(ended, client())}."
    else:
        commands = session.get("background") if state == "idle" else 0
        said = "; ".join(filter(None, [reason, running_on(commands) if commands else ""]))
        does = f"is {state} ({said})." if said else f"is {state}."
    return f"{name} {does}  rookery attach {name}  |  rookery output {name}"


def environment_here() -> dict[str, str]:
    """Hand over our environment: the daemon takes of it what it may; of an agent's, nothing."""
    if "ROOKERY_BADGE" in os.environ:
        return {}
    return {name: os.environ[name] for name in FROM_CALLER if name in os.environ}


@rookery.command()
@click.option("--all", "-a", "everything", is_flag=True, help="Also those that ended long ago.")
@click.option("--tree", is_flag=True, help="Each below the one that started it.")
@as_json
def ls(*, everything: bool, tree: bool, as_json: bool) -> None:
    """List the sessions; those that wait for you come first."""
    found = client().get("sessions", all=everything)
    if as_json:
        show_json(found)
        return
    if found.get("holding"):
        remark(HELD)
    if found.get("trouble"):
        remark(out_of_date(found["trouble"]))
    if found.get("hooks_problem"):
        remark(f"{found['hooks_problem']}.")
    if found.get("rules_problem"):
        remark(rules_warning(found["rules_problem"]))
    kept, failures = found["kept"], found["failures"]
    asked = _asked(found.get("pending", {}), found.get("on_timeout", ""))
    show_sessions(found["sessions"], kept=kept, failures=failures, asked=asked, as_tree=tree)


def _asked(pending: Mapping[str, Any], on_timeout: str) -> dict[str, str]:
    """Say of each session by when its request wants an answer, or that it was missed."""
    told = {}
    for session, each in pending.items():
        if each["missed"]:
            told[session] = "missed"
        elif each["deadline"]:
            fallback = each.get("fallback", "dialog")
            told[session] = at_deadline(each["deadline"], on_timeout, fallback)
    return told


@rookery.command()
@click.option("--history", is_flag=True, help="Also what has scrolled away.")
@as_json
@of_session
def screen(*, name: str, history: bool, as_json: bool) -> None:
    """Print what stands on a session's screen; of one that is over, what stood there last."""
    found = client().get("sessions", name, "screen", history=history)
    if as_json:
        show_json(found)
    else:
        say("\n".join(line.rstrip() for line in found["lines"]).rstrip("\n"))


@rookery.command()
@of_session
def attach(name: str) -> None:
    """Watch a session in this terminal and type into it; leave it running with C-b d.

    Within a tmux of your own, that is C-b C-b d.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("attach needs a terminal; `rookery output` does not.")
    daemon = client()
    session = daemon.get("sessions", name)
    if session["tmux_session"] is None or session["ended_at"]:
        raise BadInput(f"{session['name']} is not in a pane now. See:  rookery output {name}")
    socket = session["tmux_server"] or daemon.get("status")["tmux_socket"]
    os.environ.pop("TMUX", None)  # in somebody's own tmux it is attached inside
    target = _present_session(socket, session["tmux_pane"]) or session["tmux_session"]
    try:
        os.execvp("tmux", ["tmux", "-u", "-S", socket, "attach-session", "-t", f"={target}"])  # noqa: S606
    except OSError as error:
        raise BadInput(f"tmux cannot be run here: {error.strerror}.") from error


def _present_session(socket: str, pane: str | None) -> str:
    """Return the window that shows a pane now: it may have been renamed or moved."""
    shown = "#{pane_id} #{session_name}:#{window_index}"
    words = ["tmux", "-u", "-S", socket, "list-panes", "-a", "-F", shown]
    try:
        listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    except OSError as error:
        raise BadInput(f"tmux cannot be run here: {error.strerror}.") from error
    rows = (each.partition(" ") for each in listed.splitlines())
    windows = [window for found, _, window in rows if found == pane]
    # The daemon's own session shows the windows of all agents.
    return next((each for each in windows if not each.startswith("rookery:")), "")


@rookery.command()
@click.option("--all", "everything", is_flag=True, help="Every session that Rookery started.")
@click.option("--force", is_flag=True, help="Also one that Rookery did not start.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds.")
@as_json
@click.argument("name", required=False, shell_complete=session_names)
def end(
    *, name: str | None, everything: bool, force: bool, timeout: float, as_json: bool
) -> None:
    """End a session: asked first, then told, then made to."""
    if (name is None) != everything:
        raise BadInput("say which session, or --all.")
    daemon = client()
    names = [name] if name else daemon.post("sessions", "end")["ended"]
    endings = [_end(daemon, each, timeout, force=force) for each in names]
    if as_json:
        ended = [each.session for each in endings]
        show_json({"sessions": ended} if everything else ended[0])
        return
    for ending in endings:
        say(ending.told(by_all=everything))
    if not endings:
        say("No session of ours lives.")


@dataclass(frozen=True, slots=True)
class _Ending:
    session: Mapping[str, Any]
    was_over: bool
    undelivered: int

    def told(self, *, by_all: bool) -> str:
        name, status = self.session["name"], self.session["status"]
        if self.was_over and not by_all:
            if ended := ended_by(self.session):
                return f"{name} was over already: {with_names_of(ended, client())}."
            why = first_line(self.session["reason"]).removesuffix(".")
            return f"{name} was over already: {status}, {why}."
        were = "was" if self.undelivered == 1 else "were"
        lost = f" {count(self.undelivered, 'message')} {were} never delivered."
        return f"{name} is ended." + (lost if self.undelivered else "")


def _end(daemon: Client, name: str, timeout: float, *, force: bool) -> _Ending:
    asked = daemon.post("sessions", name, "end", force=force)
    found = daemon.get("sessions", asked["id"], "wait", until="end", timeout=timeout)
    unheard = daemon.get("sessions", asked["id"], "turns", last=1)["unheard"]
    undelivered = sum(each["step"] == "failed" for each in unheard)
    return _Ending(found, bool(asked["ended_at"]), undelivered)


@rookery.command(
    epilog=examples("rookery wait builder", "rookery wait builder tester --any --timeout 600")
)
@click.option(
    "--until", type=click.Choice(["up", "stop", "end"]), default="stop", show_default=True
)
@how_many
@click.option("--timeout", type=SECONDS, help="Seconds to wait; else for ever.")
@as_json
@click.argument("names", nargs=-1, required=True, shell_complete=session_names)
def wait(**given: Any) -> None:  # noqa: ANN401 - the options above
    """Wait until sessions stop, which is also when they need you; or until their end.

    Of several, each is told of as it gets there; all have to, unless you say --any or
    --count. Exits with 1 if one of them, or its last turn, failed.
    """
    daemon, names = client(), given["names"]
    enough = needed_of(given, names, otherwise="all")
    if len(names) > 1:
        number = {"all": len(names), "any": 1}.get(str(enough)) or int(enough)
        _wait_for_several(daemon, given, number)
        return
    session = daemon.get("sessions", names[0])
    report(awaited(daemon, session, given["until"], given["timeout"]), as_json=given["as_json"])


def _wait_for_several(daemon: Client, given: Mapping[str, Any], needed: int) -> None:
    names, there = given["names"], []
    until, timeout = given["until"], given["timeout"]
    with stoppable(*names):
        for session in gathered(daemon, names, needed=needed, until=until, timeout=timeout):
            there.append(session)
            if not given["as_json"]:
                say(told(session))
                sys.stdout.flush()
    if given["as_json"]:
        show_json({"sessions": there})
    if any(map(_has_failed, there)):
        sys.exit(1)


@rookery.command()
@as_json
@of_session
def interrupt(*, name: str, as_json: bool) -> None:
    """Stop what a session is doing, as pressing its interrupt key would."""
    session = client().post("sessions", name, "interrupt")
    if as_json:
        show_json(session)
    else:
        say(f"Interrupted {session['name']}.")


@rookery.command()
@as_json
@of_session
@click.argument("keys", nargs=-1, required=True)
def keys(*, name: str, keys: tuple[str, ...], as_json: bool) -> None:
    """Press KEYS in a session: 1, y, up, enter, escape, shift-tab, ctrl-c …"""
    session = client().post("sessions", name, "keys", keys=list(keys))
    if as_json:
        show_json(session)
    else:
        say(f"Pressed {' '.join(keys)} in {session['name']}.")


@rookery.command()
@as_json
@of_session
@click.argument("new_name")
def rename(*, name: str, new_name: str, as_json: bool) -> None:
    """Give a session another name."""
    session = client().post("sessions", name, "name", name=new_name)
    if as_json:
        show_json(session)
    else:
        say(f"It is called {session['name']} now.")
