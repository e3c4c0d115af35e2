"""Real git repositories for tests, with the settings of no user."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

#: Seconds for one git command on a busy machine.
GIT_TIMEOUT_S = 60


def environment_in(home: Path) -> dict[str, str]:
    """Return the environment of a user whose git configuration is in a folder of the test."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
    }


def write_identity(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text("[user]\n\tname = Anna\n\temail = anna@example.org\n")


@dataclass(frozen=True)
class GitFolder:
    """A working tree, and how a user runs git there."""

    path: Path
    home: Path

    def git(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.path,
            env=environment_in(self.home),
            capture_output=True,
            text=True,
            check=False,
            timeout=GIT_TIMEOUT_S,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def write_oddly_named(self, text: str = "work\n") -> str:
        """Write a file whose name is not UTF-8, and return the name as it is shown."""
        Path(os.fsdecode(bytes(self.path) + b"/caf\xe9")).write_text(text)
        return "caf\\xe9"

    def commit(self, name: str, text: str, message: str = "change") -> str:
        """Commit a file; return the commit."""
        self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def branches(self) -> list[str]:
        listed = self.git("for-each-ref", "--format=%(refname:short)", "refs/heads")
        return listed.splitlines()

    def at(self, path: Path | str) -> GitFolder:
        return GitFolder(Path(path), self.home)


def make_repository(folder: Path, home: Path) -> GitFolder:
    """Make a repository with the branch main and one commit."""
    if not (home / ".gitconfig").exists():
        write_identity(home)
    folder.mkdir(parents=True, exist_ok=True)
    repository = GitFolder(folder, home)
    repository.git("init", "--quiet", "--initial-branch", "main")
    repository.commit("a.txt", "one\n", "first")
    return repository


def filter_in_repository(repository: GitFolder) -> None:
    """Commit files that a filter of the repository itself stores in another form."""
    for key in ("clean", "smudge"):
        repository.git("config", f"filter.crypt.{key}", "tr a-z n-za-m")
    repository.git("config", "filter.crypt.required", "true")
    repository.write(".gitattributes", "secret* filter=crypt\n")
    repository.commit("secrets/secret ü.txt", "attack at dawn\n")


def check_content_again(tree: GitFolder) -> None:
    """Give the index the time of the files, so that git cannot rely on their time stamps."""
    index = Path(tree.git("rev-parse", "--path-format=absolute", "--git-path", "index"))
    at = min(each.lstat().st_mtime_ns for each in tree.path.rglob("*") if each.is_file())
    os.utime(index, ns=(at, at))


def change_within_the_second(tree: GitFolder, name: str, text: str) -> None:
    """Change a file so soon after its checkout that its size and time stamp stay the same.

    Git notices that only because the index is not newer than the file. All of it was long ago.
    """
    file = tree.path / name
    assert file.stat().st_size == len(text)
    at = 1_700_000_000
    tree.git("config", "core.trustctime", "false")
    os.utime(file, (at, at))
    tree.git("add", name)
    file.write_text(text)
    os.utime(file, (at, at))
    check_content_again(tree)
