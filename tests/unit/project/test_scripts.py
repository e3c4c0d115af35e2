"""Setting up: what is installed is said before, and what cannot be is a command to type."""

from __future__ import annotations

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
        for name in ("bash", "env", "cat"):
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
    machine.has("apt-get", 'echo "apt-get $*" >&2')
    sudo = "" if user == "root" else "sudo -n"

    said = machine.packages().stdout.splitlines()

    assert said == [
        f"Rookery needs tmux. Installing with:  {sudo} apt-get install -y tmux",
        "apt-get update -qq",
        "apt-get install -y -qq tmux",
    ]


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


def test_what_the_makefile_installs_is_pinned() -> None:
    text = (ROOT / "Makefile").read_text()

    installs = re.findall(r"pip install (.*)", text)
    assert all(
        "==" in each or "--require-hashes" in each or "-e ." in each for each in installs
    )
    assert "$(PROGRAMS): NPM_HOW := ci" in text
