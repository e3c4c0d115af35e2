"""Move a branch together with the working tree in which it is checked out, or neither.

Run as ``python -I -S move_checkout.py REF OLD NEW REASON [LINE …]`` in that working tree. Each
LINE is a further command for ``git update-ref --stdin`` that belongs to the same move. This is
a program of its own so that the death of the daemon does not stop a move halfway.

Git locks HEAD and all the refs before the first file is written. So a checkout or a reset by
another process happens either before that, and stops the move, or after the move.
"""

from __future__ import annotations

import os
import subprocess
import sys


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
        if (head := _output("symbolic-ref", "--quiet", "HEAD")) != ref:
            sys.stderr.write(f"HEAD is now at {head or 'no branch'}, not at {ref}.\n")
            return 1
        # Git treats a file with a new time stamp as changed until it has compared the content.
        _output("update-index", "-q", "--refresh")
        if not _update_files(old, new):
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
    command = ["git", "read-tree", "-m", "-u", old, new]
    return subprocess.run(command, check=False).returncode == 0


def _output(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()


sys.exit(main())
