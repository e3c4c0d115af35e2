"""Logging of the daemon."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

from rookery.private_files import open_private

_log = logging.getLogger(__name__)


class _Unrepeated(logging.Filter):
    """Passes each message once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        is_new = message not in self._said
        self._said.add(message)
        return is_new


@contextmanager
def warned(stream: TextIO) -> Iterator[Callable[[], None]]:
    """Also write warnings to a stream, such as the terminal of a user waiting for the start.

    Yields the function that stops it.
    """
    lines = logging.StreamHandler(stream)
    lines.setLevel(logging.WARNING)
    lines.setFormatter(_OneLine())
    lines.addFilter(_Unrepeated())
    root = logging.getLogger()
    root.addHandler(lines)
    try:
        yield lambda: root.removeHandler(lines)
    finally:
        root.removeHandler(lines)


class _OneLine(logging.Formatter):
    """Omits tracebacks, which are in the log file."""

    def format(self, record: logging.LogRecord) -> str:
        return f"rookery: {record.getMessage()}"


@contextmanager
def logged(path: Path) -> Iterator[None]:
    """Log to a rotating file."""
    open_private(path).close()
    lines = RotatingFileHandler(path, maxBytes=5_000_000, backupCount=3, encoding="utf-8")
    lines.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(lines)
    root.setLevel(logging.INFO)
    for talkative in ("watchfiles", "mcp"):  # they log every change and every request
        logging.getLogger(talkative).setLevel(logging.WARNING)
    logging.raiseExceptions = False  # no error on the terminal for each line on a full disk
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
