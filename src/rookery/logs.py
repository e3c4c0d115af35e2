"""What the daemon writes down of itself."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from rookery.home import open_private

_log = logging.getLogger(__name__)


@contextmanager
def logged(path: Path) -> Iterator[None]:
    """Write what happens to a file that stays small."""
    open_private(path).close()
    lines = RotatingFileHandler(path, maxBytes=5_000_000, backupCount=3, encoding="utf-8")
    lines.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(lines)
    root.setLevel(logging.INFO)
    for talkative in ("watchfiles", "mcp"):  # of every change, and every request
        logging.getLogger(talkative).setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a full disk is no news for the terminal, line by line
    try:
        yield
    except BaseException as error:
        with contextlib.suppress(Exception):
            _log.critical("The daemon died.", exc_info=error)
        raise
    finally:
        root.removeHandler(lines)
        with contextlib.suppress(OSError):  # a full disk: its last lines are lost
            lines.close()
