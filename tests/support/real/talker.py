"""A line program that makes it hard to read its pane; it imports nothing of ours.

It rests on a line with a counter. To ``go N`` it says its message N, while it draws a status
and clears its screen at times; to anything else it says nothing.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable

#: Columns of a pane to which nobody is attached; a line of a message may be longer.
COLUMNS = 200

CLEAR_ALL = "\x1b[H\x1b[J\x1b[3J"  #: as the program ``clear`` does
CLEAR = "\x1b[H\x1b[2J"

#: A scroll region that leaves the last row to a status; the cursor stays above it.
REGION = "\x1b[1;49r\x1b[48;1H"


def message(name: str, number: int) -> list[str]:
    """Return the lines of a message; each kind is hard to read in another way."""
    head, last = f"{name} begins {number}", f"{name} ends {number}"
    match number % 5:
        case 0:
            return [head, "", "  the same line", "  the same line", last]
        case 1:
            return [head, " ".join(f"w{each}" for each in range(number, number + 150)), last]
        case 2:
            return [head, *(f"row {each} of {number}" for each in range(70)), last]
        case 3:
            return [head, "x" * COLUMNS, "y" * (2 * COLUMNS + 1), last]
        case _:
            return [f"{head}; {last}"]


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def perform(name: str, number: int) -> None:
    pause = threading.Event()
    for part in range(3):
        say(f"\r\x1b[2K[{part + 1}/3] {name} works on {number}")
        pause.wait(0.03)
    say("\r\x1b[2K")
    if number % 7 == 3:
        say(CLEAR_ALL)
    if number % 7 == 5:
        say(CLEAR)
    for line in message(name, number):
        say(line + "\n")


def tick(state: Callable[[], str]) -> None:
    """Draw a status with a clock into the last row, for ever."""
    pause, seconds = threading.Event(), 0
    while not pause.wait(0.2):
        seconds += 1
        say(f"\x1b7\x1b[50;1H\x1b[2K{state()} {seconds // 5} s\x1b8")


def main(name: str, *options: str) -> None:
    state = ["idle"]
    if "full" in options:
        say("".join(f"an old line {each % 9}\n" for each in range(10_600)))
    if "clock" in options:
        say(REGION)
        threading.Thread(target=tick, args=(lambda: state[0],), daemon=True).start()
    done = 0
    while True:
        say(f"[{done} done] > ")
        if not (line := sys.stdin.readline()):
            return
        if asked := re.fullmatch(r"go (\d+)", line.strip()):
            state[0] = "working"
            if "slow" in options:  # nothing but the clock moves for a while
                threading.Event().wait(4.0)
            perform(name, int(asked[1]))
            state[0] = "idle"
            done += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
