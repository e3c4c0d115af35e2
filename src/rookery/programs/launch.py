"""Becomes an agent's program, with exactly the arguments and the environment it was given.

Run as ``python -I -S launch.py FILE`` in the pane. What the program gets never travels on a
command line, where every user of the machine could read it, and no shell ever sees it.
"""

from __future__ import annotations

import json
import os
import sys

#: Of the pane that it runs in: only tmux knows these.
_OF_THE_PANE = ("TERM", "TMUX", "TMUX_PANE")


def main() -> None:
    path = sys.argv[1]
    with open(path, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - pathlib is slow to import
        launch = json.load(file)
    os.unlink(path)  # noqa: PTH108 - pathlib is slow to import
    environment = dict(launch["environment"])
    environment.update((name, os.environ[name]) for name in _OF_THE_PANE if name in os.environ)
    environment["PWD"] = launch["folder"]
    try:
        os.chdir(launch["folder"])
        os.execvpe(launch["argv"][0], launch["argv"], environment)  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.exit(f"rookery: cannot run {launch['argv'][0]}: {error}")


main()
