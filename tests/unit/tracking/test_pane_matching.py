"""Which agent in which pane is which session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rookery.model.sessions import Session
from rookery.processes import FoundProgram, Process
from rookery.runtimes.tmux.user_servers import ListedPane
from rookery.store.journal import Journal
from rookery.tracking.pane_matching import (
    AgentInPane,
    LabelChanged,
    NewAgent,
    PaneAssigned,
    changes_of,
)
from tests.support.rows import make

BEGAN = datetime(2026, 10, 31, tzinfo=UTC)


def sighted(
    pane: str = "%1",
    pid: int = 10,
    *,
    window: str = "work",
    inner: tuple[Process, ...] = (),
) -> AgentInPane:
    listed = ListedPane("/run/default", "main", 0, window, 0, pane, 9, "/code", "sh")
    return AgentInPane(FoundProgram("claude", Process(pid, "7"), inner), listed, "/code", BEGAN)


class Known:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def observed(self, name: str = "it", **more: Any) -> Session:  # noqa: ANN401 - its fields
        where = {"tmux_server": "/run/default", "tmux_pane": "%1", "tmux_session": "main"}
        usual = {"runtime": "observed", "agent": "claude", "label": "work", "process": "10:7"}
        return make(self._journal, name, **{**where, **usual, **more})

    def headless(self, name: str = "it", **more: Any) -> Session:  # noqa: ANN401
        usual = {"runtime": "headless", "agent": "claude", "project_path": "/code"}
        return make(self._journal, name, **{**usual, **more})


@pytest.fixture
def known(journal: Journal) -> Known:
    return Known(journal)


@pytest.mark.spec("B6")
def test_an_agent_that_nobody_knows_is_met() -> None:
    agent = sighted()

    assert changes_of([], [agent]) == [NewAgent(agent)]


@pytest.mark.spec("B6")
def test_to_look_again_changes_nothing(known: Known) -> None:
    assert changes_of([known.observed()], [sighted()]) == []


@pytest.mark.spec("B6")
def test_a_window_that_was_renamed_gives_another_label(known: Known) -> None:
    agent = sighted(window="new")

    assert changes_of([known.observed()], [agent]) == [LabelChanged(known.observed().id, "new")]


def test_a_window_without_a_name_takes_no_label_away(known: Known) -> None:
    assert changes_of([known.observed()], [sighted(window="")]) == []


@pytest.mark.spec("B6")
@pytest.mark.parametrize("process", ["10:7", "11:7"])
def test_a_session_that_was_known_by_its_process_is_seated(known: Known, process: str) -> None:
    agent = sighted(inner=(Process(11, "7"),))
    session = known.headless(process=process, project_path="/elsewhere")

    assert changes_of([session], [agent]) == [PaneAssigned(session.id, agent)]


@pytest.mark.spec("B6")
def test_an_agent_that_has_moved_to_another_pane_is_the_same(known: Known) -> None:
    agent = sighted("%2")
    session = known.observed()

    assert changes_of([session], [agent]) == [PaneAssigned(session.id, agent)]


@pytest.mark.spec("B6")
def test_a_session_that_was_known_by_its_pane_only_learns_its_process(known: Known) -> None:
    agent = sighted()
    session = known.observed(process=None)

    assert changes_of([session], [agent]) == [PaneAssigned(session.id, agent)]


@pytest.mark.spec("B6")
def test_another_process_in_the_same_pane_is_another_session(known: Known) -> None:
    agent = sighted(pid=20)

    assert changes_of([known.observed()], [agent]) == [NewAgent(agent)]


@pytest.mark.spec("B6")
def test_a_session_that_is_known_by_hooks_only_is_merged_by_its_folder(known: Known) -> None:
    agent = sighted()
    session = known.headless()

    assert changes_of([session], [agent]) == [PaneAssigned(session.id, agent)]


@pytest.mark.spec("B6")
def test_two_agents_in_one_folder_stay_two(known: Known) -> None:
    one, other = sighted("%1", 10), sighted("%2", 11)

    assert changes_of([known.headless()], [one, other]) == [NewAgent(one), NewAgent(other)]
    assert changes_of([known.headless("a"), known.headless("b")], [one]) == [NewAgent(one)]


@pytest.mark.spec("B6")
def test_an_older_session_of_the_same_folder_is_another(known: Known) -> None:
    agent = sighted()
    older = known.headless(created_at=BEGAN - timedelta(seconds=1))

    assert changes_of([older], [agent]) == [NewAgent(agent)]


@pytest.mark.spec("B6")
@pytest.mark.parametrize(
    "more",
    [{"agent": "codex"}, {"project_path": "/other"}, {"process": "99:1"}, {"runtime": "tmux"}],
)
def test_what_differs_is_not_merged_by_its_folder(known: Known, more: dict[str, str]) -> None:
    agent = sighted()

    assert changes_of([known.headless(**more)], [agent]) == [NewAgent(agent)]
