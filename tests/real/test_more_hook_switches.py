"""A repository that switches hooks off: the real OpenCode and Gemini CLI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.real.more_agents import CASES, SLOWLY, prepare, start
from tests.support.real.rookery import Rookery
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(300), pytest.mark.spec("C1", "D1")]

(OPENCODE,) = (case for case in CASES if case.agent == "opencode")

RULES = """
[[deny]]
name = "no touch"
input.command = { regex = "touch" }

[[deny]]
tool = "write"
"""

#: Has the name of ours, and tells nothing.
PLUGIN = "export const Rookery = async () => ({})\n"


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    prepare(cold, models)
    (cold.home.config / "rules.toml").write_text(RULES)
    cold.up()
    return cold


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_opencode_keeps_our_plugin_whatever_a_repository_configures(rookery: Rookery) -> None:
    settings = {"plugin": ["./rookery.js"], "permission": "allow"}
    write(rookery.project / "opencode.json", json.dumps(settings))
    write(rookery.project / "rookery.js", PLUGIN)
    mark = rookery.project / "mark"

    started = start(rookery, OPENCODE)
    rookery.ask("it", f"bash: touch {mark};; say: done", timeout=SLOWLY)

    found = [(each["decision"], each["rule"]) for each in rookery.json("audit")["decisions"]]
    assert found == [("denied", "no touch")], started
    assert not mark.exists()


@pytest.mark.spec("D2", "D3")
def test_a_call_that_opencode_cannot_tell_does_not_run(rookery: Rookery) -> None:
    settings = rookery.folder / "opencode" / "config" / "opencode" / "opencode.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "permission": {}}))
    mark = rookery.project / "mark"
    call = {"filePath": str(mark), "content": "x", "zz": {"nested": 40_000}}

    start(rookery, OPENCODE)
    rookery.ask("it", f"tool: write {json.dumps(call)};; result:", timeout=SLOWLY)

    assert not mark.exists()


@pytest.mark.spec("C8")
def test_it_is_said_that_a_repository_has_switched_off_the_hooks_of_gemini(
    rookery: Rookery,
) -> None:
    file = rookery.project / ".gemini" / "settings.json"
    write(file, '{"hooksConfig": {"enabled": false}}')
    rookery.start("it", agent="gemini")

    why, doctor = rookery.run("why", "it").stdout, rookery.run("doctor").stdout

    assert f"Its hooks are disabled by {file}: no rule applies to it." in why
    assert f"it: hooks are switched off by {file}" in doctor
