"""What is read of the folder that an agent works in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rookery.doctor import hook_switches
from rookery.project_files import hooks_switched_off
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.desk import Desk
from tests.sessions import make

pytestmark = [pytest.mark.anyio, pytest.mark.spec("C8", "D1")]

OFF = {
    ".claude/settings.json": '{"disableAllHooks": true}',
    ".claude/settings.local.json": '{"disableAllHooks": true}',
    ".codex/config.toml": "[features]\nhooks = false\n",
    ".gemini/settings.json": '{"hooksConfig": {"enabled": false}} // mine',
}


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", OFF)
@pytest.mark.parametrize("runtime", ["headless", "observed"])
def test_a_file_that_switches_hooks_off_is_named(
    tmp_path: Path, journal: Journal, name: str, runtime: str
) -> None:
    file = written(tmp_path, name, OFF[name])
    agent = name[1:].partition("/")[0]
    session = make(journal, "it", agent=agent, runtime=runtime, project_path=str(tmp_path))

    assert hooks_switched_off(session) == str(file)


@pytest.mark.parametrize(("agent", "is_named"), [("claude", False), ("gemini", True)])
def test_what_we_give_to_an_agent_wins_over_its_project(
    tmp_path: Path, journal: Journal, agent: str, *, is_named: bool
) -> None:
    for name, text in OFF.items():
        written(tmp_path, name, text)
    session = make(journal, "it", agent=agent, runtime="tmux", project_path=str(tmp_path))

    assert bool(hooks_switched_off(session)) is is_named


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".claude/settings.json", '{"disableAllHooks": false}'),
        (".claude/settings.json", "[1]"),
        (".claude/settings.json", "{broken"),
        (".codex/config.toml", "[features]\nhooks = true\n"),
        (".codex/config.toml", "features = 7"),
        (".codex/config.toml", "broken ["),
        (".gemini/settings.json", '{"hooksConfig": {"enabled": true, "disabled": ["lint"]}}'),
    ],
)
def test_other_settings_switch_nothing_off(
    tmp_path: Path, journal: Journal, name: str, text: str
) -> None:
    written(tmp_path, name, text)
    agent = name[1:].partition("/")[0]
    session = make(journal, "it", agent=agent, runtime="headless", project_path=str(tmp_path))

    assert hooks_switched_off(session) == ""


def test_gemini_can_switch_off_our_hook_by_its_name(tmp_path: Path, journal: Journal) -> None:
    off = '{"hooksConfig": {"disabled": ["rookery"]}}'
    file = written(tmp_path, ".gemini/settings.json", off)
    session = make(journal, "it", agent="gemini", project_path=str(tmp_path))

    assert hooks_switched_off(session) == str(file)


def test_codex_reads_settings_up_to_the_root_of_the_repository(
    tmp_path: Path, journal: Journal
) -> None:
    root, inner = tmp_path / "repository", tmp_path / "repository" / "a" / "b"
    inner.mkdir(parents=True)
    (root / ".git").mkdir()
    written(tmp_path, ".codex/config.toml", OFF[".codex/config.toml"])
    session = make(journal, "it", agent="codex", runtime="headless", project_path=str(inner))
    outside = hooks_switched_off(session)
    file = written(root, ".codex/config.toml", OFF[".codex/config.toml"])

    assert (outside, hooks_switched_off(session)) == ("", str(file))


@pytest.mark.timeout(20)
def test_a_fifo_in_the_place_of_settings_blocks_nothing(
    tmp_path: Path, journal: Journal
) -> None:
    (tmp_path / ".claude").mkdir()
    os.mkfifo(tmp_path / ".claude" / "settings.json")
    session = make(
        journal, "it", agent="claude", runtime="headless", project_path=str(tmp_path)
    )

    assert hooks_switched_off(session) == ""


async def test_why_names_the_file_that_switches_hooks_off(
    database: Database, journal: Journal, tmp_path: Path
) -> None:
    file = written(tmp_path, ".claude/settings.json", OFF[".claude/settings.json"])
    desk = Desk(database, journal)
    await desk.settle("it", tmp_path, agent="claude", runtime="headless")

    found = await desk.ask("why", session="it")

    assert found.hooks_off == str(file)


def test_the_doctor_names_the_sessions_whose_hooks_are_switched_off() -> None:
    check = hook_switches({"api": "/code/.claude/settings.json"})

    assert check.ok is False
    assert check.items == ("api: hooks are switched off by /code/.claude/settings.json",)
    assert hook_switches({}).ok
