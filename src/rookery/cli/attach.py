"""The command that attaches this terminal to a session."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from rookery.cli.completion import session_names
from rookery.cli.options import examples, pass_client
from rookery.cli.render import remark, say_line
from rookery.cli.seen import note_seen
from rookery.cli.terminal_program import run_in_terminal
from rookery.client import Client
from rookery.client.daemon import show_status
from rookery.client.sessions import SessionInfo, list_sessions, show_session
from rookery.model.errors import Answered, BadInput, NotRunning, RuntimeFailed
from rookery.model.reason_texts import first_line
from rookery.presentation.states import does, ended_by, state_note

#: Maximum names of other waiting sessions that are printed after detaching.
MAX_SHOWN_NAMES = 5

#: Matches what tmux prints on detaching; it names the tmux session that was shown last.
_DETACHED = re.compile(r"\[detached \(from session (.+)\)\]")


@click.command(epilog=examples("rookery attach", "rookery attach api"))
@click.argument("name", required=False, default="", shell_complete=session_names)
@pass_client
def attach(daemon: Client, name: str) -> None:
    """Watch a session in this terminal and type into it; leave it running with C-q.

    Without a NAME: the only session, or the only one that waits for you. C-q also works within
    your own tmux, and M-n switches to the next session that waits; the configuration can change
    both keys ([attach]). C-b d works, too. A session in a tmux of your own has the keys of that
    tmux; if this terminal is in the same tmux, it switches to the session.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = f"rookery output {name}" if name else "rookery output NAME"
        raise BadInput(f"attach needs a terminal. To read the session without one:  {hint}")
    session = show_session(daemon, name) if name else _only_session(daemon)
    if session.is_driven and not session.ended_at:
        follow = f"rookery follow {session.name}"
        raise BadInput(f"{session.name} is driven without a terminal. Watch it:  {follow}")
    if session.tmux_session is None or session.ended_at:
        raise BadInput(f"{session.name} is in no pane now. See:  rookery output {session.name}")
    socket = session.tmux_server or show_status(daemon).tmux_socket
    target = _current_window(socket, session) or session.tmux_session
    if _is_inside(socket):
        _tmux(socket, "switch-client", "-t", f"={target}")
        note_seen(daemon, session.id, [session.last_activity_at])
        return
    if session.tmux_server:
        prefix = _tmux(socket, "show-options", "-gv", "prefix").strip()
        remark(f"{session.name} is in a tmux of your own; leave it with {prefix} d.")
    # -N: without a server on the socket, tmux would start an empty one there.
    words = ["tmux", "-N", "-u", "-S", socket, "attach-session", "-t", f"={target}"]
    code, printed = run_in_terminal(words)
    if code:
        sys.exit(code)
    note_seen(daemon, session.id, [session.last_activity_at])
    _tell_left(daemon, session, printed)


def _only_session(daemon: Client) -> SessionInfo:
    """Return the only session, or the only one that waits. Raises ``BadInput``."""
    listed = list_sessions(daemon).sessions
    attachable = [each for each in listed if each.tmux_session and not each.ended_at]
    waiting = [each for each in attachable if each.is_asking]
    for among in (attachable, waiting):
        if len(among) == 1:
            return among[0]
    if not attachable:
        raise BadInput("no session has a terminal now. Start one with:  rookery start")
    choices = waiting or attachable
    names = ", ".join(f"{each.name} ({state_note(each.state)})" for each in choices)
    raise BadInput(f"name the session to attach to:  rookery attach NAME. There are: {names}.")


def _is_inside(socket: str) -> bool:
    """Return whether this terminal is in a pane of the tmux server on ``socket``."""
    own = os.environ.get("TMUX", "").split(",", maxsplit=1)[0]
    with suppress(OSError):
        return bool(own) and os.path.samefile(own, socket)  # noqa: PTH121 - text, not paths
    return False


def _current_window(socket: str, session: SessionInfo) -> str:
    """Return the tmux window that has the pane now, because the pane may have been moved."""
    shown = "#{pane_id} #{session_name}:#{window_index}"
    rows = (
        each.partition(" ")
        for each in _tmux(socket, "list-panes", "-a", "-F", shown).splitlines()
    )
    windows = [window for found, _, window in rows if found == session.tmux_pane]
    if not session.tmux_server:
        # The daemon's own tmux session shows the windows of all agents, too.
        windows = [each for each in windows if not each.startswith("rookery:")]
    return next(iter(windows), "")


def _tmux(socket: str, *words: str) -> str:
    """Return what a command of tmux prints. Raises ``RuntimeFailed``."""
    command = ["tmux", "-N", "-u", "-S", socket, *words]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BadInput(f"the program tmux cannot be run here: {error.strerror}.") from error
    if ran.returncode:
        again = "Rookery restores its own socket in a few seconds; then try again."
        raise RuntimeFailed(f"{ran.stderr.strip()}. {again}")
    return ran.stdout


def _tell_left(daemon: Client, session: SessionInfo, printed: str) -> None:
    """Print in one line what became of the session, and which others wait."""
    detached = _DETACHED.search(printed)
    try:
        listed = list_sessions(daemon).sessions
        if detached:
            session = _shown_last(listed, session, detached[1])
        session = show_session(daemon, session.id)
    except (NotRunning, Answered):
        say_line(f"Left {session.name} running; the daemon is down." if detached else "")
        return
    note_seen(daemon, session.id, [session.ended_at, session.last_activity_at])
    others = [each.name for each in listed if each.is_asking and each.id != session.id]
    say_line(" ".join(filter(None, (_what_became(session), _who_waits(others)))))


def _shown_last(
    listed: Sequence[SessionInfo], attached: SessionInfo, tmux_session: str
) -> SessionInfo:
    """Return the session that was shown last; a tmux session may hold several."""
    place = (attached.tmux_server, tmux_session)
    shown = [each for each in listed if (each.tmux_server, each.tmux_session) == place]
    if any(each.id == attached.id for each in shown):
        return attached
    return next((each for each in shown if not each.ended_at), attached)


def _what_became(session: SessionInfo) -> str:
    if session.ended_at:
        how = ended_by(session) or first_line(session.reason) or session.status
        return f"{session.name} has ended: {how.rstrip('.')}."
    return f"Left {session.name} running: it {does(session.state)}."


def _who_waits(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = ", …" if len(names) > MAX_SHOWN_NAMES else ""
    verb = "waits" if len(names) == 1 else "wait"
    return f"{len(names)} {verb} for you: {', '.join(names[:MAX_SHOWN_NAMES])}{more}."
