from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from rookery.config import Settings
from rookery.doctor.examination import examine, examine_alone
from rookery.doctor.store_trouble import Trouble
from rookery.home import Home
from rookery.model.errors import RuntimeFailed, StoreBroken
from rookery.programs import hook
from rookery.runtimes.tmux import server
from rookery.store.database import Database
from tests.support.fakes.clock import FakeClock

TROUBLE = Trouble(entries=0, parked=0, hooks=0, doubts=())


@pytest.mark.spec("C3", "K4")
def test_a_hook_call_that_finds_no_room_leaves_no_half(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    words = [sys.executable, "-I", "-S", hook.__file__, "/no/door", str(spool), "demo"]

    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 0; exec {shlex.join(words)}"],
        input=b'{"session_id": "n1"}',
        capture_output=True,
        check=False,
        timeout=20,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(spool.iterdir()) == []


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path, tmp_path, tmp_path / "run")
    home.prepare()
    return home


def found(home: Home, name: str) -> tuple[bool | None, str]:
    checks = examine(home, Settings(), [], agents={}, trouble=TROUBLE)
    (check,) = (each for each in checks if each.name == name)
    return check.ok, check.detail


@pytest.mark.spec("K4")
def test_the_doctor_says_that_the_database_is_damaged(home: Home) -> None:
    home.database.write_bytes(b"no tables" * 1000)

    assert found(home, "database") == (False, "file is not a database")


def test_the_doctor_counts_whole_calls_in_the_spool(home: Home) -> None:
    (home.spool / "1.part").touch()
    (home.spool / "2").touch()

    assert found(home, "spool") == (False, "1 hook calls wait to be processed")


def rules_of(home: Home) -> tuple[bool | None, str]:
    (check,) = (each for each in examine_alone(home) if each.name == "rules")
    return check.ok, check.detail


def test_the_doctor_says_that_the_rules_do_not_hold(home: Home) -> None:
    assert rules_of(home) == (True, "there are none")

    home.rules.write_text("[[rule]]")
    home.rules.chmod(0o600)

    ok, detail = rules_of(home)
    assert not ok
    assert "there is no key 'rule'" in detail


@pytest.mark.spec("K4")
def test_a_schema_that_is_no_text_any_more_is_said_to_be_damaged(home: Home) -> None:
    with closing(connect(home.database)) as db:
        db.execute("create table plain (x)")
        db.commit()
    damaged = home.database.read_bytes().replace(
        b"create table plain", b"cr\xa0ate table plain", 1
    )
    damaged = damaged.replace(b"CREATE TABLE plain", b"CR\xa0ATE TABLE plain", 1)
    home.database.write_bytes(damaged)

    with pytest.raises(StoreBroken, match="its schema is damaged"):
        Database(home.database, FakeClock())
    assert found(home, "database") == (False, "its schema is damaged")


@pytest.mark.spec("K4")
def test_a_tmux_that_does_not_answer_is_not_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "COMMAND_TIMEOUT_SECONDS", 0.2)
    slow = tmp_path / "tmux"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o700)

    with pytest.raises(RuntimeFailed, match="did not answer"):
        server.version_of(str(slow))
    with pytest.raises(RuntimeFailed, match="was not found"):
        server.version_of(str(tmp_path / "none"))


@pytest.mark.spec("K4")
def test_the_doctor_says_that_the_database_is_of_a_newer_rookery(home: Home) -> None:
    with closing(connect(home.database)) as db:
        db.execute("pragma user_version = 9999")

    ok, detail = found(home, "database")
    assert not ok
    assert "newer Rookery (schema 9999)" in detail


def test_the_doctor_counts_only_files_as_spooled_calls(home: Home) -> None:
    (home.spool / "folder").mkdir()
    (home.spool / "link").symlink_to("/etc/passwd")
    os.mkfifo(home.spool / "fifo")

    assert found(home, "spool") == (True, "0 hook calls wait to be processed")


@pytest.mark.spec("I4")
def test_a_command_whose_output_is_closed_ends_without_a_traceback(tmp_path: Path) -> None:
    command = shlex.join([sys.executable, "-m", "rookery", "doctor"])

    done = subprocess.run(
        ["sh", "-c", f"{command} >&-"],
        env={**os.environ, "ROOKERY_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (3, "")
