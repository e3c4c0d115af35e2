"""The real Gemini CLI, started by hand in a person's own tmux, with our hooks installed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.real.more_agents import CASES, PROGRAMS, SLOWLY, prepare
from tests.support.real.own_tmux import OwnTmux
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(300)]

GEMINI = CASES[0]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnTmux]:
    own = OwnTmux(tmp_path)
    yield own
    own.clear_away()


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer, own: OwnTmux) -> Rookery:
    assert (PROGRAMS / "gemini").exists(), "make test-agents installs it"
    prepare(cold, models)
    cold.configure(cold.home.settings.read_text() + own.settings)
    cold.up()
    settings = str(cold.folder / "gemini" / ".gemini")
    cold.json("hooks", "install", "--agent", "gemini", "--config-dir", settings, "--yes")
    return cold


def begin(rookery: Rookery, own: OwnTmux) -> str:
    """Start Gemini by hand, and wait until Rookery has found it; return its name."""
    known: dict[str, Any] = tomllib.loads(rookery.home.settings.read_text())
    pane = own.shell(rookery.project, **known["agents"]["gemini"]["environment"])
    own.type(pane, f"{PROGRAMS / 'gemini'} --model {GEMINI.model}")
    eventually(lambda: bool(live(rookery)), within=SLOWLY)
    eventually(lambda: has_told_its_start(live(rookery)[0]), within=SLOWLY)
    # Its start hook may come before its pane is found.
    eventually(lambda: bool(live(rookery)[0]["tmux_pane"]), within=SLOWLY)
    return str(live(rookery)[0]["name"])


def has_told_its_start(session: dict[str, Any]) -> bool:
    """Return whether its start hook came: until then its native id is made up."""
    return not str(session["native_id"]).startswith("tmux_")


def live(rookery: Rookery) -> list[dict[str, Any]]:
    found = rookery.client.get("sessions")["sessions"]
    return [each for each in found if not each["ended_at"]]


def does(rookery: Rookery, name: str) -> str:
    return str(rookery.session(name)["activity"])


@pytest.mark.spec("C8", "D5")
def test_a_turn_that_a_refusal_has_ended_is_over_also_after_a_restart(
    rookery: Rookery, own: OwnTmux
) -> None:
    name = begin(rookery, own)
    first = rookery.ask(name, "say: hello", timeout=SLOWLY)

    rookery.send(name, "bash: touch made;; say: never")
    eventually(lambda: does(rookery, name) == "permission", within=SLOWLY)
    rookery.run("deny", name)
    eventually(lambda: does(rookery, name) == "idle")
    denied = rookery.session(name)

    rookery.send(name, "bash: touch more;; say: never")
    eventually(lambda: does(rookery, name) == "permission", within=SLOWLY)
    rookery.stop()
    own.press(str(denied["tmux_pane"]), "Escape")
    rookery.up()
    eventually(lambda: does(rookery, name) == "idle")

    assert (first, denied["reason"]) == ("hello", "interrupted")
    assert rookery.ask(name, "say: and on", timeout=SLOWLY) == "and on"
    assert not (rookery.project / "made").exists()
