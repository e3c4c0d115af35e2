"""The table of all operations, shared by every interface."""

from __future__ import annotations

from typing import Any

from rookery.operations import (
    conversation_data,
    daemon,
    discovery,
    foreground,
    listeners,
    messages,
    permissions,
    relays,
    resume,
    sessions,
    tracking,
    waits,
)
from rookery.operations.table import Operation

OPERATIONS: tuple[Operation[Any, Any], ...] = (
    *sessions.OPERATIONS,
    *waits.OPERATIONS,
    *resume.OPERATIONS,
    *messages.OPERATIONS,
    *listeners.OPERATIONS,
    *relays.OPERATIONS,
    *foreground.OPERATIONS,
    *conversation_data.OPERATIONS,
    *tracking.OPERATIONS,
    *permissions.OPERATIONS,
    *discovery.OPERATIONS,
    *daemon.OPERATIONS,
)
