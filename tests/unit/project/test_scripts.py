"""Setting up: what is installed is said before, and what cannot be is a command to type."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT


class Machine:
    """A computer that has only the programs which are put here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (
            "bash",
            "env",
            "cat",
            "sleep",
            "mktemp",
            "tail",
            "grep",
            "tr",
            "cut",
            "rm",
        ):
            found = shutil.which(name)
            assert found
            (folder / name).symlink_to(found)

    def has(self, name: str, script: str = "exit 0") -> None:
        file = self.folder / name
        file.write_text(f"#!{self.folder}/bash\n{script}\n")
        file.chmod(0o700)

    def packages(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "bash"), str(ROOT / "scripts" / "system-packages"), *words],
            env={"PATH": str(self.folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.has("id", "echo 1000")
    return machine


def test_where_all_is_there_nothing_is_said_or_done(machine: Machine) -> None:
    for name in ("tmux", "npm", "chromium"):
        machine.has(name)

    done = machine.packages("npm", "chromium")

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("user", ["root", "sudoer"])
def test_it_is_said_what_is_installed_and_how_before_it_is(machine: Machine, user: str) -> None:
    machine.has("id", "echo 0" if user == "root" else "echo 1000")
    machine.has("sudo", 'shift; [ "$1" = true ] || exec "$@"')
    calls = machine.folder / "calls"
    machine.has("apt-get", f'echo "$*" >> {calls}')
    sudo = "" if user == "root" else "sudo -n"

    said = machine.packages().stdout.splitlines()

    assert said == [
        f"Rookery needs tmux. Installing with:  {sudo} apt-get install -y tmux",
        "Reading the package lists …",
        "Installing tmux …",
    ]
    assert calls.read_text().splitlines() == ["update", "install -y tmux"]


def test_who_may_install_nothing_is_told_what_to_type(machine: Machine) -> None:
    machine.has("apt-get", "exit 9")

    done = machine.packages("npm")

    assert done.returncode == 1
    assert done.stdout == (
        "Rookery needs tmux nodejs npm. Type:  sudo apt-get install -y tmux nodejs npm\n"
    )


@pytest.mark.parametrize("has_apt", [True, False])
def test_what_only_a_test_needs_is_never_in_the_way(machine: Machine, has_apt: bool) -> None:
    machine.has("tmux")
    if has_apt:
        machine.has("id", "echo 0")
        machine.has("apt-get", "exit 100")

    done = machine.packages("chromium")

    assert done.returncode == 0
    assert "chromium" in done.stdout


def _progress(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "scripts" / "progress"), "Installing", "bash", "-c", script],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_last_line_of_a_long_command_is_shown_while_it_runs(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    os.mkfifo(shown)
    script = f"echo first; echo second; cat {shown}"
    command = [str(ROOT / "scripts" / "progress"), "Installing", "bash", "-c", script]
    environment = {**os.environ, "PROGRESS_INTERVAL_S": "0.05"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        while "second" not in running.stdout.readline():
            pass
        shown.write_text("")  # lets the command end

    assert running.returncode == 0


def test_a_command_that_prints_nothing_is_said_to_run() -> None:
    silent = _progress("sleep 0.3", PROGRESS_INTERVAL_S="0.05")

    assert "s  still running, no output yet\n" in silent.stdout


def test_the_output_of_a_command_is_shown_whole_only_if_it_fails() -> None:
    good = _progress("echo one; echo two")
    bad = _progress("echo one; echo two; exit 3")

    assert (good.returncode, good.stdout) == (0, "Installing …\n")
    assert (bad.returncode, bad.stdout) == (3, "Installing …\none\ntwo\nInstalling: failed.\n")


def test_what_the_makefile_installs_is_pinned() -> None:
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")

    installs = re.findall(r"pip install (.*)", text)
    assert all(
        "==" in each or "--require-hashes" in each or "-e ." in each for each in installs
    )
    assert "$(PROGRAMS): NPM_HOW := ci" in text
