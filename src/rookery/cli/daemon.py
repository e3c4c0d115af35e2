"""The daemon's own commands: up, down, how it is, its log, and to have it start by itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import click

from rookery import __version__
from rookery.cli.daemon_process import find_daemon, is_alive
from rookery.cli.render import HELD, complain, count, remark, rules_warning, say, show_json
from rookery.cli.root import as_json, client, home, own_root, rookery
from rookery.cli.service import unit_file, unit_text
from rookery.cli.versions import skew
from rookery.cli.waiting import pause
from rookery.client import Client
from rookery.environment import ask_login_shell
from rookery.home import Home, open_private
from rookery.importing import import_quickly
from rookery.model.errors import (
    AlreadyRunning,
    Answered,
    BadInput,
    NotRunning,
    StoreBroken,
    TimedOut,
)

#: Seconds for a daemon to come up, or to leave.
PATIENCE = 20.0

#: What to do about a daemon that has the lock of its home and does not answer.
_SILENT = "It does not answer: it is still starting, or hangs. Stop it with:  rookery down"

NEXT = """\
Next:  {rookery} start --agent demo --name hello "say: Hello from the demo agent"
       {rookery} output hello      what it answered
       {rookery} attach hello      watch it; leave it running with  C-b d
       {rookery} ls                all sessions, who waits for you first"""


@rookery.command()
@click.option("--detach", "-d", is_flag=True, help="Run in the background.")
def up(*, detach: bool) -> None:
    """Run the daemon of this user, or of ROOKERY_HOME."""
    here = home()
    if running := _status(here):
        _say_already(running)
    elif detach:
        _detach(here)
    else:
        _run(here)


def _say_already(running: Mapping[str, Any]) -> None:
    say(f"Rookery already runs, pid {running['pid']}, in {running['home']}.")
    if other := skew(running["version"]):
        say(other)
    say(_next(running, are="live"))
    _warn(running)


def _run(here: Home) -> None:
    # It asks the daemon, which has to be free to answer: from a thread of its own.
    greeting = Thread(target=_greet, args=(here,), daemon=True)
    # It starts while the daemon's modules load.
    login = ask_login_shell(os.environ)
    # Only here: what the daemon needs would slow every other command down.
    daemon = import_quickly("rookery.daemon")
    try:
        daemon.run(here, ready=greeting.start, login=login)
    except StoreBroken as error:
        complain(str(error))
        if "rookery restore" in str(error):
            files, aside = f"'{here.database}'*", f"'{here.state / 'damaged'}'"
            remark(f"Or begin anew without it:  mkdir {aside} && mv {files} {aside}")
        sys.exit(1)
    except AlreadyRunning as error:
        complain(f"{error} {_SILENT}")
        sys.exit(1)
    say("Rookery is down; agents in tmux live on.")


def _greet(here: Home) -> None:
    found = _status(here)
    say(f"Rookery {__version__} is up, pid {os.getpid()}. Its home is {here.state}")
    _say_http_note(found)
    say(_next(found, are="found again"))
    _warn(found)
    say("Stop it with Ctrl-C; agents in tmux live on.")
    sys.stdout.flush()


def _say_http_note(status: Mapping[str, Any] | None) -> None:
    """Say if HTTP is on another port than configured, or could not be opened."""
    if note := (status or {}).get("http_note"):
        say(note)


def _next(status: Mapping[str, Any] | None, *, are: str) -> str:
    """Say what to do next: to a beginner, or to who has sessions already."""
    if not status or not status["sessions"]:
        return NEXT.format(rookery=_program())
    waiting = status["waiting"]
    wait = "waits" if waiting == 1 else "wait"
    found = f"{count(status['sessions'], 'session')} {are}, {waiting} {wait} for you"
    return f"{found}:  {_program()} ls"


def _program() -> str:
    """Say how this program is called from where the user stands."""
    program = Path(sys.argv[0])
    on_path = shutil.which("rookery")
    if on_path and Path(on_path).resolve() == program.resolve():
        return "rookery"
    try:
        return str(program.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(program)


def _detach(here: Home) -> None:
    here.prepare()
    errors = here.log.with_name("up.log")
    if pid := find_daemon(here):
        _wait_for_other(here, pid, errors)
        return
    with open_private(errors) as log:
        log.truncate()
        daemon = subprocess.Popen(
            [sys.executable, "-I", "-m", "rookery", "up"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",  # so a relative ROOKERY_HOME has to be told as an absolute one
            env={**os.environ, **here.environment},
        )
    if not _waits_until(lambda: _status(here) is not None or daemon.poll() is not None):
        complain(f"it did not come up within {PATIENCE:g} s. {_last_line(errors)}See {errors}")
        sys.exit(1)
    if daemon.poll() is not None:
        if other := find_daemon(here):
            _wait_for_other(here, other, errors)
            return
        why = errors.read_text(errors="replace").strip()
        click.echo(why or f"rookery: it ended without a word in {errors}: no room?", err=True)
        sys.exit(1)
    say(f"Rookery {__version__} is up in the background, pid {daemon.pid}.")
    found = _status(here)
    _say_http_note(found)
    say(_next(found, are="found again"))
    _warn(found)


def _wait_for_other(here: Home, pid: int, errors: Path) -> None:
    """Wait for a daemon that was started a moment ago, and has the lock already."""
    found: list[Mapping[str, Any]] = []

    def answers() -> bool:
        found.extend(filter(None, [_status(here)]))
        return bool(found) or not is_alive(pid)

    _waits_until(answers)
    if not found:
        complain(f"{AlreadyRunning(f'pid {pid}.')} {_last_line(errors)}{_SILENT}")
        sys.exit(1)
    _say_already(found[0])


def _last_line(errors: Path) -> str:
    """Return what the daemon that is starting said last, with a blank; empty if nothing."""
    try:
        said = errors.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return f"It says: {said[-1].removeprefix('rookery: ')} " if said else ""


def _warn(status: Mapping[str, Any] | None) -> None:
    """Say on standard error if rules are not in force, or not for every agent."""
    if status and status.get("rules_problem"):
        complain(rules_warning(status["rules_problem"]))
    if status and status.get("hooks_problem"):
        complain(f"{status['hooks_problem']}.")
    if status and status.get("headless_problem"):
        complain(f"{status['headless_problem']}.")


def _waits_until(is_so: Callable[[], bool]) -> bool:
    """Look again and again, 20 times a second. False if it was not so in time."""
    for _ in range(int(PATIENCE * 20)):
        if is_so():
            return True
        pause(0.05)
    return False


def _status(here: Home) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] = Client(here.door).get("status")
    except (NotRunning, Answered):
        return None
    return found


@rookery.command()
@as_json
def down(*, as_json: bool) -> None:
    """Stop the daemon. Agents in tmux live on."""
    here = home()
    try:
        stopped = Client(here.door).post("stop")
    except (NotRunning, TimedOut):
        stopped = _stop_by_signal(here)
    if stopped and not _waits_until(lambda: not is_alive(stopped["pid"])):
        pid = stopped["pid"]
        complain(f"pid {pid} did not stop within {PATIENCE:g} s. End it with:  kill -9 {pid}")
        sys.exit(1)
    if as_json:
        show_json({"stopped": stopped})
    elif not stopped:
        say("No daemon runs; there is nothing to stop.")
    elif live := stopped.get("in_tmux", stopped.get("sessions")):
        say(
            f"Rookery is down. {count(live, 'session')} in tmux; `rookery up` finds them again."
        )
    else:
        say("Rookery is down.")


def _stop_by_signal(here: Home) -> dict[str, Any] | None:
    """Stop a daemon whose socket does not answer: it is starting, or the socket is gone."""
    if (pid := find_daemon(here)) is None:
        return None
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    return {"pid": pid}


@rookery.command()
@as_json
def status(*, as_json: bool) -> None:
    """Say whether a daemon runs, and where."""
    found = client().get("status")
    if as_json:
        show_json(found)
        return
    say(f"Rookery {found['version']} is up, pid {found['pid']}, on {found['computer']}.")
    if other := skew(found["version"]):
        say(other)
    say(f"{count(found['sessions'], 'live session')}, {found['waiting']} waiting for you.")
    if found.get("holding"):
        say(HELD)
    _warn(found)
    say(f"Home {found['home']}\nLog  {found['log']}")
    say(f"HTTP {found['url']}, with a token" if found["url"] else "HTTP is off")
    _say_http_note(found)
    if found.get("trouble"):
        complain(found["trouble"])
        sys.exit(1)


@rookery.command()
@click.option("--lines", "-n", type=click.IntRange(1), default=50, show_default=True)
@click.option("--follow", "-f", is_flag=True, help="Go on as it writes.")
def logs(*, lines: int, follow: bool) -> None:
    """Show what the daemon wrote into its log."""
    log = home().log
    if not log.exists():
        raise BadInput(f"there is no log yet: {log}")
    with log.open(encoding="utf-8", errors="replace") as file:
        say("".join(file.readlines()[-lines:]).rstrip("\n"))
        while follow:
            for line in file:
                say(line.rstrip("\n"))
            pause(0.2)


@rookery.command()
@click.argument("what", type=click.Choice(["print", "install", "remove"]), default="print")
def service(what: str) -> None:
    """Write, show or remove the unit by which systemd starts the daemon when you log in."""
    unit, file = unit_text(own_root()), unit_file()
    if what == "print":
        say(unit.rstrip("\n"))
    elif what == "install":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(unit)
        say(f"Written: {file}")
        say(
            "Now type:  systemctl --user daemon-reload && systemctl --user enable --now rookery"
        )
        say("To have it run also while you are not logged in:  loginctl enable-linger")
    elif file.exists():
        file.unlink()
        say(f"Removed: {file}. Type:  systemctl --user daemon-reload")
    else:
        say("There is none.")
