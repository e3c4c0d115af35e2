"""Everything dies at once; one command brings the conversations back."""

from __future__ import annotations

import pytest

from tests.support.real.rookery import SOON, Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]


@pytest.mark.spec("A10", "I5")
def test_after_the_death_of_daemon_and_tmux_all_are_resumed_with_their_names_and_tags(
    rookery: Rookery,
) -> None:
    for name in ("api", "web"):
        rookery.start(name, tags=[f"{name}-tag"])
        rookery.ask(name, f"say: I am {name}")
    rookery.start("fresh")
    rookery.run("hide", "web")
    conversation = rookery.session("web")["native_id"]
    rookery.kill()
    rookery.tmux("kill-server")
    rookery.up()

    hint = rookery.run("ls").stderr
    status = rookery.json("status")["lost"]
    done = rookery.run("resume", "--lost", "--yes")
    for name in ("api", "web"):
        rookery.client.get("sessions", name, "wait", until="up", timeout=SOON)

    assert "2 lost sessions can be resumed:  rookery resume --lost" in hint
    assert status == 2
    assert done.returncode == 0, done.stderr
    assert "Resumed 2 of 2 sessions." in done.stdout
    assert "not resumable: it had no turn yet" in done.stdout
    eventually(lambda: rookery.session("web")["activity"] == "idle")
    assert rookery.session("api")["tags"] == ["api-tag"]
    assert rookery.session("web")["native_id"] == conversation
    assert "can be resumed" not in rookery.run("ls").stderr
    assert rookery.json("ls", "--tag", "web-tag")["sessions"][-1]["name"] == "web"


@pytest.mark.spec("A10")
def test_a_session_whose_terminal_goes_is_lost_and_one_that_quits_is_not(
    rookery: Rookery,
) -> None:
    for name in ("cut", "quits"):
        rookery.start(name)
        rookery.ask(name, "say: Hello")

    rookery.tmux("kill-pane", "-t", str(rookery.session("cut")["tmux_pane"]))
    rookery.send("quits", "exit: 0")

    rookery.ended("cut")
    rookery.ended("quits")
    listed = rookery.client.get("lost")["sessions"]
    assert [each["session"]["name"] for each in listed] == ["cut"]
