"""The commands that start, stop and show the daemon."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import click

from rookery import __version__
from rookery.cli.daemon_problems import say_http_note, say_lost, warn_of_problems
from rookery.cli.daemon_process import find_daemon, is_alive, stop_by_signal
from rookery.cli.daemon_waits import pause
from rookery.cli.exit_codes import FAILED, REFUSED_CALLERS
from rookery.cli.options import as_json, home
from rookery.cli.render import (
    complain,
    count,
    remark,
    reply,
    say,
)
from rookery.cli.versions import skew
from rookery.client import Client
from rookery.client.daemon import StatusInfo, show_status, stop_daemon
from rookery.environment import ask_login_shell
from rookery.home import Home, open_private
from rookery.model.errors import (
    AgentUnknown,
    AlreadyRunning,
    Answered,
    ConfigBroken,
    NotRunning,
    StoreBroken,
    TimedOut,
    Unreadable,
)
from rookery.quick_python_import import without_collections

#: Seconds for a daemon to start or to stop.
START_STOP_TIMEOUT_S = 20.0

#: Advice on a daemon that holds the lock of its home and does not answer.
_SILENT = "It does not answer: it is still starting, or it hangs. Stop it with:  rookery down"

NEXT = """\
Next:  {rookery} start --agent demo --name hello "say: Hello from the demo agent"
       {rookery} output hello      its answer
       {rookery} attach hello      watch it; leave it running with  C-b d
       {rookery} ls                all sessions; those that wait for you first"""


@click.command()
@click.option("--detach", "-d", is_flag=True, help="Run in the background.")
def up(*, detach: bool) -> None:
    """Run the daemon of this user, or of ROOKERY_HOME, in this terminal."""
    here = home()
    if running := _status(here):
        _print_already_running(running)
    elif detach:
        _detach(here)
    else:
        _run(here)


def _print_already_running(running: StatusInfo) -> None:
    say(f"Rookery is already running, pid {running.pid}, in {running.home}.")
    if other := skew(running.version):
        say(other)
    say(_next(running, are="live"))
    say_lost(running, _program())
    warn_of_problems(running)


def _run(here: Home) -> None:
    # The greeting asks the daemon, which must be free to answer: so it runs in a thread.
    greeting = Thread(target=_print_greeting, args=(here,), daemon=True)
    # The login shell runs while the daemon's modules load.
    login = ask_login_shell(os.environ)
    with without_collections():
        # Imported here because it takes half a second to load.
        from rookery import daemon  # noqa: PLC0415
    try:
        daemon.run(here, ready=greeting.start, login=login)
    except StoreBroken as error:
        complain(str(error))
        if error.details.get("remedy") == "restore":
            files, aside = f"'{here.database}'*", f"'{here.state / 'damaged'}'"
            remark(f"Or start with a new database:  mkdir {aside} && mv {files} {aside}")
        sys.exit(FAILED)
    except AlreadyRunning as error:
        complain(f"{error} {_why_unusable(here)}")
        sys.exit(FAILED)
    say("Rookery is down; agents in tmux keep running.")


def _print_greeting(here: Home) -> None:
    status = _status(here)
    say(f"Rookery {__version__} is up, pid {os.getpid()}. Its home is {here.state}")
    say_http_note(status)
    say(_next(status, are="found again"))
    say_lost(status, _program())
    warn_of_problems(status)
    say("Stop it with Ctrl-C; agents in tmux keep running.")
    sys.stdout.flush()


def _next(status: StatusInfo | None, *, are: str) -> str:
    """Return advice on the next step: for a beginner, or for a user who has sessions."""
    if not status or not status.sessions:
        return NEXT.format(rookery=_program())
    waiting = status.waiting
    wait = "waits" if waiting == 1 else "wait"
    summary = f"{count(status.sessions, 'session')} {are}, {waiting} {wait} for you"
    return f"{summary}:  {_program()} ls"


def _program() -> str:
    """Return the command with which the user calls this program from this folder."""
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
            cwd="/",  # so a relative ROOKERY_HOME must be passed on as an absolute path
            env={**os.environ, **here.environment},
        )
    # Another daemon may answer first; then this one ends, or takes over once that stops.
    if not _wait_until(lambda: _is_up(here, daemon.pid) or daemon.poll() is not None):
        waited = f"{START_STOP_TIMEOUT_S:g} s"
        complain(f"it did not come up within {waited}. {_last_line(errors)}See {errors}")
        sys.exit(FAILED)
    if daemon.poll() is not None:
        if other := find_daemon(here):
            _wait_for_other(here, other, errors)
            return
        why = errors.read_text(errors="replace").strip()
        click.echo(
            why or f"rookery: it ended without a message in {errors}; the disk may be full.",
            err=True,
        )
        sys.exit(FAILED)
    say(f"Rookery {__version__} is up in the background, pid {daemon.pid}.")
    status = _status(here)
    say_http_note(status)
    say(_next(status, are="found again"))
    say_lost(status, _program())
    warn_of_problems(status)


def _is_up(here: Home, pid: int) -> bool:
    found = _status(here)
    return found is not None and found.pid == pid


def _wait_for_other(here: Home, pid: int, errors: Path) -> None:
    """Wait for a daemon that was started a moment ago and already holds the lock."""
    statuses: list[StatusInfo] = []

    def answers() -> bool:
        with suppress(NotRunning):
            statuses.append(show_status(Client(here.door)))
        return bool(statuses) or not is_alive(pid)

    try:
        _wait_until(answers)
        why = f"{_last_line(errors)}{_SILENT}"
    except Answered as refusal:
        why = str(refusal)
    if not statuses:
        complain(f"{AlreadyRunning(f'pid {pid}.')} {why}")
        sys.exit(FAILED)
    _print_already_running(statuses[0])


def _why_unusable(here: Home) -> str:
    """Return why a daemon that runs cannot be used: its own error, or that it is silent."""
    with suppress(NotRunning, TimedOut):
        try:
            show_status(Client(here.door))
        except Answered as refusal:
            return str(refusal)
    return _SILENT


def _last_line(errors: Path) -> str:
    """Return a sentence with the last line that a starting daemon logged; empty if none."""
    try:
        error_lines = errors.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return f"It says: {error_lines[-1].removeprefix('rookery: ')} " if error_lines else ""


def _wait_until(is_so: Callable[[], bool]) -> bool:
    """Check a condition 20 times a second. Returns False if it was not met in time."""
    for _ in range(int(START_STOP_TIMEOUT_S * 20)):
        if is_so():
            return True
        pause(0.05)
    return False


def _status(here: Home) -> StatusInfo | None:
    try:
        return show_status(Client(here.door))
    except (NotRunning, Answered):
        return None


@click.command()
@as_json
def down(*, as_json: bool) -> None:
    """Stop the daemon. Agents in tmux keep running."""
    here = home()
    status: StatusInfo | None = None
    try:
        status = stop_daemon(Client(here.door))
        pid: int | None = status.pid
    except (NotRunning, TimedOut, Unreadable, Answered) as error:
        if isinstance(error, Answered) and error.code in REFUSED_CALLERS:
            raise
        pid = stop_by_signal(here)
    if pid and not _wait_until(lambda: not is_alive(pid)):
        waited = f"{START_STOP_TIMEOUT_S:g} s"
        complain(f"pid {pid} did not stop within {waited}. End it with:  kill -9 {pid}")
        sys.exit(FAILED)
    stopped = status.json if status else {"pid": pid} if pid else None
    reply({"stopped": stopped}, _stopped_text(pid, status), as_json=as_json)
    _warn_of_config(here)


def _warn_of_config(here: Home) -> None:
    """Warn that the next daemon cannot start with the configuration as it is."""
    from rookery.config import check_agents, load  # noqa: PLC0415 - loads slowly

    try:
        check_agents(load(here.settings))
    except (ConfigBroken, AgentUnknown) as error:
        complain(f"The next `rookery up` will fail: {error}")


def _stopped_text(pid: int | None, status: StatusInfo | None) -> str:
    if not pid:
        return "No daemon is running; there is nothing to stop."
    # An older daemon does not report how many of its sessions are in tmux.
    live = (status.sessions if status.in_tmux is None else status.in_tmux) if status else 0
    kept_sessions = (
        f" {count(live, 'session')} in tmux; `rookery up` finds them again." if live else ""
    )
    return f"Rookery is down.{kept_sessions}"
