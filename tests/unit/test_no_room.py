from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.config import Settings
from rookery.doctor import Trouble, examine
from rookery.home import Home
from rookery.programs import hook

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
    checks = examine(home, Settings(), {}, agents={}, trouble=TROUBLE)
    (check,) = (each for each in checks if each.name == name)
    return check.ok, check.detail


@pytest.mark.spec("K4")
def test_the_doctor_says_that_the_database_is_damaged(home: Home) -> None:
    home.database.write_bytes(b"no tables" * 1000)

    assert found(home, "database") == (False, "file is not a database")


def test_the_doctor_counts_whole_calls_in_the_spool(home: Home) -> None:
    (home.spool / "1.part").touch()
    (home.spool / "2").touch()

    assert found(home, "spool") == (False, "1 hook calls wait to be taken in")


def test_the_doctor_says_that_the_rules_do_not_hold(home: Home) -> None:
    assert found(home, "rules") == (True, "there are none")

    home.rules.write_text("[[rule]]")
    home.rules.chmod(0o600)

    ok, detail = found(home, "rules")
    assert not ok
    assert "there is no key 'rule'" in detail
