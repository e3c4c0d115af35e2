"""The channel ``bell``: rings in the user's terminals that are attached to tmux."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from anyio import to_thread

from rookery.model.errors import NotificationFailed
from rookery.model.notifications import Notification, safe_text

#: Maximum characters of a notification's text that a terminal gets.
MAX_SHOWN_CHARACTERS = 200

#: Seconds for a terminal to take the end of a sequence.
END_TIMEOUT_S = 1.0

_BELL = "\a"

#: The end of an OSC sequence; without it, tmux would take the bell for the end.
_END = "\x1b\\"


@dataclass(frozen=True, slots=True)
class BellNotifier:
    #: Returns the terminals of attached clients, as tmux reports them.
    terminals: Callable[[], Awaitable[Iterable[Path]]]
    text: bool  #: whether the text is sent, too
    name: str = "bell"

    async def why_not(self) -> str:
        own = [each for each in await self.terminals() if is_own_terminal(each)]
        return "" if own else "no terminal of yours is attached to tmux"

    async def send(self, notification: Notification) -> None:
        content = bytes_for(notification, with_text=self.text)
        terminals = dict.fromkeys(await self.terminals())
        written = [await to_thread.run_sync(write_to, each, content) for each in terminals]
        if not any(written):
            raise NotificationFailed("no terminal of yours that is attached to tmux takes it.")


def bytes_for(notification: Notification, *, with_text: bool) -> bytes:
    """Return the bell, and the notification as the sequences that terminals understand."""
    if not with_text:
        return _BELL.encode()
    # Semicolons separate the parts of OSC 777. Control characters are removed: no text of a
    # session can end the sequence.
    title = safe_text(notification.title).replace(";", ",")
    body = safe_text(notification.body()).replace(";", ",")[:MAX_SHOWN_CHARACTERS]
    nine, urxvt = f"\x1b]9;{title}: {body}{_END}", f"\x1b]777;notify;{title};{body}{_END}"
    return f"{nine}{urxvt}{_BELL}".encode(errors="replace")


def is_own_terminal(path: Path) -> bool:
    """Return whether a path is a terminal of this user."""
    with _opened(path) as terminal:
        return terminal is not None


def write_to(path: Path, content: bytes) -> bool:
    """Write to a terminal of this user. Returns whether the terminal took all of it."""
    with _opened(path) as terminal, suppress(OSError):
        if terminal is None:
            return False
        if os.write(terminal, content) == len(content):
            return True
        _end_sequence(terminal)
    return False


def _end_sequence(terminal: int) -> None:
    """End a partly written sequence: the terminal would swallow the text that follows."""
    ready = select.poll()
    ready.register(terminal, select.POLLOUT)
    rest = _END.encode()
    until = monotonic() + END_TIMEOUT_S
    while rest and (left := until - monotonic()) > 0:
        if ready.poll(left * 1_000):
            with suppress(BlockingIOError):
                rest = rest[os.write(terminal, rest) :]


@contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    """Open a terminal of this user; yield ``None`` for everything else."""
    terminal = _open(path)
    try:
        is_safe = terminal is not None and os.isatty(terminal)
        is_own = is_safe and os.fstat(terminal or 0).st_uid == os.getuid()
        yield terminal if is_own else None
    finally:
        if terminal is not None:
            os.close(terminal)


def _open(path: Path) -> int | None:
    """Open a device file; ``None`` if it is something else, or cannot be opened."""
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        # Checked before it is opened: opening a file of another kind may have side effects.
        if not stat.S_ISCHR(path.lstat().st_mode) or not path.is_relative_to("/dev"):
            return None
        return os.open(path, flags)
    except OSError:
        return None
