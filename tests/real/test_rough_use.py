"""What users do by mistake: each gives one clear sentence, and no traceback."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from rookery.store.connections import open_file
from rookery.store.migrations import migrate
from tests.support.real.rookery import Rookery

pytestmark = [pytest.mark.real, pytest.mark.spec("I5", "K4")]


def typed(rookery: Rookery, *words: str, **how: object) -> subprocess.CompletedProcess[bytes]:
    """Type a command; ``how`` is for the process: its folder, its environment, its input."""
    usual = {"env": rookery.environment, "cwd": rookery.project, "capture_output": True}
    usual |= {"stdin": subprocess.DEVNULL} if "input" not in how else {}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "rookery", *words], timeout=120, check=False, **{**usual, **how}
    )


def test_a_relative_home_is_the_same_for_a_daemon_in_the_background(cold: Rookery) -> None:
    variables = {**cold.environment, "ROOKERY_HOME": "some/where"}
    cold.environment["ROOKERY_HOME"] = str(cold.project / "some" / "where")

    started = typed(cold, "up", "--detach", env=variables)
    status = typed(cold, "status", env=variables)
    down = typed(cold, "down", env=variables)

    assert started.returncode == 0, started.stderr
    assert f"Home {cold.project}/some/where".encode() in status.stdout
    assert b"Rookery is down." in down.stdout
    assert not Path("/some/where").exists()


def test_binary_input_is_refused_in_a_sentence(rookery: Rookery) -> None:
    rookery.start("ears")
    noise = rookery.folder / "noise.bin"
    noise.write_bytes(b"text \x83\xff\x00 more")
    latin = {**rookery.environment, "LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0"}

    refused = [
        typed(rookery, "send", "ears", "-", input=noise.read_bytes()),
        typed(rookery, "send", "ears", "-", input=noise.read_bytes(), env=latin),
        typed(rookery, "ask", "ears", "-", input=noise.read_bytes()),
        typed(rookery, "send", "ears", b"a\x83b".decode(errors="surrogateescape")),
        typed(rookery, "start", "-a", "demo", "-n", "other", "-f", str(noise)),
        typed(rookery, "permissions", "test", "-", input=noise.read_bytes()),
    ]

    for done in refused:
        is_said = b"UTF-8" in done.stderr or b"is not text" in done.stderr
        assert (done.returncode, is_said) == (2, True), done.stderr
        assert done.stderr.count(b"\n") == 1


def test_a_request_that_is_too_big_is_said_to_be(rookery: Rookery) -> None:
    rookery.start("ears")

    done = typed(rookery, "send", "ears", "-", input=b"x" * 60_000_000)

    assert done.returncode == 2, done.stderr
    assert b"more than 1,000,000 bytes. Send its path instead." in done.stderr
    assert rookery.ask("ears", "say: still here") == "still here"


def test_output_that_finds_no_room_is_an_error_in_a_sentence(rookery: Rookery) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "rookery", "ls"],
            env=rookery.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr == b"rookery: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("table", ["entries", "sessions", "bookmarks", "tokens"])
def test_a_database_that_is_damaged_in_the_middle_needs_a_backup(
    cold: Rookery, table: str
) -> None:
    cold.home.prepare()
    with closing(open_file(cold.home.database)) as db:
        migrate(db)
        pages = "select rootpage from sqlite_schema where name = ?"
        (page,) = db.execute(pages, (table,)).fetchone()
        (size,) = db.execute("pragma page_size").fetchone()
    with cold.home.database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)

    done = typed(cold, "up")

    assert done.returncode == 1
    assert b"rookery restore FILE" in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") <= 3


def test_settings_of_an_unknown_agent_stop_the_daemon_as_the_check_says(cold: Rookery) -> None:
    cold.configure('[agents.foo]\ncommand = ["x"]\n')

    checked, up = typed(cold, "config", "check"), typed(cold, "up")
    doctor = typed(cold, "doctor")

    assert (checked.returncode, up.returncode) == (2, 2)
    assert checked.stderr == up.stderr
    assert b"[agents.foo]" in doctor.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["ask", "ears", "--timeout", "-1", "hi"],
        ["wait", "ears", "--timeout", "nan"],
        ["end", "ears", "--timeout", "-0.1"],
        ["start", "-a", "demo", "--name", ""],
        ["start", "-a", "demo", "--wait", "--timeout", "-5"],
        ["fork", "ears", "--name", " "],
        ["listen", "ears", "--for", "ears", "--timeout", "-1"],
    ],
)
def test_a_timeout_below_zero_and_an_empty_name_are_usage_errors(
    cold: Rookery, words: list[str]
) -> None:
    done = typed(cold, *words)

    assert done.returncode == 2, done.stderr
    assert b"Invalid value for '--" in done.stderr


def test_without_tmux_it_is_said_that_it_is_missing(cold: Rookery) -> None:
    done = typed(cold, "up", env={**cold.environment, "PATH": "/nowhere"})

    assert done.returncode == 1
    assert done.stderr == (
        b"rookery: Rookery needs tmux 3.2 or newer: tmux was not found."
        b" Install it:  apt install tmux  (or: brew install tmux)\n"
    )
