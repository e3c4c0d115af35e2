"""Write the change of a file in the unified format. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff

from rookery.drivers.acp.tools import FileDiff
from rookery.drivers.result_texts import bounded

#: Lines of a file that are compared; a longer file is shown as replaced, because comparing
#: would block all sessions of the host.
MAX_COMPARED_LINES = 2_000


def unified(diff: FileDiff) -> str:
    """Return the difference, cut if it is long."""
    old, new = (diff.old or "").splitlines(), diff.new.splitlines()
    names = (
        "/dev/null" if diff.old is None else f"a/{diff.path.lstrip('/')}",
        f"b/{diff.path.lstrip('/')}",
    )
    if max(len(old), len(new)) > MAX_COMPARED_LINES:
        lines: Iterator[str] = _replaced(old, new, names)
    else:
        lines = unified_diff(old, new, *names, lineterm="")
    return bounded("\n".join(lines))


def _replaced(old: Sequence[str], new: Sequence[str], names: tuple[str, str]) -> Iterator[str]:
    yield from (f"--- {names[0]}", f"+++ {names[1]}")
    yield f"@@ -1,{len(old)} +1,{len(new)} @@"
    yield from (f"-{line}" for line in old)
    yield from (f"+{line}" for line in new)
