"""Replace this process with an agent's program, with exactly the given argv and environment.

Run as ``python -I -S launch.py FILE`` in the pane. Arguments and environment come from FILE: a
command line is readable by every user of the machine, and no shell may interpret them.
"""

from __future__ import annotations

import json
import os
import sys

#: Variables of the pane, which only tmux knows.
_FROM_PANE = ("TERM", "TMUX", "TMUX_PANE")


def main() -> None:
    path = sys.argv[1]
    with open(path, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - pathlib is slow to import
        launch = json.load(file)
    os.unlink(path)  # noqa: PTH108 - pathlib is slow to import
    environment = dict(launch["environment"])
    environment.update((name, os.environ[name]) for name in _FROM_PANE if name in os.environ)
    environment["PWD"] = launch["folder"]
    try:
        os.chdir(launch["folder"])
        os.execvpe(launch["argv"][0], launch["argv"], environment)  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.exit(f"rookery: cannot run {launch['argv'][0]}: {error}")


main()
