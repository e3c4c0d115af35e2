"""The table of all operations, shared by every interface."""

from __future__ import annotations

from typing import Any

from rookery.gateway import (
    agent_operations,
    daemon_operations,
    discovery_operations,
    foreground_operations,
    listener_operations,
    message_operations,
    permission_operations,
    relay_operations,
    resume_operations,
    session_operations,
    tracker_operations,
    waiting_operations,
)
from rookery.gateway.table import Operation

OPERATIONS: tuple[Operation[Any, Any], ...] = (
    *session_operations.OPERATIONS,
    *waiting_operations.OPERATIONS,
    *resume_operations.OPERATIONS,
    *message_operations.OPERATIONS,
    *listener_operations.OPERATIONS,
    *relay_operations.OPERATIONS,
    *foreground_operations.OPERATIONS,
    *agent_operations.OPERATIONS,
    *tracker_operations.OPERATIONS,
    *permission_operations.OPERATIONS,
    *discovery_operations.OPERATIONS,
    *daemon_operations.OPERATIONS,
)
