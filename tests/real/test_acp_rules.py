"""Rules, identities and files of agents over ACP that send what no well-behaved agent sends."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import scripted_acp
from tests.support.real.http import badge_of
from tests.support.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

ALLOW_COMMANDS = '[[allow]]\nname = "commands"\ntool = "terminal/create"\n'


@pytest.fixture
def rookery(cold: Rookery) -> Iterator[Rookery]:
    command = json.dumps([sys.executable, str(Path(scripted_acp.__file__).resolve())])
    cold.configure(f"[agents.robot]\nacp = {command}\n[agents.claude]\nacp = {command}\n")
    yield cold
    cold.run("end", "--all")


def up(rookery: Rookery, rules: str = "", *, agent: str = "robot") -> None:
    rookery.home.rules.write_text(rules)
    rookery.home.rules.chmod(0o600)
    rookery.up()
    words = ("--runtime", "acp", "--name", "it", "--wait", "hello")
    done = rookery.run("start", agent, *words)
    assert done.returncode == 0, done.stdout + done.stderr


def request(method: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"request": method, "params": params}


def permission(**call: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return request("session/request_permission", toolCall={"toolCallId": "1", **call})


def run(command: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return request("terminal/create", command=command, **more)


def variables(**given: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in given.items()]


def play(rookery: Rookery, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """Let the agent send these messages; return the results."""
    results: list[dict[str, Any]] = json.loads(rookery.ask("it", json.dumps(messages)))
    return results


def begin(rookery: Rookery, *messages: dict[str, Any]) -> dict[str, Any]:
    """Let the agent send these messages; return the request that a person is asked."""
    rookery.send("it", json.dumps(messages))
    eventually(lambda: rookery.json("permissions")["requests"])
    (asked,) = rookery.json("permissions")["requests"]
    found: dict[str, Any] = asked
    return found


def is_allowed(result: dict[str, Any]) -> bool:
    return bool(result["outcome"].get("optionId") == "yes")


def decisions(rookery: Rookery) -> list[tuple[str, str, str]]:
    audit = rookery.json("audit")["decisions"]
    return [(each["tool"], each["decision"], each["rule"] or each["by"]) for each in audit]


@pytest.mark.spec("D1")
def test_the_variables_of_a_command_are_shown_and_matched(rookery: Rookery) -> None:
    rules = '[[allow]]\ntool = "terminal/create"\ninput.command = "git status"\n'
    up(rookery, rules)
    folder = rookery.project / "bin"
    folder.mkdir()
    (folder / "git").write_text("#!/bin/sh\necho another program\n")
    (folder / "git").chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"

    asked = begin(rookery, run("git status", env=variables(PATH=path, LD_PRELOAD="/x.so")))
    shown = rookery.run("permissions").stdout
    rookery.run("deny")

    assert asked["input"]["env"] == {"LD_PRELOAD": "/x.so", "PATH": path}
    assert "LD_PRELOAD=/x.so" in shown
    eventually(lambda: rookery.session("it")["activity"] == "idle")
    (kept,) = rookery.json("audit")["decisions"]
    assert (kept["decision"], kept["input"]["env"]["LD_PRELOAD"]) == ("denied", "/x.so")


@pytest.mark.spec("D1", "K5")
def test_no_command_is_given_variables_of_rookery(rookery: Rookery) -> None:
    up(rookery, ALLOW_COMMANDS)

    (refused,) = play(rookery, run("echo it ran", env=variables(ROOKERY_SESSION="other")))

    assert "ROOKERY_SESSION" in refused["error"]["message"]


@pytest.mark.spec("K5")
def test_a_command_of_an_agent_acts_for_its_own_session_only(rookery: Rookery) -> None:
    up(rookery, ALLOW_COMMANDS)
    other = rookery.start("other")["id"]
    home = f"ROOKERY_HOME={rookery.environment['ROOKERY_HOME']} ROOKERY_AUTOSTART=0"
    rename = f"{home} {sys.executable} -m rookery"
    start = f"{rename} start demo --project {rookery.project} --name"

    def result(line: str) -> str:
        (done,) = play(rookery, run(f"{line} 2>&1"))
        return str(done["output"])

    result(f"env -u ROOKERY_BADGE {start} own")
    result(f"env -u ROOKERY_BADGE ROOKERY_SESSION={other} {start} claimed")
    result(f"exec env -u ROOKERY_BADGE ROOKERY_SESSION={other} {start} replaced")
    result(f"env -u ROOKERY_BADGE -u ROOKERY_SESSION {start} cleared")
    left = f"env -u ROOKERY_BADGE ROOKERY_SESSION={other} {start} left > said 2>&1"
    play(rookery, run(f"({left}; touch done) & true"))
    eventually((rookery.project / "done").exists)

    own = rookery.session("it")["id"]
    names = ("own", "claimed", "replaced", "cleared", "left")
    assert {name: rookery.session(name)["parent"] for name in names} == dict.fromkeys(
        names, own
    )


@pytest.mark.spec("D1")
def test_a_grant_is_for_the_files_that_were_decided(rookery: Rookery) -> None:
    project = rookery.project
    docs, secret = project / "docs" / "a.md", project / ".env"
    docs.parent.mkdir()
    rules = (
        f'[[deny]]\nname = "secret"\ninput.path = "{secret}"\n'
        f'[[allow]]\nname = "docs"\ninput.path = "{project}/docs/*"\n'
    )
    up(rookery, rules)
    diffs = [{"type": "diff", "path": str(each), "newText": "x"} for each in (docs, secret)]
    both = permission(title="Edit", kind="edit", content=diffs)
    hidden = permission(
        title="Edit", kind="edit", rawInput={"path": str(docs)}, content=diffs, toolCallId="2"
    )
    one = permission(title="Edit", kind="edit", content=diffs[:1], toolCallId="3")
    writes = [
        request("fs/write_text_file", path=str(each), content="x") for each in (docs, secret)
    ]

    first = play(rookery, both, writes[1])
    second = play(rookery, hidden, writes[1])
    third = play(rookery, one, *writes)

    assert not is_allowed(first[0])
    assert not is_allowed(second[0])
    assert is_allowed(third[0])
    assert docs.read_text() == "x"
    assert not secret.exists()


@pytest.mark.spec("D1")
def test_a_grant_is_for_the_folder_and_the_tool_that_were_decided(rookery: Rookery) -> None:
    dev, prod = rookery.project / "dev", rookery.project / "prod"
    dev.mkdir()
    prod.mkdir()
    rules = (
        f'[[deny]]\nname = "prod"\nfolder = "{prod}"\n'
        f'[[allow]]\nname = "dev"\ntool = "execute"\nfolder = "{dev}"\n'
        '[[allow]]\nname = "other"\ntool = "fetch"\n'
    )
    up(rookery, rules)
    execute = permission(
        title="x", kind="execute", rawInput={"command": "touch made", "cwd": str(dev)}
    )
    fetch = permission(title="x", kind="fetch", rawInput={"command": "touch fetched"})

    in_prod = play(rookery, execute, run("touch made", cwd=str(prod)))
    in_dev = play(rookery, execute, run("touch made", cwd=str(dev)))
    asked = begin(rookery, fetch, run("touch fetched"))
    rookery.run("deny")

    assert is_allowed(in_prod[0])
    assert "error" in in_prod[1]
    assert in_dev[1] == {"output": ""}
    assert (dev / "made").exists()
    assert not (prod / "made").exists()
    assert (asked["tool"], asked["input"]) == ("terminal/create", {"command": "touch fetched"})


@pytest.mark.spec("D1", "K5")
def test_rules_apply_to_rookerys_own_tools_and_grant_nothing(rookery: Rookery) -> None:
    rules = (
        '[[deny]]\nname = "no shell"\ntool = "Bash"\n'
        '[[deny]]\nname = "no start"\ntool = "mcp__rookery__start_session"\n'
    )
    up(rookery, rules, agent="claude")

    def call(number: str, tool: str) -> dict[str, Any]:
        meta = {"claudeCode": {"toolName": tool}}
        given = {"command": "echo it ran"}
        return permission(
            toolCallId=number, title="x", kind="other", rawInput=given, _meta=meta
        )

    own, denied, ran = play(
        rookery,
        call("1", "mcp__rookery__run_agent_command"),
        call("2", "mcp__rookery__start_session"),
        run("echo it ran"),
    )
    asked = begin(rookery, call("3", "mcp__rookery__other__tool"))
    rookery.run("deny")

    assert is_allowed(own)
    assert not is_allowed(denied)
    assert "error" in ran
    assert asked["tool"] == "mcp__rookery__other__tool"
    assert set(decisions(rookery)) >= {
        ("mcp__rookery__run_agent_command", "allowed", "unasked"),
        ("mcp__rookery__start_session", "denied", "no start"),
        ("Bash", "denied", "no shell"),
    }


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    "rule",
    [
        'tool = "Read"\ninput.file_path = "*/.env"',
        'tool = "fs/read_text_file"\ninput.path = "*/.env"',
    ],
)
def test_a_file_that_a_rule_denies_is_not_read(rookery: Rookery, rule: str) -> None:
    (rookery.project / ".env").write_text("secret")
    (rookery.project / "notes").write_text("notes")
    (rookery.project / "link").symlink_to(rookery.project / ".env")
    up(rookery, f'[[deny]]\nname = "secrets"\n{rule}\n', agent="claude")

    paths = [str(rookery.project / name) for name in (".env", "link", "notes")]
    results = play(rookery, *(request("fs/read_text_file", path=path) for path in paths))

    assert ["error" in each for each in results] == [True, True, False]
    assert results[2] == {"content": "notes"}
    assert [each[1:] for each in decisions(rookery)] == [("denied", "secrets")] * 2


@pytest.mark.spec("D1")
def test_a_file_that_is_replaced_by_a_link_after_the_review_is_not_written(
    rookery: Rookery,
) -> None:
    target, notes = rookery.project / "target", rookery.project / "notes"
    target.write_text("old")
    up(rookery)

    begin(rookery, request("fs/write_text_file", path=str(notes), content="new"))
    notes.symlink_to(target)
    rookery.run("allow")
    eventually(lambda: rookery.session("it")["activity"] == "idle")

    assert target.read_text() == "old"
    assert "replaced meanwhile" in rookery.run("output", "it").stdout


@pytest.mark.spec("D1")
def test_a_write_through_a_link_is_shown_with_the_file_that_changes(rookery: Rookery) -> None:
    target, link = rookery.project / "target", rookery.project / "link"
    target.write_text("old")
    link.symlink_to(target)
    up(rookery)

    asked = begin(rookery, request("fs/write_text_file", path=str(link), content="new"))
    rookery.run("allow")
    eventually(lambda: target.read_text() == "new")

    assert asked["input"]["path"] == str(target)


@pytest.mark.spec("A5")
def test_what_a_command_left_in_the_background_ends_with_the_session(rookery: Rookery) -> None:
    up(rookery, ALLOW_COMMANDS)

    (left,) = play(rookery, run("sleep 1000 >/dev/null 2>&1 & echo $!"))
    process = Path(f"/proc/{int(left['output'])}")
    was_running = process.exists()
    rookery.run("end", "it")

    assert was_running
    eventually(lambda: not process.exists())


@pytest.mark.spec("D1", "K5")
def test_a_session_in_a_terminal_starts_no_child_over_acp(rookery: Rookery) -> None:
    rules = '[[deny]]\nname = "no rm"\ntool = "Bash"\ninput.command = "rm *"\n'
    rookery.home.rules.write_text(rules)
    rookery.home.rules.chmod(0o600)
    rookery.up()
    rookery.start("parent")
    own = rookery.client_of(badge_of(rookery, "parent"))
    given = {"agent": "demo", "project": str(rookery.project), "name": "child"}

    with pytest.raises(Exception, match="may not start demo over ACP"):
        own.post("sessions", **given, runtime="acp")
    started = own.post("sessions", **given)

    assert started["runtime"] == "tmux"
