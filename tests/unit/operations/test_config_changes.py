"""What is said about a configuration that has changed since the daemon read it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rookery.config import Settings
from rookery.doctor.configuration import change_note
from rookery.home import Home
from rookery.operations.config_changes import config_note
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.operations import Desk

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I5")]

CHANGED = (
    "config.toml has changed since the daemon started: limits.tmux_sessions."
    " To use it:  rookery down; rookery"
)


@pytest.fixture
async def desk(database: Database, journal: Journal, tmp_path: Path) -> Desk:
    desk = Desk(database, journal)
    desk.context = replace(
        desk.context,
        settings=Settings(),
        home=Home(tmp_path, tmp_path, tmp_path / "run"),
        started_at=datetime.now(UTC) - timedelta(minutes=1),
    )
    return desk


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("[limits]\ntmux_sessions = 7\n", CHANGED),
        ("# only a comment\n", ""),
        ("[[[", "The configuration has an error; the daemon cannot restart: "),
    ],
)
async def test_a_changed_configuration_is_named_with_what_to_do(
    desk: Desk, text: str, note: str
) -> None:
    desk.context.home.settings.write_text(text)

    told = [config_note(desk.context), (await desk.ask("list")).config_note]

    assert [each[: len(note)] for each in told] == [note, note]
    assert all(told) == bool(note)


def test_changed_settings_are_named_without_their_values() -> None:
    text = {f"V{number}": "hunter2" for number in range(4)}
    now = Settings.model_validate(
        {"environment": text, "limits": {"tmux_sessions": 7, "driven_sessions": 7}}
    )

    note = change_note("config.toml", Settings(), now)

    assert "environment.V0, environment.V1, environment.V2, environment.V3, limits." in note
    assert " and 1 more. " in note
    assert "hunter2" not in note


def test_settings_of_a_new_section_that_nobody_has_set_are_not_named() -> None:
    now = Settings.model_validate({"profiles": {"work": {"agent": "claude"}}})

    note = change_note("config.toml", Settings(), now)

    assert note.startswith(
        "config.toml has changed since the daemon started: profiles.work.agent."
    )


async def test_a_configuration_that_the_daemon_has_read_is_not_named(desk: Desk) -> None:
    desk.context.home.settings.write_text("[limits]\ntmux_sessions = 7\n")
    later = datetime.now(UTC) + timedelta(minutes=1)
    desk.context = replace(desk.context, started_at=later)

    assert config_note(desk.context) == ""
    assert (await desk.ask("list")).config_note == ""
