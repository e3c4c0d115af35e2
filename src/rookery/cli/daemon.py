"""The commands that start and stop the daemon: up and down."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from threading import Thread

import click

from rookery import __version__
from rookery.cli.daemon_problems import say_http_note, say_lost, warn_of_problems
from rookery.cli.daemon_process import is_alive, stop_by_signal
from rookery.cli.detached_daemon import (
    SILENT,
    START_STOP_TIMEOUT_S,
    start_in_background,
    status_of,
    wait_until,
)
from rookery.cli.exit_codes import FAILED, REFUSED_CALLERS
from rookery.cli.options import as_json, examples, home
from rookery.cli.render import complain, remark, reply, say, say_hint
from rookery.cli.versions import skew
from rookery.client import Client
from rookery.client.daemon import StatusInfo, show_status, stop_daemon
from rookery.environment import ask_login_shell
from rookery.home import Home
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
from rookery.presentation.texts import count
from rookery.quick_python_import import without_collections

NEXT = """\
Next:  rookery start demo --name hello "say: Hello from the demo agent"
       rookery output hello      its answer
       rookery attach hello      watch it; leave it running with  C-q
       rookery ls                all sessions; those that wait for you first"""


@click.command(
    epilog=examples("rookery up", "rookery up --detach", "ROOKERY_HOME=/tmp/trial rookery up")
)
@click.option("--detach", "-d", is_flag=True, help="Run in the background.")
def up(*, detach: bool) -> None:
    """Run the daemon of this user, or of ROOKERY_HOME, in this terminal."""
    here = home()
    if running := status_of(here):
        _print_already_running(running)
    elif detach:
        _detach(here)
    else:
        _run(here)


def _print_already_running(running: StatusInfo) -> None:
    say(f"Rookery is already running, pid {running.pid}, in {running.home}.")
    if other := skew(running.version):
        say(other)
    say_hint(_next(running, are="live"))
    say_lost(running)
    warn_of_problems(running)


def _run(here: Home) -> None:
    # A thread prints the greeting, because it asks the daemon, which runs in this thread.
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
    say("Rookery is down; agents keep running.")


def _print_greeting(here: Home) -> None:
    status = status_of(here)
    say(f"Rookery {__version__} is up, pid {os.getpid()}. Its home is {here.state}")
    say_http_note(status)
    say_hint(_next(status, are="found again"))
    say_lost(status)
    warn_of_problems(status)
    say("Stop it with Ctrl-C; agents keep running.")
    sys.stdout.flush()


def _next(status: StatusInfo | None, *, are: str) -> str:
    """Return advice on the next step: for a beginner, or for a user who has sessions."""
    if not status or not (status.sessions or status.lost):
        return NEXT
    if not status.sessions:
        return "No session is running."
    waiting = status.waiting
    wait = "waits" if waiting == 1 else "wait"
    summary = f"{count(status.sessions, 'session')} {are}, {waiting} {wait} for you"
    return f"{summary}:  rookery ls"


def _detach(here: Home) -> None:
    started = start_in_background(here)
    if started.other:
        _print_already_running(started.other)
        return
    say(f"Rookery {__version__} is up in the background, pid {started.pid}.")
    status = status_of(here)
    say_http_note(status)
    say_hint(_next(status, are="found again"))
    say_lost(status)
    warn_of_problems(status)


def _why_unusable(here: Home) -> str:
    """Return why a daemon that runs cannot be used: its own error, or that it is silent."""
    with suppress(NotRunning, TimedOut):
        try:
            show_status(Client(here.door))
        except Answered as refusal:
            return str(refusal)
    return SILENT


@click.command(epilog=examples("rookery down", "rookery down --json"))
@as_json
def down(*, as_json: bool) -> None:
    """Stop the daemon. Agents keep running."""
    here = home()
    status: StatusInfo | None = None
    try:
        status = stop_daemon(Client(here.door))
        pid: int | None = status.pid
    except (NotRunning, TimedOut, Unreadable, Answered) as error:
        if isinstance(error, Answered) and error.code in REFUSED_CALLERS:
            raise
        pid = stop_by_signal(here)
    if pid and not wait_until(lambda: not is_alive(pid)):
        waited = f"{START_STOP_TIMEOUT_S:g} s"
        complain(f"pid {pid} did not stop within {waited}. End it with:  kill -9 {pid}")
        sys.exit(FAILED)
    stopped = status.json if status else {"pid": pid} if pid else None
    reply({"stopped": stopped}, _stopped_text(pid, status), as_json=as_json)
    _warn_of_config(here)


def _warn_of_config(here: Home) -> None:
    """Warn if the next daemon cannot start with the configuration as it is now."""
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
    live += status.driven if status else 0
    kept_sessions = (
        f" {count(live, 'session')} kept running; `rookery up` finds them again."
        if live
        else ""
    )
    return f"Rookery is down.{kept_sessions}"
