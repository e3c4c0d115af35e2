"""Leave out the permission options that ACP does not define, and ask with the others.

The ACP library refuses the whole request for one unknown option, so that no person is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from acp.schema import PermissionOptionKind

from rookery.drivers.acp.process import AcpProcess
from rookery.drivers.events import Event, Noticed

_KINDS = frozenset(get_args(PermissionOptionKind))


class KnownOptions:
    """The transport of a program's messages, without unknown options."""

    def __init__(self, process: AcpProcess, report: Callable[[Event], None]) -> None:
        self._process = process
        self._report = report

    async def send(self, message: dict[str, Any]) -> None:
        await self._process.send(message)

    async def receive(self) -> dict[str, Any] | None:
        message = await self._process.receive()
        if message and (unknown := leave_out_unknown(message)):
            detail = f"The agent offers options that ACP does not define: {', '.join(unknown)}."
            self._report(Noticed("warning", detail))
        return message

    async def close(self) -> None:
        await self._process.close()


def leave_out_unknown(message: dict[str, Any]) -> list[str]:
    """Remove the unknown options from a request for a permission; return their kinds."""
    match message:
        case {"method": "session/request_permission", "params": {"options": list(options)}}:
            unknown = [each for each in options if _is_unknown(each)]
            options[:] = [each for each in options if not _is_unknown(each)]
            return [each["kind"] for each in unknown]
        case _:
            return []


def _is_unknown(option: object) -> bool:
    match option:
        case {"kind": str(kind)}:
            return kind not in _KINDS
        case _:
            return False
