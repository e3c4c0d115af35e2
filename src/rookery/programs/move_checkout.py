"""Move a branch together with the working tree in which it is checked out, or neither.

Run as ``python -I -S move_checkout.py REF OLD NEW REASON [LINE …]`` in that working tree. Each
LINE is a further command for ``git update-ref --stdin`` that belongs to the same move. This is
a program of its own so that the death of the daemon does not stop a move halfway.

Git locks HEAD and all the refs before the first file is written. So a checkout or a reset by
another process happens either before that, and stops the move, or after the move. If git cannot
update one of the files, those that it has updated before are put back.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

#: Files that an error names.
MAX_NAMED_FILES = 20

#: The mode of a file that is not there.
_NO_FILE = "000000"


def main() -> int:
    ref, old, new, reason, *others = sys.argv[1:]
    # ORIG_HEAD is the commit to which a person resets the branch to undo a merge.
    lines = ["start", f"update ORIG_HEAD {old}", f"update HEAD {new} {old}", *others, "prepare"]
    # If this program exits before the commit, git's input closes and git releases the locks.
    with subprocess.Popen(
        ["git", "update-ref", "-m", reason, "--stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as transaction:
        if not _ask(transaction, lines):
            return 1
        if (head := _output("symbolic-ref", "--quiet", "HEAD").strip()) != ref:
            sys.stderr.write(f"HEAD is now at {head or 'no branch'}, not at {ref}.\n")
            return 1
        # Git treats a file with a new time stamp as changed until it has compared the content.
        _output("update-index", "-q", "--refresh")
        # Git refuses files in the way here, so all changes after a failure are git's own.
        if not _succeeds("read-tree", "--dry-run", "-m", "-u", old, new):
            return 1
        if not _update_files(old, new):
            _put_back_if_possible(old, new)
            return 1
        if _ask(transaction, ["commit"]):
            return 0
    _update_files(new, old)
    return 1


def _ask(transaction: subprocess.Popen[bytes], lines: list[str]) -> bool:
    """Send lines to git; return whether git has carried out the last one."""
    assert transaction.stdin  # noqa: S101 - a pipe was requested
    assert transaction.stdout  # noqa: S101 - a pipe was requested
    try:
        transaction.stdin.write(os.fsencode("".join(f"{each}\n" for each in lines)))
    except BrokenPipeError:  # git has exited, and has printed why
        return False
    expected = f"{lines[-1]}: ok\n".encode()
    return any(answer == expected for answer in transaction.stdout)


def _update_files(old: str, new: str) -> bool:
    """Bring index and files up to date; git refuses to overwrite uncommitted changes."""
    return _succeeds("read-tree", "-m", "-u", old, new)


def _put_back_if_possible(old: str, new: str) -> None:
    try:
        _put_back(old, new)
    except (OSError, subprocess.CalledProcessError) as error:  # a full disk, for instance
        sys.stderr.write(f"The files that were updated could not be put back: {error}\n")


def _put_back(old: str, new: str) -> None:
    """Undo an update that git has begun; a file with any other content stays as it is.

    Git writes the index last, so the index still has the old files.
    """
    before, after = _tree_entries(old, new)
    as_new = _with_content(after)
    for path in sorted(as_new - before.keys(), reverse=True):
        with suppress(OSError):
            Path(path).unlink()
            os.removedirs(Path(path).parent)
    staged = _paths("diff-index", "--cached", old)
    lost = [
        each
        for each in _changed_files() & before.keys() - staged
        if each in as_new or not os.path.lexists(each)
    ]
    _output("checkout-index", "--force", "--index", "-z", "--stdin", given=_lines(lost))
    left = _changed_files() & before.keys()
    left |= {each for each in after.keys() - before.keys() if _is_file(each)}
    if left:
        names = ", ".join(sorted(left)[:MAX_NAMED_FILES])
        sys.stderr.write(
            f"These files could not be put back: {names}. Compare them with:  git diff HEAD\n"
        )


def _tree_entries(old: str, new: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return mode and blob of the files that differ, before and after."""
    words = _output("diff-tree", "-r", "-z", "--no-renames", old, new, check=True).split("\0")
    before, after = {}, {}
    for entry, path in zip(words[::2], words[1::2], strict=False):
        old_mode, new_mode, old_blob, new_blob, _ = entry.lstrip(":").split(" ")
        if old_mode != _NO_FILE:
            before[path] = f"{old_mode} {old_blob}"
        if new_mode != _NO_FILE:
            after[path] = f"{new_mode} {new_blob}"
    return before, after


def _with_content(entries: dict[str, str]) -> set[str]:
    """Return the paths at which there is such a file. An index of its own lets git compare."""
    with tempfile.TemporaryDirectory(prefix="rookery-") as folder:
        index = str(Path(folder, "index"))
        given = _lines(f"{entry}\t{path}" for path, entry in entries.items())
        # Checked: in an index that was not written, no file would differ.
        _output("update-index", "-z", "--index-info", given=given, index=index, check=True)
        return {*entries} - _changed_files(index)


def _changed_files(index: str = "") -> set[str]:
    """Return the files that differ from an index; without one, from that of the checkout."""
    _output("update-index", "-q", "--refresh", index=index)
    return _paths("diff-files", "--ignore-submodules=all", index=index)


def _paths(command: str, *words: str, index: str = "") -> set[str]:
    listed = _output(command, "--name-only", "-z", *words, index=index, check=True)
    return {each for each in listed.split("\0") if each}


def _is_file(path: str) -> bool:
    return os.path.lexists(path) and (Path(path).is_symlink() or not Path(path).is_dir())


def _lines(words: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(each) + b"\0" for each in words)


def _succeeds(*words: str) -> bool:
    return subprocess.run(["git", *words], check=False).returncode == 0


def _output(*words: str, given: bytes = b"", index: str = "", check: bool = False) -> str:
    variables = {**os.environ, "GIT_INDEX_FILE": index} if index else None
    done = subprocess.run(
        ["git", *words], input=given, stdout=subprocess.PIPE, env=variables, check=check
    )
    return os.fsdecode(done.stdout)


sys.exit(main())
