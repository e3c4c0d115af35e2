"""Store the events of a driven session also while its event file cannot be written.

On a full disk, events are kept in memory and written once there is room, in order and once
each. A driver never gets an error for that: the agent goes on, and its turn is not lost.

What recovery needs is not confirmed before it is in the file:

- A prompt is refused while events are kept, and the daemon tries again later. One that was
  passed on when the disk became full is confirmed once its event is in the file
  (``until_stored``). If the host dies before, the message stays unsure, as for any agent that
  dies with a message.
- A question reaches a person only through the file, so it waits until it can be written. Its
  answer is passed on at once: the verdict is in the database, and only a host that still has
  the question can use it. A daemon that does not find the end of the question gives the answer
  again, which has no effect.
- The end of a session is reported once it is in the file; until then the host keeps the
  session.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from rookery.drivers.event_file import EventWriter
from rookery.drivers.events import Ended, Event

_log = logging.getLogger(__name__)

#: Seconds between two attempts to write what is kept.
RETRY_SECONDS = 0.5

#: Bytes that are kept for one session; with more, it fails.
MAX_KEPT_BYTES = 8 * 2**20


class EventStore:
    """Writes the events of one session to its file, now or later."""

    def __init__(
        self, writer: EventWriter, *, changed: Callable[[], None], full: Callable[[str], None]
    ) -> None:
        """Call ``changed`` when the file has grown, ``full`` once if too much is kept."""
        self._writer = writer
        self._changed = changed
        self._full = full
        self._is_full = self._is_closed = False
        self._is_stored = asyncio.Event()  #: all events are in the file
        self._is_stored.set()
        self._retrying: asyncio.TimerHandle | None = None

    @property
    def problem(self) -> str:
        """Why events cannot be written now; empty if all are in the file."""
        return self._writer.problem

    def append(self, *events: Event) -> None:
        """Store events, after all earlier ones; nothing is raised."""
        if self._is_full:  # without what is missing before them, others would mislead
            events = tuple(each for each in events if isinstance(each, Ended))
        if self._is_closed or not events:
            return
        self._note(is_stored=self._writer.append(*events))
        if self._writer.unwritten_bytes > MAX_KEPT_BYTES and not self._is_full:
            self._is_full = True
            self._full(self.problem)

    def restore(self) -> None:
        """Write the file anew if it was deleted. Raises ``OSError`` and ``HomeUnusable``."""
        if not self._is_closed and self._writer.restore():
            _log.warning("The event file was deleted or moved; it is restored.")
            self._changed()

    async def until_stored(self) -> None:
        """Wait until all events are in the file."""
        await self._is_stored.wait()

    def close(self) -> None:
        """Forget the session: what is not in the file is dropped."""
        if self._is_closed:
            return
        self._is_closed = True
        self._is_stored.set()
        if self._retrying:
            self._retrying.cancel()
        self._writer.close()

    def _note(self, *, is_stored: bool) -> None:
        if is_stored:
            if not self._is_stored.is_set():
                _log.warning("Events can be written again.")
            self._is_stored.set()
            self._changed()
        elif self._is_stored.is_set():
            _log.warning("Events cannot be written, and are kept: %s", self.problem)
            self._is_stored.clear()
            self._retry_later()

    def _retry_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._retrying = loop.call_later(RETRY_SECONDS, self._retry)

    def _retry(self) -> None:
        if self._is_stored.is_set() or self._is_closed:
            return
        self._note(is_stored=self._writer.flush())
        if not self._is_stored.is_set():
            self._retry_later()
