"""Runs the demo agent: ``python -m rookery.programs.demo``."""

from __future__ import annotations

import sys
import termios
import time

from rookery.programs.demo import options
from rookery.programs.demo.hooks import Hooks
from rookery.programs.demo.loop import Loop
from rookery.programs.demo.program import Program
from rookery.programs.demo.signals import die_of
from rookery.programs.demo.terminal import Terminal


def main() -> int:
    asked = options.read(sys.argv[1:])
    try:
        terminal = Terminal(is_alternate=asked.alternate_screen)
    except termios.error:
        sys.stderr.write("The demo agent needs a terminal.\n")
        return 2
    hooks = Hooks(asked.hooks, time.monotonic)
    with terminal:
        farewell = Loop(
            Program(asked, hooks, time.monotonic), hooks, terminal, time.monotonic
        ).run()
    if farewell.signal is not None:
        die_of(farewell.signal)
    return farewell.code


if __name__ == "__main__":
    sys.exit(main())
