"""Restrict an ACP agent in a folder that its user has not accepted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from msgspec.structs import replace

from rookery.drivers.acp.options import AcpOptions
from rookery.drivers.driver import DriverError, DriverLaunch
from rookery.drivers.events import Noticed


async def restrict(
    options: AcpOptions, launch: DriverLaunch
) -> tuple[AcpOptions, tuple[Noticed, ...]]:
    """Return the options for the folder, and what to note. Raises ``DriverError``."""
    trust = options.trust
    if trust is None:
        return options, ()
    is_trusted = _find(trust.check)
    if await asyncio.to_thread(is_trusted, launch.folder, launch.environment):
        return options, ()
    if trust.refusal:
        raise DriverError(trust.refusal)
    restricted = replace(options, meta=trust.meta, mode=options.mode or trust.mode)
    return restricted, (Noticed("untrusted-folder", trust.notice),)


def _find(place: str) -> Callable[[Path, Mapping[str, str]], bool]:
    module, _, name = place.partition(":")
    check: Callable[[Path, Mapping[str, str]], bool] = getattr(import_module(module), name)
    return check
