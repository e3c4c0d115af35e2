"""Starts the driver host, and finds the one that an earlier daemon started."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rookery.drivers.host_files import read_process
from rookery.model.errors import RuntimeFailed, RuntimeUnreachable
from rookery.ports.clock import Clock
from rookery.processes import Process, find_newest, is_running

_MODULE = "rookery.driver_host"

#: Seconds for the host to listen after it was started.
START_TIMEOUT_SECONDS = 10.0

#: Seconds between two attempts to connect to a host that starts.
RETRY_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class HostSite:
    """Where the driver host of a home listens, and where it writes."""

    socket: Path
    key: Path  #: the file with the secret that its commands carry
    events: Path  #: the folder of the event files
    log: Path
    record: Path  #: the file with the process of the running host


def is_listening(site: HostSite) -> bool:
    """Return whether a host listens at the socket, also one that does not answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        # A host that is suspended accepts nothing, and a full queue would block the daemon.
        connection.setblocking(False)
        try:
            connection.connect(str(site.socket))
        except BlockingIOError:
            return True
        except OSError:
            return False
    return True


def find_host(site: HostSite) -> Process | None:
    """Return the process of the host of this home, whether it answers or not.

    It is known by its record; if that was deleted and cannot be restored, because the host is
    suspended, by its arguments.
    """
    recorded = read_process(site.record)
    if recorded and is_running(recorded):
        return recorded
    pid = find_newest((_MODULE, str(site.socket)))
    return Process.of(pid) if pid else None


def read_key(site: HostSite) -> str:
    """Return the secret of the running host; empty if it is not known."""
    with suppress(OSError):
        return site.key.read_text(encoding="ascii").strip()
    return ""


async def start_host(site: HostSite, clock: Clock) -> None:
    """Start a host, and wait until it listens.

    Raises ``RuntimeFailed``; ``RuntimeUnreachable`` if the host ended meanwhile, as when it was
    killed: another attempt may succeed.
    """
    try:
        await asyncio.to_thread(_run, site)
    except (OSError, subprocess.SubprocessError) as error:
        raise RuntimeFailed(f"the driver host cannot be started: {error}") from error
    try:
        async with asyncio.timeout(START_TIMEOUT_SECONDS):
            while not is_listening(site):
                if not await asyncio.to_thread(find_host, site):
                    raise RuntimeUnreachable(
                        f"the driver host ended while it started. See {site.log}"
                    )
                await clock.sleep(RETRY_SECONDS)
    except TimeoutError:
        raise RuntimeFailed(f"the driver host does not answer. See {site.log}") from None


def _run(site: HostSite) -> None:
    for folder in (site.socket.parent, site.events, site.log.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Isolated: files in the working directory must not be imported as modules.
    program = [sys.executable, "-I", "-m", _MODULE]
    files = map(str, (site.socket, site.events, site.key, site.record, site.log))
    with site.log.open("ab") as log:
        subprocess.run(
            [*program, *files],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
            timeout=START_TIMEOUT_SECONDS,
            check=True,
        )
