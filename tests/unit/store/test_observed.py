from __future__ import annotations

from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest

from rookery.model.facts import SessionEnded, SessionFound, SessionId
from rookery.model.sessions import NativeId, Sender
from rookery.sessions.adopt import real_folder
from rookery.store import observed_panes, sessions
from rookery.store.journal import Journal
from tests.support.rows import make


class Panes:
    def __init__(self, db: Connection, journal: Journal, folder: Path) -> None:
        self.db = db
        self.journal = journal
        self.folder = folder

    def add(self, name: str, **known: Any) -> SessionId:  # noqa: ANN401 - its fields
        where = {"tmux_server": "/run/default", "tmux_pane": "%1", "runtime": "observed"}
        usual = {"agent": "codex", "native_id": "tmux_%1", "project_path": str(self.folder)}
        sessions.add(self.db, make(self.journal, name, **{**where, **usual, **known}))
        self.journal.append(self.db, SessionFound(SessionId(name)))
        return SessionId(name)

    def bind(self, agent: str = "codex") -> SessionId | None:
        cwd = f"{self.folder}/../{self.folder.name}/"
        sender = Sender(agent, NativeId("thread-1"), cwd, "SessionStart", is_new=True)
        return observed_panes.bind_by_folder(self.db, sender, real_folder(cwd))


@pytest.fixture
def panes(db: Connection, journal: Journal, tmp_path: Path) -> Panes:
    return Panes(db, journal, tmp_path)


@pytest.mark.spec("B6", "C4")
def test_a_hook_of_unknown_origin_is_that_of_the_only_agent_in_its_folder(panes: Panes) -> None:
    it = panes.add("it")
    panes.add("elsewhere", native_id="tmux_%2", project_path="/elsewhere")

    assert panes.bind() == it
    assert sessions.get(panes.db, it).native_id == "thread-1"


@pytest.mark.spec("B6", "C4")
def test_of_two_agents_in_one_folder_nobody_can_tell_which_it_is(panes: Panes) -> None:
    panes.add("one")
    panes.add("other", native_id="tmux_%2")

    assert panes.bind() is None


@pytest.mark.spec("C4")
@pytest.mark.parametrize(
    "more", [{"native_id": "thread-0"}, {"runtime": "headless"}, {"tmux_server": None}]
)
def test_who_is_known_or_in_no_pane_is_not_bound(panes: Panes, more: dict[str, Any]) -> None:
    panes.add("it", **more)

    assert panes.bind() is None


@pytest.mark.spec("C4")
def test_neither_the_dead_nor_another_agent_is_bound(panes: Panes) -> None:
    panes.journal.append(panes.db, SessionEnded(panes.add("dead"), "gone"))
    panes.add("it")

    assert panes.bind("claude") is None
    assert panes.bind() == "it"
