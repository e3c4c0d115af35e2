"""Run the driver host: ``python -m rookery.driver_host SOCKET FOLDER``.

The secret that its commands must carry is the first line of its input.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from rookery.agents.driver_catalog import find_driver
from rookery.drivers.host import Host


def main() -> None:
    os.umask(0o077)
    # A signal to the daemon's terminal must not end the sessions.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    socket, folder = sys.argv[1:]
    key = sys.stdin.readline().strip()
    _leave_parent()
    asyncio.run(Host(Path(folder), key, find_driver).serve(Path(socket)))


def _leave_parent() -> None:
    """Continue as a process that is no child of the daemon, which need not wait for it."""
    if os.fork():
        os._exit(0)
    os.setsid()


if __name__ == "__main__":
    main()
