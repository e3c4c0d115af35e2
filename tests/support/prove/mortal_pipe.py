"""Passes the lines of a protocol on, and kills its home's processes at one of them.

Run in place of an agent's program:  mortal_pipe.py FOLDER PROGRAM ARGUMENT…
FOLDER has the plan (see ``Plan``) and gets the record of all messages.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO


class Pipe:
    def __init__(self, folder: Path, command: list[str]) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self) -> int:
        program = self._program
        assert program.stdin
        assert program.stdout
        given = (sys.stdin.buffer, program.stdin, ">")
        threading.Thread(target=self._pass_on, args=given, daemon=True).start()
        self._pass_on(program.stdout, sys.stdout.buffer, "<")
        return program.wait()

    def _pass_on(self, source: IO[bytes], target: IO[bytes], direction: str) -> None:
        with suppress(OSError):
            while line := source.readline():
                with self._lock:
                    self._count(direction, line)
                target.write(line)
                target.flush()
            target.close()

    def _count(self, direction: str, line: bytes) -> None:
        """Record a message that is about to be passed on, unless all die at it."""
        record = self._folder / "messages"
        number = len(record.read_bytes().splitlines()) if record.exists() else 0
        plan = json.loads((self._folder / "plan").read_text())
        died = self._folder / "died"
        if number == plan["die_at"] and not died.exists():
            died.touch()
            self._kill(plan["victims"])
        with record.open("ab") as file:
            file.write(direction.encode() + line.rstrip(b"\n") + b"\n")

    def _kill(self, victims: list[str]) -> None:
        if "host" in victims:
            os.kill(os.getppid(), signal.SIGKILL)
        if "daemon" in victims:
            daemon = int((self._folder / "daemon").read_text())
            os.kill(daemon, signal.SIGKILL)
        if "host" in victims:
            self._program.kill()
            os._exit(1)


if __name__ == "__main__":
    # Without the usual shutdown, which cannot wait for the thread that reads.
    os._exit(Pipe(Path(sys.argv[1]), sys.argv[2:]).run())
