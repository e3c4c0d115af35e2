"""Read what OpenCode's server prints."""

from __future__ import annotations

import re

from rookery.drivers.driver import DriverError
from rookery.drivers.server_process import ServerProcess

_ADDRESS = re.compile(rb"listening on (http://127\.0\.0\.1:\d+)\s*$")


async def read_address(process: ServerProcess) -> str:
    """Wait until the server prints where it listens."""
    while line := await process.output.readline():
        if found := _ADDRESS.search(line):
            return found[1].decode()
    raise DriverError("OpenCode's server ended before it listened.")


async def drain(process: ServerProcess) -> None:
    """Read what the server prints, so that it never blocks."""
    while await process.output.read(65_536):
        pass
