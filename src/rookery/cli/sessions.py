"""The commands for sessions: start, see, speak, wait, end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import click

from rookery.cli.group import DAY, as_json, client, rookery
from rookery.cli.show import complain, local, plain, say, show_json, show_sessions
from rookery.client import Client
from rookery.environment import FROM_CALLER
from rookery.model.errors import BadInput


@rookery.command()
@click.option(
    "--agent", "-a", required=True, help="claude, codex, gemini, opencode, shell, demo."
)
@click.option("--name", "-n", default="", help="Else made of the prompt.")
@click.option("--project", "-p", default=".", help="Folder to work in; else this one.")
@click.option("--runtime", default="tmux", show_default=True)
@click.option("--model", "-m", default="", help="Else the agent's own choice.")
@click.option("--permission-mode", default="", help="Else the agent's own.")
@click.option("--file", "-f", type=click.File(), help="Read the prompt from a file.")
@click.option("--wait", is_flag=True, help="Until it is up and, with a prompt, has answered.")
@click.option("--timeout", type=float, default=DAY, help="Seconds to wait.")
@as_json
@click.argument("prompt", nargs=-1)
def start(**given: Any) -> None:  # noqa: ANN401 - the options above
    """Start an agent, with a PROMPT if you like; "-" reads it from standard input.

    For the agent "shell", what follows "--" is the command to run.
    """
    is_shell = given["agent"] == "shell"
    daemon = client()
    session = daemon.post(
        "sessions",
        agent=given["agent"],
        name=given["name"],
        project=str(Path(given["project"]).expanduser().absolute()),
        runtime=given["runtime"],
        model=given["model"],
        permission_mode=given["permission_mode"],
        prompt="" if is_shell else _prompt(given["prompt"], given["file"]),
        command=list(given["prompt"]) if is_shell else [],
        environment=_environment(),
    )
    if given["wait"]:
        until = "stop" if session["first_prompt"] else "up"
        session = daemon.get(
            "sessions", session["id"], "wait", until=until, timeout=given["timeout"]
        )
    if given["as_json"]:
        show_json(session)
    else:
        say(_told(session))
    if session["status"] == "failed":
        sys.exit(1)


def _told(session: Mapping[str, Any]) -> str:
    name, state = session["name"], session["activity"] or session["status"]
    reason = f" ({session['reason']})" if session["reason"] else ""
    if session["status"] == "failed":
        return f"{name} failed: {session['reason']}"
    waits = state in {"permission", "question"}
    does = f"waits for your answer: {session['reason']}" if waits else f"is {state}{reason}."
    return f"{name} {does}  rookery attach {name}  |  rookery output {name}"


def _environment() -> dict[str, str]:
    """Hand over our environment: the daemon takes of it what it may."""
    return {name: os.environ[name] for name in FROM_CALLER if name in os.environ}


def _prompt(words: tuple[str, ...], file: IO[str] | None) -> str:
    if file and words:
        raise BadInput("give a prompt or a file, not both.")
    if file:
        return str(file.read())
    if words == ("-",):
        return sys.stdin.read()
    return " ".join(words)


@rookery.command()
@click.option("--all", "-a", "everything", is_flag=True, help="Also those that ended long ago.")
@as_json
def ls(*, everything: bool, as_json: bool) -> None:
    """List the sessions; those that wait for you come first."""
    found = client().get("sessions", all=everything)
    if as_json:
        show_json(found)
    else:
        show_sessions(found["sessions"])


@rookery.command()
@as_json
@click.argument("name")
@click.argument("words", nargs=-1, required=True)
def send(*, name: str, words: tuple[str, ...], as_json: bool) -> None:
    """Send WORDS to a session; it gets them once it is idle. "-" reads standard input."""
    sent = client().post("sessions", name, "messages", words=_prompt(words, None))
    if as_json:
        show_json(sent)
        return
    removed = sent["removed"]
    say("Sent." + (f" {removed} control characters were taken out." if removed else ""))


@rookery.command()
@click.option("--timeout", type=float, default=600.0, show_default=True, help="Seconds.")
@as_json
@click.argument("name")
@click.argument("words", nargs=-1, required=True)
def ask(*, name: str, words: tuple[str, ...], timeout: float, as_json: bool) -> None:
    """Send WORDS to a session, wait, and print its answer."""
    daemon = client()
    sent = daemon.post("sessions", name, "messages", words=_prompt(words, None))
    turn = daemon.get("messages", str(sent["id"]), "answer", timeout=timeout)
    if as_json:
        show_json(turn)
    else:
        say(turn["answer"])
    if turn["how"] != "finished":
        complain(f"the turn was {turn['how']}.")
        sys.exit(1)


@rookery.command()
@click.option("--follow", "-f", is_flag=True, help="Go on as it answers.")
@click.option("--last", type=click.IntRange(1), default=None, help="Only the last turns.")
@as_json
@click.argument("name")
def output(*, name: str, follow: bool, last: int | None, as_json: bool) -> None:
    """Print what a session was asked and what it answered."""
    daemon = client()
    found = daemon.get("sessions", name, "turns", last=last or 200)
    if as_json:
        show_json({"turns": found["turns"]})
        return
    _show_turns(found["turns"])
    if not found["turns"] and not follow:
        screen = daemon.get("sessions", name, "screen")["lines"]
        say("\n".join(line.rstrip() for line in screen).strip() or "Nothing yet.")
    while follow and not _is_over(daemon, name):
        after = found["count"]
        found = daemon.get("sessions", name, "turns", after=after, timeout=60.0)
        if new := found["count"] - after:
            _show_turns([turn for turn in found["turns"] if turn["ended_at"]][-new:])


def _is_over(daemon: Client, name: str) -> bool:
    return daemon.get("sessions", name)["status"] in {"completed", "failed", "killed"}


def _show_turns(turns: list[Mapping[str, Any]]) -> None:
    for turn in turns:
        click.secho("❯ " + plain(" ".join(turn["prompt"].split()))[:200], bold=True)
        if turn["ended_at"] is None:
            say("… (it is at it)")
        else:
            say(turn["answer"] or f"({turn['how']})")
        say()


@rookery.command()
@click.argument("name")
def attach(name: str) -> None:
    """Watch a session in this terminal and type into it; leave it running with C-b d."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("attach needs a terminal; `rookery output` does not.")
    daemon = client()
    session = daemon.get("sessions", name)
    if session["tmux_session"] is None or session["ended_at"]:
        raise BadInput(f"{session['name']} is not in a pane now. See:  rookery output {name}")
    socket = daemon.get("status")["tmux_socket"]
    os.environ.pop("TMUX", None)  # in somebody's own tmux it is attached inside
    target = f"={session['tmux_session']}"
    os.execvp("tmux", ["tmux", "-u", "-S", socket, "attach-session", "-t", target])  # noqa: S606


@rookery.command()
@click.option("--all", "everything", is_flag=True, help="Every session that Rookery started.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds.")
@as_json
@click.argument("name", required=False)
def end(*, name: str | None, everything: bool, timeout: float, as_json: bool) -> None:
    """End a session: asked first, then told, then made to."""
    if (name is None) != everything:
        raise BadInput("say which session, or --all.")
    daemon = client()
    names = [name] if name else daemon.post("sessions", "end")["ended"]
    ended = [_ended(daemon, each, timeout) for each in names]
    if as_json:
        show_json({"sessions": ended} if everything else ended[0])
        return
    for session in ended:
        say(f"{session['name']} is {session['status']}.")
    if not ended:
        say("No session of ours lives.")


def _ended(daemon: Client, name: str, timeout: float) -> Mapping[str, Any]:
    session = daemon.post("sessions", name, "end")
    found: Mapping[str, Any] = daemon.get(
        "sessions", session["id"], "wait", until="end", timeout=timeout
    )
    return found


@rookery.command()
@click.option("--until", type=click.Choice(["up", "stop", "end"]), default="stop")
@click.option("--timeout", type=float, default=DAY, help="Seconds to wait.")
@as_json
@click.argument("name")
def wait(*, name: str, until: str, timeout: float, as_json: bool) -> None:
    """Wait until a session stops, which is also when it needs you; or until its end."""
    session = client().get("sessions", name, "wait", until=until, timeout=timeout)
    if as_json:
        show_json(session)
    else:
        say(_told(session))


@rookery.command()
@as_json
@click.argument("name")
def interrupt(*, name: str, as_json: bool) -> None:
    """Stop what a session is doing, as pressing its interrupt key would."""
    session = client().post("sessions", name, "interrupt")
    if as_json:
        show_json(session)
    else:
        say(f"Interrupted {session['name']}.")


@rookery.command()
@as_json
@click.argument("name")
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
@click.argument("name")
@click.argument("new_name")
def rename(*, name: str, new_name: str, as_json: bool) -> None:
    """Give a session another name."""
    session = client().post("sessions", name, "name", name=new_name)
    if as_json:
        show_json(session)
    else:
        say(f"It is called {session['name']} now.")


@rookery.command()
@click.option("--after", type=click.IntRange(0), help="Begin after this entry.")
@as_json
def events(*, after: int | None, as_json: bool) -> None:
    """Follow what happens, from now on or after an entry; with --json a line each."""
    query = {} if after is None else {"after": after}
    kind = ""
    for line in client().lines("events", **query):
        field, _, value = line.partition(": ")
        if field == "event":
            kind = value
        elif field == "data" and as_json:
            click.echo(value)
        elif field == "data":
            _show_event(kind, json.loads(value))
        sys.stdout.flush()


def _show_event(kind: str, event: Mapping[str, Any]) -> None:
    if kind == "snapshot":
        say(f"{event['seq']:>7}  {len(event['sessions'])} sessions")
        return
    known = ("seq", "at", "kind", "session")
    rest = "  ".join(str(value) for name, value in event.items() if name not in known and value)
    shown = " ".join(rest.split())[:120]
    moment = local(event["at"])[11:]
    say(f"{event['seq']:>7}  {moment}  {event['session'][:8]}  {kind:18}  {shown}")
