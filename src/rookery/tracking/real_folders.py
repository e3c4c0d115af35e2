"""Resolve the links in the folders that agents report, without blocking the event loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import BoundedSemaphore

from rookery.permissions.path_resolver import MAX_THREADS, RESOLVE_TIMEOUT_S, in_daemon_thread
from rookery.sessions.adopt import real_folder


@dataclass(frozen=True, slots=True)
class FolderResolver:
    """Resolves folders in threads of its own, which hang on a dead mount."""

    timeout_s: float = RESOLVE_TIMEOUT_S
    real_folder: Callable[[str], str] = real_folder
    _threads: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_THREADS))

    async def resolve(self, folder: str) -> str:
        """Return a folder's real path, or the path as it is if that cannot be read in time.

        As in ``real_folder``, a relative path becomes empty.
        """
        if not os.path.isabs(folder):  # noqa: PTH117 - text from another program
            return ""
        resolved = await in_daemon_thread(
            partial(self.real_folder, folder), threads=self._threads, timeout_s=self.timeout_s
        )
        return folder if resolved is None else resolved
