"""An agent that suspends itself on ctrl-z: it releases its terminal and waits for SIGCONT.

With the argument ``stays``, it stays suspended whatever is sent to it.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
import tty

RULE = "─" * 40


def main() -> None:
    usual = termios.tcgetattr(0)
    tty.setraw(0)
    show()
    while key := os.read(0, 1):
        if key == b"\x1a":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT})
            termios.tcsetattr(0, termios.TCSANOW, usual)
            sys.stdout.write("suspended\r\n")
            sys.stdout.flush()
            os.killpg(0, signal.SIGTSTP)
            while True:
                signal.sigwait({signal.SIGCONT})
                if "stays" not in sys.argv:
                    break
            tty.setraw(0)
            show()


def show() -> None:
    sys.stdout.write(f"\x1b[H\x1b[2J{RULE}\r\n❯ \r\n{RULE}\r\n")
    sys.stdout.flush()


main()
