"""A session that obeys no rule, because its agent's hooks are not installed, is named."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from rookery.agents.catalog import AGENTS
from rookery.doctor.hooks import missing_hooks
from rookery.home import find_home
from rookery.hook_setup import apply, plans, programs, record, settings_folders
from rookery.hook_setup.settings_folders import HookPlace
from rookery.model.facts import SessionEnded
from rookery.operations.missing_hooks import sessions_without_hooks
from rookery.store import evidence
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.operations import Desk

pytestmark = [pytest.mark.anyio, pytest.mark.spec("C8", "D1")]

WARNING = (
    "The hooks of Gemini are not installed: no rule applies to it, and its turns are read from"
    " its screen and its files. Install them, then start it again:"
    "  rookery hooks install --agent gemini"
)


@pytest.fixture
def desk(database: Database, journal: Journal, tmp_path: Path) -> Desk:
    desk = Desk(database, journal)
    home = find_home({"ROOKERY_HOME": str(tmp_path / "rookery")})
    home.prepare()
    login = {"HOME": str(tmp_path / "user"), "PATH": "/usr/bin:/bin"}
    desk.context = replace(desk.context, home=home, login=login)
    return desk


def install(desk: Desk, place: HookPlace) -> None:
    home = desk.context.home
    programs.write(home, AGENTS)
    plan = plans.install(home, record.load(home), [place], trust=False)
    apply.apply_plan(home, plan)


async def warning_of(desk: Desk, session: str) -> str:
    return str((await desk.ask("why", session=session)).hooks_missing)


async def test_why_names_the_command_that_installs_hooks(desk: Desk, tmp_path: Path) -> None:
    await desk.settle("it", tmp_path, agent="gemini")

    assert await warning_of(desk, "it") == WARNING


async def test_installed_hooks_are_not_missed(desk: Desk, tmp_path: Path) -> None:
    await desk.settle("it", tmp_path, agent="gemini")
    install(desk, settings_folders.of_user("gemini", desk.context.login))

    assert await warning_of(desk, "it") == ""


async def test_hooks_that_are_installed_in_the_project_are_not_missed(
    desk: Desk, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    await desk.settle("it", project, agent="gemini")
    install(desk, settings_folders.of_project("gemini", project, desk.context.login))

    assert await warning_of(desk, "it") == ""


async def test_a_session_whose_hook_has_reported_lacks_none(desk: Desk, tmp_path: Path) -> None:
    session = await desk.settle("it", tmp_path, agent="gemini")
    now = desk.journal.clock.now()
    await desk.database.write(
        lambda db: evidence.note_state(db, session, "hook", at=now, detail="")
    )

    assert await warning_of(desk, "it") == ""


@pytest.mark.parametrize(
    ("agent", "runtime"), [("claude", "tmux"), ("shell", "tmux"), ("gemini", "observed")]
)
async def test_other_sessions_are_not_warned_about(
    desk: Desk, tmp_path: Path, agent: str, runtime: str
) -> None:
    await desk.settle("it", tmp_path, agent=agent, runtime=runtime)

    assert await warning_of(desk, "it") == ""


async def test_a_session_that_has_ended_is_not_warned_about(desk: Desk, tmp_path: Path) -> None:
    session = await desk.settle("it", tmp_path, agent="gemini")
    ended = SessionEnded(session, "it ended")
    await desk.database.write(lambda db: desk.journal.append(db, ended))

    assert await warning_of(desk, "it") == ""


async def test_the_command_names_the_folder_that_the_configuration_gives_the_agent(
    desk: Desk, tmp_path: Path
) -> None:
    agents = {**desk.context.settings.agents}
    agents["gemini"] = agents["gemini"].model_copy(
        update={"environment": {"GEMINI_CLI_HOME": "/g h"}}
    )
    settings = desk.context.settings.model_copy(update={"agents": agents})
    desk.context = replace(desk.context, settings=settings)
    await desk.settle("it", tmp_path, agent="gemini")

    assert (await warning_of(desk, "it")).endswith(
        "rookery hooks install --agent gemini --config-dir '/g h/.gemini'"
    )


async def test_only_sessions_without_hooks_are_listed(desk: Desk, tmp_path: Path) -> None:
    live = [
        await desk.session(await desk.settle(name, tmp_path, agent=agent))
        for name, agent in (("one", "gemini"), ("two", "claude"), ("three", "gemini"))
    ]
    now = desk.journal.clock.now()
    reported = partial(
        evidence.note_state, session=live[2].id, source="hook", at=now, detail=""
    )
    await desk.database.write(reported)

    assert await sessions_without_hooks(desk.context, live) == {"one": WARNING}


def test_the_doctor_names_the_sessions_without_hooks() -> None:
    check = missing_hooks({"it": WARNING})

    assert (check.ok, check.items) == (False, (f"it: {WARNING}",))
    assert missing_hooks({}).ok
