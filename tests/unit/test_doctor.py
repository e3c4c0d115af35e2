"""What the doctor makes of what the store tells."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rookery.agents.catalog import AGENTS
from rookery.config import Settings
from rookery.doctor.checks import Check
from rookery.doctor.examination import examine, examine_alone
from rookery.doctor.files import check_deeply, check_spool
from rookery.doctor.store_trouble import HoldState, Trouble
from rookery.home import Home
from rookery.store.migrations import migrate

WELL = Trouble(entries=0, parked=0, hooks=0, doubts=())
THEN = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def looked_at(folder: Path, trouble: Trouble) -> Check:
    home = Home(folder, folder, folder / "run")
    home.prepare()
    checks = examine(home, Settings(), [], agents={}, trouble=trouble)
    (check,) = (each for each in checks if each.name == "hold")
    return check


@pytest.mark.spec("F4", "I5")
@pytest.mark.parametrize(
    ("since", "said"),
    [(THEN, f" since {THEN.astimezone():%Y-%m-%d %H:%M:%S}"), (None, "")],
)
def test_the_doctor_says_that_words_are_held(
    tmp_path: Path, since: datetime | None, said: str
) -> None:
    check = looked_at(tmp_path, replace(WELL, hold=HoldState(since)))

    assert (check.ok, check.advice) == (False, "rookery release")
    assert check.detail == f"deliveries are on hold{said}: no message is sent to any session"


@pytest.mark.spec("F4", "I5")
def test_the_doctor_says_that_no_words_are_held(tmp_path: Path) -> None:
    assert looked_at(tmp_path, WELL).ok


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path, tmp_path, tmp_path / "run")
    home.prepare()
    with closing(sqlite3.connect(home.database)) as db:
        migrate(db)
        db.executescript(
            "create table t (a); create index i on t (a); insert into t values (1)"
        )
    return home


def database_check(home: Home) -> Check:
    checks = examine(home, Settings(), [], agents={}, trouble=WELL)
    return next(each for each in checks if each.name == "database")


@pytest.mark.spec("I5", "K4")
def test_the_doctor_names_a_spooled_file_whose_name_is_no_text(home: Home) -> None:
    Path(os.fsdecode(os.fsencode(home.spool) + b"/\xff.damaged")).touch()

    checks = examine(home, Settings(), [], agents={}, trouble=WELL)

    (spool,) = (each for each in checks if each.name == "spool")
    assert spool.items == (f"{home.spool}/\\xff.damaged",)


@pytest.mark.spec("I5", "K4")
def test_a_database_that_is_gone_while_the_daemon_runs_is_not_one_that_never_was(
    home: Home,
) -> None:
    home.database.unlink()

    running = examine(home, Settings(), [], agents={}, trouble=WELL)
    alone = examine_alone(home)

    told = {each.name: each for each in running}
    assert told["database"].ok is False
    assert "rookery backup" in told["database"].advice
    assert told["hook programs"].ok is False
    assert told["offline answers"].ok is False
    assert {each.name: each.ok for each in alone}["database"] is None


@pytest.mark.spec("I5", "K4")
def test_the_doctor_finds_a_damaged_page_of_a_table(home: Home) -> None:
    well = database_check(home)
    with closing(sqlite3.connect(home.database)) as db:
        (page,) = db.execute("select rootpage from sqlite_schema where name = 't'").fetchone()
        (size,) = db.execute("pragma page_size").fetchone()
    with home.database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)

    damaged = database_check(home)

    assert (well.ok, well.detail[:3]) == (True, "ok,")
    assert (damaged.ok, damaged.advice) == (False, "rookery down, then: rookery restore FILE")


@pytest.mark.spec("I5", "K4")
def test_a_deep_look_finds_what_only_an_index_lacks(home: Home) -> None:
    well = check_deeply(home)
    with closing(sqlite3.connect(home.database)) as db:
        (kept,) = db.execute("select * from sqlite_schema where name = 'i'").fetchall()
        change_schema(db, "delete from sqlite_schema where name = 'i'", ())
    with closing(sqlite3.connect(home.database)) as db:
        db.execute("insert into t values (2)")
        change_schema(db, "insert into sqlite_schema values (?, ?, ?, ?, ?)", kept)

    quick, deep = database_check(home), check_deeply(home)

    assert (well.ok, quick.ok, deep.ok) == (True, True, False)
    assert "missing from index i" in deep.detail


def change_schema(db: sqlite3.Connection, statement: str, values: Sequence[object]) -> None:
    db.execute("pragma writable_schema = on")
    db.execute(statement, values)
    db.commit()


@pytest.mark.spec("I5")
def test_the_doctor_says_that_a_running_daemon_cannot_start_again_with_its_configuration(
    home: Home,
) -> None:
    def config() -> Check:
        checks = examine(home, Settings(), [], agents={}, trouble=WELL)
        (check,) = (each for each in checks if each.name == "config")
        return check

    well = config()
    home.settings.write_text("[[[broken")
    broken = config()

    assert well.ok
    assert (broken.ok, broken.advice) == (False, "rookery config check")
    assert "is not TOML" in broken.detail
    assert broken.detail.endswith("it cannot restart.")


@pytest.mark.spec("I5")
def test_the_doctor_says_that_a_changed_configuration_needs_a_restart(home: Home) -> None:
    home.settings.write_text("[limits]\ntmux_sessions = 7\n")

    checks = examine(home, Settings(), [], agents={}, trouble=WELL)

    (config,) = (each for each in checks if each.name == "config")
    assert (config.ok, config.advice) == (False, "rookery down; rookery up -d")
    assert "has changed since the daemon started" in config.detail


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("on_path", "is_found"), [("login", True), ("terminal", True), ("", None)]
)
def test_an_agent_is_found_on_the_path_of_the_login_shell_or_of_the_terminal(
    home: Home, tmp_path: Path, *, on_path: str, is_found: bool | None
) -> None:
    home.prepare()
    for each in ("login", "terminal"):
        (tmp_path / each).mkdir()
    if on_path:
        program = tmp_path / on_path / "claude"
        program.touch(mode=0o700)

    checks = examine(
        home,
        Settings(),
        [str(tmp_path / "login"), str(tmp_path / "terminal")],
        agents={"claude": AGENTS["claude"]},
        trouble=WELL,
    )

    (check,) = (each for each in checks if each.name == "agent claude")
    assert check.ok is is_found
    if on_path:
        assert check.detail == str(program)


@pytest.mark.spec("I5", "K4")
def test_the_doctor_reads_a_spool_from_which_the_daemon_takes_files(home: Home) -> None:
    is_done = threading.Event()

    def spool_and_take() -> None:
        while not is_done.is_set():
            files = [home.spool / f"{number}.json" for number in range(20)]
            for each in files:
                each.touch()
            for each in files:
                each.unlink()

    taking = threading.Thread(target=spool_and_take)
    taking.start()
    try:
        checks = [check_spool(home) for _ in range(200)]
    finally:
        is_done.set()
        taking.join()

    assert {each.name for each in checks} == {"spool"}
