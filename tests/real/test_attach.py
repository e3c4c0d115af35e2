"""A person attaches to sessions in a terminal within a tmux of their own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.real.attached import attached_to
from tests.support.real.own_tmux import OwnTmux
from tests.support.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

ASKS = "permission: Bash rm -rf build;; say: gone"
WORKS = "sleep: 600"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnTmux]:
    own = OwnTmux(tmp_path)
    yield own
    own.clear_away()


def terminal(own: OwnTmux, rookery: Rookery) -> str:
    """Open a shell in the person's own tmux, in which Rookery's commands work."""
    given = {name: rookery.environment[name] for name in ("ROOKERY_HOME", "HOME")}
    return own.shell(rookery.project, **given)


def attach(own: OwnTmux, pane: str, *words: str) -> None:
    program = shlex.join([sys.executable, "-m", "rookery", "attach", *words])
    own.type(pane, f"{program}; echo status $?")


def bar(own: OwnTmux, pane: str) -> str:
    """Return the last line of a terminal."""
    return own.screen(pane).rstrip("\n").rpartition("\n")[2]


def is_(rookery: Rookery, name: str, activity: str) -> bool:
    return bool(rookery.session(name)["activity"] == activity)


def size(rookery: Rookery, name: str) -> str:
    pane = str(rookery.session(name)["tmux_pane"])
    shown = "#{window_width}x#{window_height}"
    return rookery.tmux("display-message", "-p", "-t", pane, shown).strip()


@pytest.mark.spec("B1", "I5")
def test_one_key_leaves_a_session_also_within_a_tmux_of_ones_own(
    rookery: Rookery, own: OwnTmux
) -> None:
    rookery.start("api", prompt=WORKS)
    rookery.start("web", prompt=ASKS)
    eventually(lambda: is_(rookery, "api", "working") and is_(rookery, "web", "permission"))
    pane = terminal(own, rookery)
    own.tmux("resize-window", "-t", pane, "-x", "40", "-y", "12")

    attach(own, pane, "api")
    eventually(lambda: bar(own, pane).startswith("api · demo · working"))
    eventually(lambda: bar(own, pane).endswith("1 wait · C-q"))
    narrow = size(rookery, "api")
    own.press(pane, "C-q")
    own.shows(pane, "status 0")

    left = own.screen(pane).replace("\n", "")
    assert "Left api running: it is working. 1 waits for you: web." in left
    assert "detached" not in left
    assert narrow.startswith("40x")
    eventually(lambda: size(rookery, "api") == "200x50")


@pytest.mark.spec("B1", "I5")
def test_a_key_switches_to_the_next_session_that_waits(rookery: Rookery, own: OwnTmux) -> None:
    rookery.start("api", prompt=WORKS)
    pane = terminal(own, rookery)
    attach(own, pane, "api")
    eventually(lambda: bar(own, pane).startswith("api · demo · working"))

    own.press(pane, "M-n")
    own.shows(pane, "No other session waits for you.")
    rookery.start("web", prompt=ASKS)
    eventually(lambda: bar(own, pane).endswith("1 wait (M-n) · C-q leaves"))
    own.press(pane, "M-n")
    eventually(lambda: bar(own, pane).startswith("web · demo · permission"))
    eventually(lambda: size(rookery, "api") == "200x50")
    own.press(pane, "C-q")

    own.shows(pane, "Left web running: it asks for permission.")


@pytest.mark.spec("B1")
def test_an_attached_terminal_is_suspended_and_continued_by_the_shell(
    rookery: Rookery, own: OwnTmux
) -> None:
    rookery.start("api", prompt=WORKS)
    pane = terminal(own, rookery)
    own.type(pane, shlex.join([sys.executable, "-m", "rookery", "attach", "api"]))
    eventually(lambda: bar(own, pane).startswith("api · demo · working"))

    own.press(pane, "C-b", "C-z")
    own.shows(pane, "Stopped")
    own.type(pane, "fg")
    eventually(lambda: bar(own, pane).startswith("api · demo · working"))
    own.press(pane, "C-q")

    own.shows(pane, "Left api running")


@pytest.mark.spec("B1", "F4")
def test_a_text_in_the_status_bar_runs_no_command(rookery: Rookery, own: OwnTmux) -> None:
    tmux = rookery.start("api", prompt=WORKS)["tmux_session"]
    ran = rookery.folder / "ran"
    pane = terminal(own, rookery)
    attach(own, pane, "api")
    eventually(lambda: bar(own, pane).startswith("api · demo · working"))

    evil = f"#(touch {ran}) #{{pid}} end"
    for option in ("@rookery-bar", "@rookery-line"):
        rookery.tmux("set-option", "-t", f"={tmux}:", option, evil)

    eventually(lambda: f"#(touch {ran})" in bar(own, pane))
    assert "#{pid} end" in bar(own, pane)
    assert not ran.exists()


@pytest.mark.spec("B1", "K3")
def test_the_status_bar_follows_a_new_name_and_a_new_daemon(
    rookery: Rookery, own: OwnTmux
) -> None:
    rookery.start("api", prompt=WORKS)
    pane = terminal(own, rookery)
    attach(own, pane, "api")
    eventually(lambda: bar(own, pane).startswith("api · demo · working"))

    rookery.run("rename", "api", "backend")
    eventually(lambda: bar(own, pane).startswith("backend · demo · working"))
    rookery.stop()
    eventually(lambda: bar(own, pane).startswith("backend · demo · the daemon is down"))
    rookery.configure('[attach]\nleave_key = "F9"\nnext_key = ""\n')
    rookery.up()
    eventually(lambda: bar(own, pane).startswith("backend · demo · working"))
    eventually(lambda: bar(own, pane).endswith("F9 leaves"))
    keys = rookery.tmux("list-keys", "-T", "root")
    own.press(pane, "F9")

    own.shows(pane, "Left backend running: it is working.")
    assert "C-q" not in keys
    assert "M-n" not in keys


@pytest.mark.spec("B1")
def test_without_a_key_of_its_own_the_bar_names_the_keys_of_tmux(
    cold: Rookery, own: OwnTmux
) -> None:
    cold.configure('[attach]\nleave_key = ""\n')
    cold.up()
    cold.start("api", prompt=WORKS)
    pane = terminal(own, cold)

    attach(own, pane, "api")
    eventually(lambda: bar(own, pane).endswith("C-b C-b d leaves"))
    own.press(pane, "C-b", "d")

    own.shows(pane, "Left api running")


@pytest.mark.spec("B1", "I5")
def test_who_looks_when_a_session_ends_is_told_that_it_has_ended(
    rookery: Rookery, own: OwnTmux
) -> None:
    rookery.start("api", prompt=WORKS)
    pane = terminal(own, rookery)
    attach(own, pane, "api")
    eventually(lambda: bar(own, pane).startswith("api · demo · working"))

    rookery.run("end", "api")

    own.shows(pane, "api has ended: ended by you.")
    own.shows(pane, "status 0")


@pytest.mark.spec("I5")
def test_without_a_name_the_session_that_is_meant_is_clear_or_named(
    rookery: Rookery, own: OwnTmux
) -> None:
    pane = terminal(own, rookery)
    attach(own, pane)
    own.shows(pane, "No session has a terminal now")
    rookery.start("api", prompt=WORKS)
    rookery.start("web", prompt=WORKS)
    eventually(lambda: is_(rookery, "api", "working") and is_(rookery, "web", "working"))
    attach(own, pane)
    own.shows(pane, "There are: api (working), web (working).")
    rookery.start("docs", prompt=ASKS)
    eventually(lambda: is_(rookery, "docs", "permission"))

    attach(own, pane)
    eventually(lambda: bar(own, pane).startswith("docs · demo · permission"))
    own.press(pane, "C-q")
    own.shows(pane, "Left docs running")


@pytest.mark.spec("B1", "B7")
def test_within_the_same_tmux_the_terminal_switches_to_a_session_found_there(
    cold: Rookery, own: OwnTmux
) -> None:
    pane = terminal(own, cold)
    found = own.demo(cold.project, window="agent")
    cold.configure(own.settings)
    cold.up()
    eventually(lambda: cold.client.get("sessions")["sessions"])
    (session,) = cold.client.get("sessions")["sessions"]
    with attached_to(own.socket, "=own"):
        eventually(lambda: own.tmux("list-clients", "-F", "#{client_name}"))
        own.tmux("select-window", "-t", pane)
        attach(own, pane, str(session["name"]))
        eventually(lambda: own.tmux("display-message", "-p", "#{pane_id}") == found)
    bound = own.tmux("list-keys", "-T", "root")

    assert "C-q" not in bound
    assert "@rookery-bar" not in own.tmux("show-options", "-g")
