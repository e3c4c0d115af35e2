"""The commands of ``rookery``."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import click

from rookery import __version__
from rookery.cli.show import complain, say, show_json, show_sessions
from rookery.client import Client
from rookery.home import Home, find_home
from rookery.model.errors import Answered, BadInput, NotRunning

#: Seconds for a daemon to come up, or to leave.
PATIENCE = 20.0

#: Seconds to wait where nothing else is said.
DAY = 86_400.0

NEXT = """\
Next:  {rookery} start --agent demo --name hello "say: Hello from the demo agent"
       {rookery} output hello      what it answered
       {rookery} attach hello      watch it; leave it running with  C-b d
       {rookery} ls                all sessions, who waits for you first"""

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="rookery %(version)s")
def rookery() -> None:
    """Run, track and connect AI coding-agent sessions. Begin with:  rookery up"""


def _home() -> Home:
    return find_home(os.environ)


def _client() -> Client:
    return Client(_home().door)


@rookery.command()
@click.option("--detach", "-d", is_flag=True, help="Run in the background.")
def up(*, detach: bool) -> None:
    """Run the daemon of this user, or of ROOKERY_HOME."""
    home = _home()
    if running := _status(home):
        say(f"Rookery already runs, pid {running['pid']}, in {running['home']}.")
        say(NEXT.format(rookery=_program()))
    elif detach:
        _detach(home)
    else:
        # Only here: what the daemon needs would slow every other command down.
        importlib.import_module("rookery.daemon").run(home, ready=lambda: _greet(home))


def _greet(home: Home) -> None:
    say(f"Rookery {__version__} is up, pid {os.getpid()}. Its home is {home.state}")
    say(NEXT.format(rookery=_program()))
    say("Stop it with Ctrl-C; agents in tmux live on.")
    sys.stdout.flush()


def _program() -> str:
    """Say how this program is called from where the user stands."""
    here = Path(sys.argv[0])
    on_path = shutil.which("rookery")
    if on_path and Path(on_path).resolve() == here.resolve():
        return "rookery"
    try:
        return str(here.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(here)


def _detach(home: Home) -> None:
    home.prepare()
    errors = home.log.with_name("up.log")
    with errors.open("wb") as log:
        daemon = subprocess.Popen(
            [sys.executable, "-I", "-m", "rookery", "up"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
    if not _waits_until(lambda: _status(home) is not None or daemon.poll() is not None):
        complain(f"it did not come up within {PATIENCE:g} s; see {errors}")
        sys.exit(1)
    if daemon.poll() is not None:
        click.echo(errors.read_text(errors="replace").strip(), err=True)
        sys.exit(1)
    say(f"Rookery {__version__} is up in the background, pid {daemon.pid}.")
    say(NEXT.format(rookery=_program()))


def _waits_until(is_so: Callable[[], bool]) -> bool:
    """Look again and again, 20 times a second. False if it was not so in time."""
    pause = importlib.import_module("select").select
    for _ in range(int(PATIENCE * 20)):
        if is_so():
            return True
        pause([], [], [], 0.05)
    return False


def _status(home: Home) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] = Client(home.door).get("status")
    except (NotRunning, Answered):
        return None
    return found


@rookery.command()
def down() -> None:
    """Stop the daemon. Agents in tmux live on."""
    home = _home()
    stopped = Client(home.door).post("stop")
    _waits_until(lambda: not _is_alive(stopped["pid"]))
    live = stopped["sessions"]
    say(f"Rookery is down. {live} sessions live on; `rookery up` finds them again.")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@rookery.command()
@as_json
def status(*, as_json: bool) -> None:
    """Say whether a daemon runs, and where."""
    found = _client().get("status")
    if as_json:
        show_json(found)
        return
    say(f"Rookery {found['version']} is up, pid {found['pid']}, on {found['computer']}.")
    if found["version"] != __version__:
        say(f"This command is {__version__}: restart the daemon with `rookery down` and `up`.")
    say(f"{found['sessions']} sessions live, {found['waiting']} wait for you.")
    say(f"Home {found['home']}\nLog  {found['log']}")


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
    client = _client()
    session = client.post(
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
        session = client.get(
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
        return f"{name} failed:{reason}"
    return f"{name} is {state}{reason}.  rookery attach {name}  |  rookery output {name}"


def _environment() -> dict[str, str]:
    """Hand over our environment: the daemon takes of it what it may."""
    names = importlib.import_module("rookery.environment").FROM_CALLER
    return {name: os.environ[name] for name in names if name in os.environ}


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
    found = _client().get("sessions", all=everything)
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
    sent = _client().post("sessions", name, "messages", words=_prompt(words, None))
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
    client = _client()
    sent = client.post("sessions", name, "messages", words=_prompt(words, None))
    turn = client.get("messages", str(sent["id"]), "answer", timeout=timeout)
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
    client = _client()
    found = client.get("sessions", name, "turns", last=last or 200)
    if as_json:
        show_json({"turns": found["turns"]})
        return
    _show_turns(found["turns"])
    if not found["turns"] and not follow:
        screen = client.get("sessions", name, "screen")["lines"]
        say("\n".join(line.rstrip() for line in screen).strip() or "Nothing yet.")
    while follow and not _is_over(client, name):
        after = found["count"]
        found = client.get("sessions", name, "turns", after=after, timeout=60.0)
        if new := found["count"] - after:
            _show_turns([turn for turn in found["turns"] if turn["ended_at"]][-new:])


def _is_over(client: Client, name: str) -> bool:
    return client.get("sessions", name)["status"] in {"completed", "failed", "killed"}


def _show_turns(turns: list[Mapping[str, Any]]) -> None:
    for turn in turns:
        click.secho("❯ " + " ".join(turn["prompt"].split())[:200], bold=True)
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
    client = _client()
    session = client.get("sessions", name)
    if session["tmux_session"] is None or session["ended_at"]:
        raise BadInput(f"{session['name']} is not in a pane now. See:  rookery output {name}")
    socket = client.get("status")["tmux_socket"]
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
    client = _client()
    names = [name] if name else client.post("sessions", "end")["ended"]
    ended = [_ended(client, each, timeout) for each in names]
    if as_json:
        show_json({"sessions": ended} if everything else ended[0])
        return
    for session in ended:
        say(f"{session['name']} is {session['status']}.")
    if not ended:
        say("No session of ours lives.")


def _ended(client: Client, name: str, timeout: float) -> Mapping[str, Any]:
    session = client.post("sessions", name, "end")
    found: Mapping[str, Any] = client.get(
        "sessions", session["id"], "wait", until="end", timeout=timeout
    )
    return found
