"""The tools of agents, through the official client, with real agents in a real tmux."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from rookery.hook_setup import programs
from tests.support.real.http import badge_of, bearer, request
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.real.toolbox import Toolbox, Way, tools

pytestmark = pytest.mark.real

READING = {
    *("list_computers", "list_projects", "list_sessions", "get_session_data"),
    *("list_relays", "session_stats"),
}
DOING = {
    *("start_session", "resume_session", "send_message", "run_agent_command"),
    "stop_notifications",
    *("end_session", "interrupt_session", "create_relay", "close_relay", "answer_permission"),
    *("foreground", "background"),
}

both_ways = pytest.mark.parametrize("way", ["stdio", "http"])


def prompts(rookery: Rookery, name: str) -> str:
    """Return all that a session was told."""
    turns = rookery.client.get("sessions", name, "turns")["turns"]
    return "\n".join(turn["prompt"] for turn in turns)


def is_recorded(rookery: Rookery, name: str, words: str, times: int = 1) -> None:
    def told() -> bool:
        """Look whether it was told so, so often."""
        return prompts(rookery, name).count(words) >= times

    eventually(told)


def rest(rookery: Rookery, name: str) -> None:
    rookery.client.get("sessions", name, "wait", until="stop", timeout=SOON)


@pytest.mark.spec("I2")
@both_ways
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_either_transport_and_either_age_of_the_protocol_serves(
    rookery: Rookery, way: Way, mode: str
) -> None:
    rookery.start("boss")

    with tools(rookery, way, badge=badge_of(rookery, "boss"), mode=mode) as boss:
        listed = boss.call("list_sessions")["sessions"]

        assert boss.names() >= READING | DOING
        assert [(each["name"], each["is_you"]) for each in listed] == [("boss", True)]


@pytest.mark.spec("I2", "E1")
def test_an_agent_is_taught_to_stop_and_not_to_poll(rookery: Rookery) -> None:
    rookery.start("boss")

    with tools(rookery, badge=badge_of(rookery, "boss")) as boss:
        described = boss.descriptions()

    for name in ("start_session", "send_message"):
        assert "end your turn" in described[name]
        assert "do not poll" in described[name]
    assert all(described.values())


@pytest.mark.spec("I2", "E1", "E3", "F1")
@both_ways
def test_every_tool_does_what_it_says(rookery: Rookery, way: Way) -> None:
    rookery.start("boss")

    with tools(rookery, way, badge=badge_of(rookery, "boss")) as boss:
        work(rookery, boss)
        talk(rookery, boss)
        leave_off(rookery, boss)


def work(rookery: Rookery, boss: Toolbox) -> None:
    (computer,) = boss.call("list_computers")["computers"]
    name = computer["name"]
    (project,) = boss.call("list_projects", computer=name)["projects"]
    assert (computer["is_local"], project["path"]) == (True, str(rookery.project))

    made = boss.call("start_session", computer=name, name="worker", message="say: I am up")
    assert made["listening"] is True
    assert "End your turn" in made["advice"]
    is_recorded(rookery, "boss", f"Session {made['session_id']} on {name}")
    data = boss.call("get_session_data", computer=name, session_id=made["session_id"])
    assert [turn["answer"] for turn in data["turns"]] == ["I am up"]
    assert data["session"]["parent"] == rookery.session("boss")["id"]

    rest(rookery, "boss")
    sent = boss.call("send_message", session_id="worker", message="say: Done")
    assert sent["listening"] is True
    is_recorded(rookery, "boss", "finished its turn", times=2)
    ran = boss.call("run_agent_command", session_id="worker", command="/compact")
    assert ran["listening"] is True
    is_recorded(rookery, "worker", "/compact")
    assert boss.call("session_stats")["launched"] == 2


def talk(rookery: Rookery, boss: Toolbox) -> None:
    is_recorded(rookery, "boss", "finished its turn", times=3)
    rest(rookery, "boss")
    began = boss.call("send_message", session_id="worker", message="say: Hello", direct=True)
    assert began["listening"] is False
    is_recorded(rookery, "boss", "Hello")
    (pair,) = boss.call("list_relays", session_id="worker")["relays"]
    assert len(pair["members"]) == 2
    closed = boss.call("send_message", session_id="worker", message="", close_link=True)
    assert closed["advice"] == "It is closed."

    made = boss.call("create_relay", participants=[{"session_id": "worker", "name": "W"}])
    assert [each["name"] for each in made["members"]] == ["boss", "W"]
    ended = boss.call("close_relay", relay_id=made["id"])
    assert ended["closed_at"]


def leave_off(rookery: Rookery, boss: Toolbox) -> None:
    rest(rookery, "worker")
    boss.call("send_message", session_id="worker", message="sleep: 60")

    def works() -> bool:
        """Look whether the worker works."""
        return bool(rookery.session("worker")["activity"] == "working")

    eventually(works)
    assert boss.call("foreground", session_id="worker")["is_new"] is True
    assert boss.call("background", session_id="worker")["was_in_front"] is True
    stops = [boss.call("stop_notifications", session_id="worker")["stopped"] for _ in "ab"]
    assert stops == [True, False]
    boss.call("interrupt_session", session_id="worker")
    rest(rookery, "worker")
    boss.call("send_message", session_id="worker", message="sleep: 60")
    eventually(works)
    boss.call("send_message", session_id="worker", message="say: Now this", interrupt=True)
    is_recorded(rookery, "worker", "Now this")

    boss.call("end_session", session_id="worker")
    assert rookery.ended("worker")["status"] == "killed"
    assert "has ended" in boss.refused("send_message", session_id="worker", message="Hello?")
    again = boss.call("resume_session", session_id="worker", message="say: I am back")
    assert again["listening"] is True
    is_recorded(rookery, "boss", f"Session {again['session_id']} on")


@pytest.mark.spec("I2", "D3")
def test_a_parent_answers_for_its_child_where_its_person_lets_it(cold: Rookery) -> None:
    cold.configure("[permissions]\nparents_may_answer = true\n")
    cold.up()
    cold.client.post("mode", mode="remote")
    cold.start("boss")

    with tools(cold, badge=badge_of(cold, "boss")) as boss:
        asks = "permission: Bash touch x"
        child = boss.call("start_session", name="child", message=asks)["session_id"]
        is_recorded(cold, "boss", "needs input")
        answered = boss.call("answer_permission", permission=child, decision="deny")

    assert answered["session"] == child
    assert answered["outcome"] == "denied"


@pytest.mark.spec("I2")
def test_another_computer_is_a_clear_error(rookery: Rookery) -> None:
    with tools(rookery) as anybody:
        said = anybody.refused("list_sessions", computer="elsewhere")

    assert "unknown computer 'elsewhere'" in said


@pytest.mark.spec("I2")
def test_data_is_bounded_in_time_and_length(rookery: Rookery) -> None:
    rookery.start("boss")
    rookery.ask("boss", "say: one")
    (first,) = rookery.client.get("sessions", "boss", "turns")["turns"]
    rookery.ask("boss", f"say: {'x' * 500} two")

    with tools(rookery) as anybody:
        early = anybody.call("get_session_data", session_id="boss", until=first["ended_at"])
        short = anybody.call("get_session_data", session_id="boss", tail_chars=10)

    assert [turn["answer"] for turn in early["turns"]] == ["one"]
    (last,) = short["turns"]
    assert last["answer"].endswith("…xxxxxx two")
    assert short["omitted"] == 1


@pytest.mark.spec("I2", "K5")
def test_whoever_shows_nothing_and_is_in_no_session_only_reads(rookery: Rookery) -> None:
    rookery.start("boss")

    with tools(rookery) as anybody:
        assert anybody.names() == READING
        assert anybody.call("list_sessions")["sessions"][0]["is_you"] is False
        said = anybody.refused("send_message", session_id="boss", message="Hello")

    assert said.startswith("Not permitted: a reader token may not do this")
    assert prompts(rookery, "boss") == ""


@pytest.mark.spec("I2", "K5")
def test_without_a_badge_a_caller_is_known_by_its_process(rookery: Rookery) -> None:
    pane = rookery.start("boss", agent="shell")["tmux_pane"]
    asked, answer = rookery.folder / "asked", rookery.folder / "answer"
    call = {"name": "list_sessions", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    asked.write_text(json.dumps(message) + "\n")
    bridge = shlex.join(programs.mcp_argv(rookery.home))

    line = f"env -u ROOKERY_BADGE {bridge} < {asked} > {answer}.part; mv {answer}.part {answer}"
    rookery.tmux("send-keys", "-t", pane, line, "Enter")
    eventually(answer.exists)

    (listed,) = json.loads(answer.read_text())["result"]["structuredContent"]["sessions"]
    assert (listed["name"], listed["is_you"]) == ("boss", True)


@pytest.mark.spec("I2", "K1")
def test_on_loopback_the_tools_are_behind_the_same_guard(rookery: Rookery) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    usual: dict[str, Any] = {"Content_Type": "application/json", "Accept": "application/json"}
    token = bearer(rookery)

    def status(**headers: str) -> int:
        return request(rookery, "POST", "/mcp", body=body, **usual, **headers)[0]

    assert status() == 401
    assert status(Authorization="Bearer wrong") == 401
    assert status(Authorization=token, Host="evil.test") == 421
    assert status(Authorization=token, Origin="http://evil.test") == 403
    assert status(Authorization=token) == 200


@pytest.mark.spec("I2")
def test_the_command_line_is_the_same_server(rookery: Rookery) -> None:
    asked = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/list"})

    done = rookery.run("mcp", words_in=f"{asked}\nno json\n")

    answers = {each["id"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert {tool["name"] for tool in answers[7]["result"]["tools"]} == READING
    assert answers[None]["error"]["code"] == -32700


def test_no_secret_stands_in_what_agents_run(rookery: Rookery) -> None:
    rookery.start("boss")
    badge = badge_of(rookery, "boss")

    words = programs.mcp_argv(rookery.home)

    assert badge not in " ".join(words)
    assert badge not in Path(words[-1]).read_text()
