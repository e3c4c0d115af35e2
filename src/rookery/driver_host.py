"""Run the driver host: ``python -m rookery.driver_host SOCKET FOLDER KEY RECORD LOG``.

It writes the secret that its commands must carry to the file ``KEY``, and its process to
``RECORD``, before it listens.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

from rookery.agents.driver_catalog import find_driver
from rookery.drivers.host import Host
from rookery.drivers.host_files import HostFiles
from rookery.quick_python_import import collect_rarely

#: Bytes of the log before a new file is begun, and the number of earlier files that are kept.
MAX_LOG_BYTES, LOG_BACKUPS = 5_000_000, 3


def main() -> None:
    os.umask(0o077)
    collect_rarely()
    # A signal to the daemon's terminal must not end the sessions.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    socket, folder, key, record, log = map(Path, sys.argv[1:])
    logging.basicConfig(level=logging.INFO, handlers=[log_handler(log)])
    logging.raiseExceptions = False  # on a full disk, no error for each line
    _leave_parent()
    host = Host(folder, secrets.token_hex(32), find_driver)
    asyncio.run(host.serve(HostFiles(socket, key, record)))


def log_handler(path: Path) -> logging.Handler:
    """Return the log, which is bounded: an agent can cause as many errors as it likes."""
    lines = RotatingFileHandler(
        path, maxBytes=MAX_LOG_BYTES, backupCount=LOG_BACKUPS, encoding="utf-8"
    )
    lines.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    return lines


def _leave_parent() -> None:
    """Continue as a process that is no child of the daemon, which need not wait for it."""
    if os.fork():
        os._exit(0)
    os.setsid()


if __name__ == "__main__":
    main()
