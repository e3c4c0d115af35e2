"""The driver host and the daemon are killed at each message of the real protocols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tests.support.contract.runtimes import DEMO
from tests.support.paths import PROGRAMS
from tests.support.prove.protocol_deaths import (
    ProtocolCase,
    check,
    has_answered,
    protocol_home,
    resume,
    tell,
)
from tests.support.real.acp_agents import CASES
from tests.support.real.agents import seed_codex
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.prove, pytest.mark.timeout(900)]

#: Deaths for each protocol and each kind of death: the messages are many, the time is bounded.
MAX_DEATHS = 20

#: Seconds for one protocol and one kind of death.
MAX_SECONDS = 110.0


def case_of(name: str, folder: Path, models: ModelServer) -> ProtocolCase:
    """Prepare the home of an agent, and say how it is run."""
    folder.mkdir(parents=True)
    project = folder / "project"
    if name == "demo":
        demo = (*DEMO, "--acp")
        return ProtocolCase("demo", "acp", demo, "acp", "permission: Bash touch made")
    if name == "codex":
        seed_codex(folder / "codex", project, models.url)
        own = {"CODEX_HOME": str(folder / "codex"), "FAKE_KEY": "x"}
        codex = next(each for each in CASES if each.agent == "codex")
        ask = codex.run.format(file="made").removesuffix(";;")
        return ProtocolCase("codex", "codex", (str(PROGRAMS / "codex"),), "command", ask, own)
    claude = next(each for each in CASES if each.agent == "claude")
    own = {**claude.seed(folder, project, models.url)}
    if name == "sdk":
        program = (str(PROGRAMS / "claude"),)
        return ProtocolCase("claude", "sdk", program, "command", "bash: touch made", own)
    return ProtocolCase("claude", "acp", claude.command, "acp", "bash: touch made", own)


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with ModelServer() as models:
        yield models


@pytest.mark.spec("K3", "A5", "A7", "G2")
@pytest.mark.parametrize("victims", [("daemon",), ("host", "daemon")], ids=" and ".join)
@pytest.mark.parametrize("name", ["demo", "sdk", "codex", "claude-acp"])
def test_whenever_they_are_killed_nothing_is_lost_and_no_prompt_is_sent_twice(
    tmp_path: Path, models: ModelServer, name: str, victims: tuple[str, ...]
) -> None:
    with protocol_home(
        tmp_path / "whole", case_of(name, tmp_path / "whole", models), -1
    ) as whole:
        tell(whole)
        assert check(whole, may_fail=False) == "went on"
        count = len(whole.messages)

    began, endings, violations = monotonic(), Counter[str](), []
    is_resumed = "host" not in victims
    deaths = sorted({round(each * count / MAX_DEATHS) for each in range(MAX_DEATHS)})
    # Every second one first: on a slow machine, the whole story is still covered.
    for number in (*deaths[::2], *deaths[1::2]):
        if monotonic() - began > MAX_SECONDS:
            break
        folder = tmp_path / str(number)
        with protocol_home(folder, case_of(name, folder, models), number, *victims) as home:
            try:
                tell(home)
                ending = check(home, may_fail="host" in victims)
                endings[ending] += 1
                if ending.startswith("failed") and not is_resumed and has_answered(home):
                    is_resumed = True
                    said = resume(home)
                    assert "again" in said, f"it was resumed, and said: {said}"
            except AssertionError as violation:
                violations.append((number, str(violation)[:500]))
    print(f"\n{name}: {count} messages, {sum(endings.values())} deaths: {endings}")  # noqa: T201
    assert violations == []
    assert sum(endings.values()) > len(deaths) // 4, "the machine is too slow"
    assert is_resumed
