"""Agents that a person started in a tmux of their own; the demo agent, a real tmux."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.real.own_tmux import DEMO, OwnTmux
from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.real


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnTmux]:
    own = OwnTmux(tmp_path)
    yield own
    own.clear_away()


@pytest.fixture
def rookery(cold: Rookery, own: OwnTmux) -> Rookery:
    cold.configure(own.settings)
    cold.up()
    return cold


def live(rookery: Rookery) -> list[dict[str, Any]]:
    found = rookery.client.get("sessions")["sessions"]
    return [each for each in found if not each["ended_at"]]


def found(rookery: Rookery, count: int = 1) -> dict[str, Any]:
    """Wait until so many are found; return the first."""
    eventually(lambda: len(live(rookery)) == count)
    return live(rookery)[0]


def heard(own: OwnTmux) -> list[str]:
    """Return what the demo agents themselves wrote down as submitted."""
    files = (own.folder / "demo").glob("*.jsonl")
    # The last line may still be being written.
    whole = [line for file in files for line in file.read_text().split("\n")[:-1]]
    said = [json.loads(line) for line in whole]
    return [each["text"] for each in said if each["type"] == "user"]


def deliver(rookery: Rookery, name: str, words: str) -> None:
    """Send words, and wait until they have arrived."""
    message = rookery.send(name, words)
    eventually(lambda: rookery.step(message)[0] == "acknowledged")


def pid_of(session: dict[str, Any]) -> int:
    return int(session["process"].partition(":")[0])


@pytest.mark.spec("B6")
def test_an_agent_that_runs_already_is_found_at_the_start(cold: Rookery, own: OwnTmux) -> None:
    pane = own.demo(cold.project, window="the api")

    cold.configure(own.settings)
    cold.up()

    session = found(cold)
    assert (session["agent"], session["runtime"]) == ("demo", "observed")
    assert (session["name"], session["label"]) == ("project", "the api")
    assert session["project_path"] == str(cold.project.resolve())
    assert (session["tmux_session"], session["tmux_pane"]) == ("own", pane)
    assert session["tmux_server"] == str(own.socket.resolve())
    assert session["native_id"] == f"tmux_{pane}"
    assert psutil.Process(pid_of(session)).cmdline() == [*DEMO]


@pytest.mark.spec("B6")
def test_an_agent_that_is_started_later_is_found(rookery: Rookery, own: OwnTmux) -> None:
    own.demo(rookery.project)

    told = rookery.json("discover")
    again = rookery.json("discover")

    assert [each["name"] for each in told["sessions"]] == ["project"]
    assert (told["new"] in ([], ["project"]), again["new"]) == (True, [])


@pytest.mark.spec("B6")
@pytest.mark.parametrize(
    "line",
    [
        "env ROOKERY_X=1 {demo}",
        "sh -c 'echo started; {demo}; echo over'",
        "nice sh ./start.sh",
        "{python} -c 'import subprocess; subprocess.run(\"{demo}\".split())'",
    ],
    ids=["env", "sh -c", "script", "python"],
)
def test_an_agent_is_found_below_a_wrapper(rookery: Rookery, own: OwnTmux, line: str) -> None:
    demo = shlex.join(DEMO)
    (rookery.project / "start.sh").write_text(f"echo started\n{demo}\necho over\n")
    pane = own.shell(rookery.project)

    own.type(pane, line.format(demo=demo, python=DEMO[0]))

    session = found(rookery)
    assert psutil.Process(pid_of(session)).cmdline() == [*DEMO]


@pytest.mark.spec("B6")
def test_the_same_folder_is_the_same_under_any_name(rookery: Rookery, own: OwnTmux) -> None:
    link = rookery.folder / "link"
    link.symlink_to(rookery.project)

    own.demo(link)

    assert found(rookery)["project_path"] == str(rookery.project.resolve())


@pytest.mark.spec("B6")
def test_two_agents_in_one_folder_are_two_sessions(rookery: Rookery, own: OwnTmux) -> None:
    own.demo(rookery.project, window="one")
    own.demo(rookery.project, window="other")

    found(rookery, 2)

    assert sorted(each["name"] for each in live(rookery)) == ["project", "project-2"]
    assert sorted(each["label"] for each in live(rookery)) == ["one", "other"]


@pytest.mark.spec("B6")
def test_the_label_follows_the_window(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project, window="before")
    found(rookery)

    own.tmux("rename-window", "-t", pane, "after it")

    eventually(lambda: live(rookery)[0]["label"] == "after it")


@pytest.mark.spec("B7", "B2")
def test_words_arrive_exactly_and_once(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project)
    name = found(rookery)["name"]
    sent = [
        "say: one",
        "say: $(touch pwned) `touch pwned` '; touch pwned; '",
        "say: äöü 漢字 🙂 #{pid} #(touch pwned) -- -t other;",
        "say: first\nsay: second\n\tand a tab",
        "say: long\n" + "a line of a long paste\n" * 400 + "end",
        "say: one",
    ]

    for words in sent:
        deliver(rookery, name, words)
        eventually(lambda: live(rookery)[0]["activity"] == "idle")

    assert [each.strip() for each in heard(own)] == sent
    assert not (rookery.project / "pwned").exists()
    assert own.tmux("list-buffers") == ""
    assert "@rookery-pasted" in own.tmux("show-options", "-p", "-t", pane)


@pytest.mark.spec("B7")
def test_it_is_read_pressed_and_interrupted(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project)
    name = found(rookery)["name"]

    own.type(pane, "sleep: 600")
    eventually(lambda: live(rookery)[0]["activity"] == "working")
    rookery.run("interrupt", name)
    eventually(lambda: live(rookery)[0]["activity"] == "idle")
    rookery.run("keys", name, "y", "n")
    own.shows(pane, "yn")

    lines = rookery.client.get("sessions", name, "screen")["lines"]
    assert "yn" in "\n".join(lines)


@pytest.mark.spec("B0", "B7")
def test_words_wait_while_somebody_scrolls(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project)
    name = found(rookery)["name"]
    own.tmux("copy-mode", "-t", pane)

    message = rookery.send(name, "say: hello")
    eventually(lambda: "scrolls" in rookery.step(message)[1])
    in_mode = own.tmux("display-message", "-p", "-t", pane, "#{pane_in_mode}")
    own.tmux("send-keys", "-t", pane, "-X", "cancel")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")
    eventually(lambda: heard(own) == ["say: hello"])

    assert in_mode == "1"


@pytest.mark.spec("B0", "B7")
def test_words_wait_while_they_would_go_to_other_panes_too(
    rookery: Rookery, own: OwnTmux
) -> None:
    pane = own.demo(rookery.project)
    name = found(rookery)["name"]
    other = own.tmux("split-window", "-d", "-t", pane, "-P", "-F", "#{pane_id}", "cat")
    own.tmux("set-option", "-w", "-t", pane, "synchronize-panes", "on")

    message = rookery.send(name, "say: hello")
    eventually(lambda: "other panes" in rookery.step(message)[1])
    pressed = rookery.run("keys", name, "y")
    own.tmux("set-option", "-w", "-u", "-t", pane, "synchronize-panes")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")
    eventually(lambda: heard(own) == ["say: hello"])

    assert pressed.returncode == 1
    assert own.screen(other).strip() == ""


@pytest.mark.spec("B0", "B7")
def test_words_wait_for_somebodys_draft(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project)
    name = found(rookery)["name"]
    own.tmux("send-keys", "-t", pane, "-l", "half a thou")
    own.shows(pane, "half a thou")

    message = rookery.send(name, "say: hello")
    eventually(lambda: "unsent text" in rookery.step(message)[1])
    own.press(pane, "C-u")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")
    eventually(lambda: heard(own) == ["say: hello"])


@pytest.mark.spec("B0", "B7")
def test_words_wait_while_it_asks(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project)
    name = found(rookery)["name"]
    own.type(pane, "permission: Bash ls;; say: it was allowed")
    eventually(lambda: live(rookery)[0]["activity"] == "permission")

    message = rookery.send(name, "say: hello")
    asked = rookery.step(message)[0], own.screen(pane)
    own.press(pane, "2")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")
    eventually(lambda: heard(own)[1:] == ["say: hello"])

    assert asked[0] == "pending"
    assert "Bash" in asked[1]


@pytest.mark.spec("B0")
def test_nothing_is_typed_into_the_shell_below_a_stopped_agent(
    rookery: Rookery, own: OwnTmux
) -> None:
    pane = own.demo(rookery.project)
    session = found(rookery)
    os.kill(pid_of(session), signal.SIGSTOP)
    own.shows(pane, "Stopped")

    message = rookery.send(session["name"], "touch pwned")
    eventually(lambda: "background" in rookery.step(message)[1])
    os.kill(pid_of(session), signal.SIGKILL)
    rookery.ended(session["name"])

    assert rookery.step(message)[0] == "failed"
    assert "touch pwned" not in own.screen(pane)
    assert not (rookery.project / "pwned").exists()


@pytest.mark.spec("A4", "B6")
def test_a_pane_that_is_closed_ends_its_session(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project)
    own.shell(rookery.project)
    name = found(rookery)["name"]

    own.tmux("kill-pane", "-t", pane)

    ended = rookery.ended(name)
    assert (ended["status"], ended["reason"]) == ("completed", "its pane is gone")


@pytest.mark.spec("A4", "B6")
def test_an_agent_that_leaves_ends_its_session(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project)
    name = found(rookery)["name"]

    own.type(pane, "/exit")

    ended = rookery.ended(name)
    assert (ended["status"], ended["reason"]) == ("completed", "its program ended")
    own.shows(pane, "ready$")


@pytest.mark.spec("B6")
def test_a_server_that_is_gone_ends_its_sessions(rookery: Rookery, own: OwnTmux) -> None:
    own.demo(rookery.project)
    name = found(rookery)["name"]

    own.clear_away()

    assert rookery.ended(name)["reason"] == "its pane is gone"


@pytest.mark.spec("A7", "K3")
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_it_is_the_same_session_after_a_restart(
    rookery: Rookery, own: OwnTmux, how: str
) -> None:
    own.demo(rookery.project)
    before = found(rookery)
    deliver(rookery, before["name"], "say: before")

    getattr(rookery, how)()
    rookery.up()
    after = live(rookery)
    deliver(rookery, before["name"], "say: after")
    eventually(lambda: heard(own) == ["say: before", "say: after"])

    assert [each["id"] for each in after] == [before["id"]]


@pytest.mark.spec("A7")
def test_what_ended_meanwhile_is_lost(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project)
    name = found(rookery)["name"]
    rookery.kill()

    own.type(pane, "/exit")
    own.shows(pane, "ready$")
    eventually(lambda: own.tmux("display-message", "-p", "#{pane_current_command}") == "sh")
    rookery.up()

    assert rookery.session(name)["reason"] == "lost while the daemon was away"


@pytest.mark.spec("B7")
def test_it_is_never_ended_but_by_force(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project)
    session = found(rookery)

    refused = rookery.run("end", session["name"])
    rookery.run("end", "--all", "--yes")
    still = live(rookery)
    forced = rookery.json("end", "--force", session["name"])

    assert refused.returncode == 1
    assert "--force" in refused.stderr
    assert [each["id"] for each in still] == [session["id"]]
    assert (forced["status"], forced["ended_by"]) == ("killed", "person")
    assert not psutil.pid_exists(pid_of(session))
    own.shows(pane, "ready$")


@pytest.mark.spec("B7")
def test_force_is_for_those_that_will_not_hear(rookery: Rookery, own: OwnTmux) -> None:
    rookery.stop()
    rookery.configure(own.settings + "[limits]\nterminate_seconds = 0.5\n")
    rookery.up()
    own.demo(rookery.project)
    session = found(rookery)
    os.kill(pid_of(session), signal.SIGSTOP)

    forced = rookery.json("end", "--force", session["name"])

    assert forced["status"] == "killed"


@pytest.mark.spec("B7")
def test_panes_are_listed_with_those_of_ours(rookery: Rookery, own: OwnTmux) -> None:
    theirs = own.demo(rookery.project, window="the api")
    plain = own.shell(rookery.folder, window="shell")
    found(rookery)
    mine = rookery.start("mine")

    listed = rookery.json("panes")["panes"]
    shown = rookery.run("panes").stdout

    panes = {(each["server"], each["pane"]): each for each in listed}
    seen = panes[str(own.socket), theirs]
    assert (seen["session"], seen["tmux_session"]) == ("project", "own")
    assert (seen["window"], seen["window_name"]) == (0, "the api")
    assert seen["cwd"] == str(rookery.project.resolve())
    assert seen["command"].startswith("python")
    assert panes[str(own.socket), plain]["session"] == ""
    assert panes[str(rookery.home.tmux), mine["tmux_pane"]]["session"] == "mine"
    assert len(panes) == 3
    assert "\n~/own.sock\n" in shown
    assert "the api" in shown


@pytest.mark.spec("A7", "B1")
def test_the_users_server_is_left_as_it_was(rookery: Rookery, own: OwnTmux) -> None:
    pane = own.demo(rookery.project)
    own.tmux("set-buffer", "what I copied")
    before = own.leftovers()

    name = found(rookery)["name"]
    deliver(rookery, name, "say: hello")
    rookery.json("panes")
    rookery.json("discover")
    rookery.client.get("sessions", name, "screen", history=True)
    rookery.stop()

    assert own.leftovers() == before
    assert own.tmux("show-buffer") == "what I copied"
    left = own.tmux("show-options", "-p", "-t", pane).splitlines()
    assert all(each.startswith("@rookery-") for each in left)


@pytest.mark.spec("B1")
def test_what_a_dead_daemon_left_in_the_users_server_is_taken_away(
    cold: Rookery, own: OwnTmux
) -> None:
    own.demo(cold.project)
    own.tmux("set-buffer", "-b", "words-0123456789abcdef", "half said")
    own.tmux("set-buffer", "-b", "mine", "what I copied")

    cold.configure(own.settings)
    cold.up()

    eventually(lambda: own.tmux("list-buffers", "-F", "#{buffer_name}") == "mine")


@pytest.mark.spec("B6", "K4")
def test_a_server_that_hangs_delays_neither_the_start_nor_the_others(
    cold: Rookery, own: OwnTmux, tmp_path: Path
) -> None:
    (tmp_path / "x").mkdir()
    hanging = OwnTmux(tmp_path / "x")
    hanging.shell(cold.project)
    own.demo(cold.project)
    pid = int(hanging.tmux("display-message", "-p", "#{pid}"))
    os.kill(pid, signal.SIGSTOP)
    sockets = json.dumps([str(hanging.socket), str(own.socket)])
    cold.configure(f"[discovery]\ntmux_sockets = {sockets}\n")

    try:
        cold.up()
        eventually(lambda: len(live(cold)) == 1, within=4)
    finally:
        os.kill(pid, signal.SIGCONT)
        hanging.clear_away()


@pytest.mark.spec("B6")
def test_all_servers_of_the_user_are_looked_at_where_none_is_named(cold: Rookery) -> None:
    folder = Path(cold.environment["TMUX_TMPDIR"], f"tmux-{os.getuid()}")
    folder.mkdir(parents=True, mode=0o700)
    own = OwnTmux(folder)
    try:
        own.demo(cold.project)

        cold.up()

        assert found(cold)["tmux_server"] == str(own.socket.resolve())
    finally:
        own.clear_away()


@pytest.mark.spec("B6")
def test_discovery_can_be_switched_off(cold: Rookery, own: OwnTmux) -> None:
    own.demo(cold.project)
    cold.configure(own.settings + "enabled = false\n")
    cold.up()

    told = cold.run("discover")

    assert told.returncode == 1
    assert "discovery.enabled" in told.stderr
    assert live(cold) == []
    assert cold.json("panes")["panes"] == []


@pytest.mark.spec("B6")
def test_our_own_server_is_nobody_elses(cold: Rookery) -> None:
    cold.configure(f'[discovery]\ntmux_sockets = ["{cold.home.tmux}"]\n')
    cold.up()
    cold.start("mine")

    told = cold.json("discover")

    assert told == {"sessions": [], "new": []}
    assert [each["name"] for each in live(cold)] == ["mine"]


@pytest.mark.spec("K5")
def test_what_an_agent_runs_there_is_that_agent_not_its_person(
    rookery: Rookery, own: OwnTmux
) -> None:
    asked, hooks = rookery.folder / "asked", rookery.folder / "hooks.json"
    home = f"ROOKERY_HOME={rookery.environment['ROOKERY_HOME']}"
    command = f"{home} {DEMO[0]} -m rookery end --all --yes > {asked} 2>&1"
    hook = {"type": "command", "command": shlex.join(["sh", "-c", command]), "timeout": 20}
    hooks.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    pane = own.demo(rookery.project, "--settings", str(hooks))
    found(rookery)

    own.type(pane, "say: hello")

    eventually(lambda: asked.exists() and "session token may not" in asked.read_text())
