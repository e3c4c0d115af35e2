"""The drivers by name. A driver's module is imported when its first session starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module

from rookery.drivers.driver import DriverError, MakeDriver
from rookery.drivers.message_queue import MakeQueue
from rookery.quick_python_import import import_quickly

#: The module and the class of each driver, and the extra that installs what it needs.
DRIVERS: Mapping[str, tuple[str, str]] = {
    "sdk": ("rookery.agents.claude.driver.sdk:SdkDriver", "sdk"),
    "acp": ("rookery.drivers.acp.driver:AcpDriver", "acp"),
    "codex": ("rookery.agents.codex.driver.server:CodexDriver", ""),
    "opencode": ("rookery.agents.opencode.driver.server:OpenCodeDriver", ""),
}

#: The module and the class of each agent's own message queue.
QUEUES: Mapping[str, str] = {"codex": "rookery.agents.codex.driver.queue:CodexQueue"}


def find_queue(name: str) -> MakeQueue:
    """Return the factory of the message queue with this name."""
    module, _, attribute = QUEUES[name].partition(":")
    make: MakeQueue = getattr(import_module(module), attribute)
    return make


def find_driver(name: str) -> MakeDriver:
    """Return the factory of a driver. Raises ``DriverError``, for example without its extra."""
    location, extra = DRIVERS.get(name, ("", ""))
    if not location:
        raise DriverError(f"there is no driver {name!r}.")
    module, _, attribute = location.partition(":")
    try:
        # Protocol libraries are large: without this, half the CPU time of a stream of blocks
        # goes to the garbage collector, which scans them again and again.
        imported = sys.modules.get(module) or import_quickly(module)
        make: MakeDriver = getattr(imported, attribute)
    except ModuleNotFoundError as error:
        raise DriverError(
            f"the Python package {error.name!r} is missing."
            f" Install it in the clone of Rookery:  pipx install --force '.[tui,{extra}]'"
        ) from error
    return make
