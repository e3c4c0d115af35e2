"""The warm process: it has loaded every module of Rookery, and forks for each command.

A fork takes on the environment, the folder and the standard streams that are asked for, and
runs the program's own ``main``.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import selectors
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass

import rookery
from rookery.cli import main
from tests.support.real.warm import MAX_REQUEST_BYTES

_NOT_LOADED = ("rookery.programs.", "rookery.__main__")


@dataclass(frozen=True, slots=True)
class Command:
    """What a fork is to be."""

    words: list[str]
    environment: dict[str, str]
    folder: str
    streams: list[int]


class Server:
    """Forks for each request that comes on the line, and tells how each fork ended."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._selector = selectors.DefaultSelector()
        self._selector.register(line, selectors.EVENT_READ)

    def serve(self) -> Command | None:
        """Return in each fork with what it is to be; and once nobody can ask any more."""
        while True:
            for key, _ in self._selector.select():
                if key.data is not None:
                    self._report(key.fd, *key.data)
                    continue
                request, descriptors, _, _ = socket.recv_fds(self._line, MAX_REQUEST_BYTES, 4)
                if not request:
                    return None
                if command := self._fork(request, descriptors):
                    return command

    def _fork(self, request: bytes, descriptors: list[int]) -> Command | None:
        *streams, status = descriptors
        pid = os.fork()
        if pid == 0:
            os.close(status)
            self._forget_the_others()
            words, environment, folder = json.loads(request)
            return Command(words, environment, folder, streams)
        for each in streams:
            os.close(each)
        os.write(status, b"%d\n" % pid)
        self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, status))
        return None

    def _forget_the_others(self) -> None:
        """Close in a fork what belongs to the server."""
        for key in list(self._selector.get_map().values()):
            os.close(key.fd)
            if key.data is not None:
                os.close(key.data[1])
        self._selector.close()

    def _report(self, pidfd: int, pid: int, status: int) -> None:
        self._selector.unregister(pidfd)
        _, how = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):  # nobody waits for it any more
            os.write(status, b"%d" % os.waitstatus_to_exitcode(how))
        os.close(status)
        os.close(pidfd)


def _load_all() -> None:
    for module in pkgutil.walk_packages(rookery.__path__, "rookery."):
        if not module.name.startswith(_NOT_LOADED):
            importlib.import_module(module.name)
    importlib.import_module("anyio._backends._asyncio")  # which it loads once it runs
    gc.collect()
    gc.freeze()  # so that forks share the memory


def _become(command: Command) -> None:
    for number, stream in enumerate(command.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(command.folder)
    os.environ.clear()
    os.environ.update(command.environment)
    sys.argv = ["rookery", *command.words]


def _run() -> None:
    """Run the program, and leave at once when it is done.

    Python would take apart all modules first, and so copy the memory that forks share: most of
    the CPU time of a short command.
    """
    try:
        main()
    except SystemExit as done:
        if not isinstance(done.code, int | None) or _others_run():
            raise
        atexit._run_exitfuncs()  # noqa: SLF001 - there is no public way
        with suppress(OSError, ValueError):  # Python itself says what is wrong with a stream
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(done.code or 0)
        raise


def _others_run() -> bool:
    return any(not each.daemon for each in threading.enumerate()[1:])


if __name__ == "__main__":
    _load_all()
    if asked := Server(socket.socket(fileno=int(sys.argv[1]))).serve():
        _become(asked)
        _run()
