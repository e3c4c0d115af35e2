"""The launch program as tmux runs it: it becomes the agent's program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from rookery import programs

PROGRAM = Path(programs.__file__).with_name("launch.py")

#: Says what it was given, exactly.
TELL = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]))"

AWKWARD = (
    "",
    "-rf",
    "two words",
    "ends with;",
    "$(reboot)",
    "'\"\\",
    "ünïcödé\n",
    "#{pane_id}",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "launch"


def launch(
    file: Path, *argv: str, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    what = {"argv": argv, "environment": dict(environment), "folder": str(folder)}
    file.write_text(json.dumps(what), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-I", "-S", str(PROGRAM), str(file)],
        env={"TERM": "tmux", "TMUX": "socket,1,0", "TMUX_PANE": "%7", "FOREIGN": "x"},
        capture_output=True,
        encoding="utf-8",
        timeout=20,
        check=False,
    )


@pytest.mark.spec("B2", "K2")
def test_a_program_gets_exactly_what_it_was_given(file: Path, tmp_path: Path) -> None:
    own = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "AWKWARD": "\n".join(AWKWARD)}

    done = launch(file, sys.executable, "-c", TELL, *AWKWARD, folder=tmp_path, environment=own)

    arguments, environment, folder = json.loads(done.stdout)
    pane = {"TERM": "tmux", "TMUX": "socket,1,0", "TMUX_PANE": "%7", "PWD": str(tmp_path)}
    assert arguments == list(AWKWARD)
    assert environment == {**own, **pane}
    assert folder == str(tmp_path)


@pytest.mark.spec("K5")
def test_what_was_given_does_not_stay_on_disk(file: Path, tmp_path: Path) -> None:
    launch(file, "/bin/true", folder=tmp_path, environment={})

    assert not file.exists()


@pytest.mark.spec("A3", "K4")
def test_a_program_that_is_not_there_is_named(file: Path, tmp_path: Path) -> None:
    done = launch(file, "/no/such/program", folder=tmp_path, environment={})

    assert done.returncode == 1
    assert done.stderr.startswith("rookery: cannot run /no/such/program")


@pytest.mark.spec("A3", "K4")
def test_a_folder_that_has_gone_is_no_other_one(file: Path, tmp_path: Path) -> None:
    done = launch(file, "/bin/pwd", folder=tmp_path / "gone", environment={})

    assert done.returncode == 1
    assert done.stdout == ""
