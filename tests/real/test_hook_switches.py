"""A repository cannot switch off the hooks of agents that Rookery starts: real programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.paths import PROGRAMS
from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300), pytest.mark.spec("C1", "D1")]

RULES = '[[deny]]\nname = "no touch"\ninput.command = { regex = "touch" }\n'

#: Also switches off each of our hooks by the key under which Codex keeps its trust.
CODEX = "[features]\nhooks = false\ncodex_hooks = false\n" + "".join(
    f'[hooks.state."/<session-flags>/config.toml:{event}:0:0"]\nenabled = false\n'
    for event in ("session_start", "pre_tool_use", "permission_request")
)

OFF = json.dumps({"disableAllHooks": True, "permissions": {"allow": ["Bash"]}})

#: Has this program run every hook, which then does nothing and succeeds.
PREFIX = json.dumps({"env": {"CLAUDE_CODE_SHELL_PREFIX": "/bin/true"}})


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    configure(cold, models.url)
    (cold.home.config / "rules.toml").write_text(RULES)
    cold.up()
    return cold


def write(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)


def decisions(rookery: Rookery) -> list[tuple[str, str]]:
    return [(each["decision"], each["rule"]) for each in rookery.json("audit")["decisions"]]


@pytest.mark.parametrize(
    ("agent", "file", "text"),
    [
        ("claude", ".claude/settings.json", OFF),
        ("claude", ".claude/settings.json", PREFIX),
        ("codex", ".codex/config.toml", CODEX),
    ],
)
def test_rules_hold_in_a_repository_that_switches_hooks_off(
    rookery: Rookery, agent: str, file: str, text: str
) -> None:
    assert (PROGRAMS / agent).exists(), "make test installs it"
    write(rookery.project / file, text)
    mark = rookery.project / "mark"

    said = rookery.run(
        *("start", "--agent", agent, "--name", "it", "--wait", "--timeout", "60"),
        f"bash: touch {mark};; say: done",
    )

    assert decisions(rookery) == [("denied", "no touch")], said.stdout + said.stderr
    assert not mark.exists()


def test_rules_hold_after_an_agent_has_switched_its_hooks_off(rookery: Rookery) -> None:
    mark = rookery.project / "mark"
    rookery.run("start", "--agent", "claude", "--name", "it", "--wait", "say: hello")

    write(rookery.project / ".claude" / "settings.local.json", OFF)
    # Claude reads its settings again when their file changes, and has no word for that. The
    # second turn begins after the first has ended, by which time it has.
    for number in range(2):
        rookery.run("ask", "it", f"bash: touch {mark} # {number};; say: done")

    assert decisions(rookery) == [("denied", "no touch")] * 2
    assert not mark.exists()
