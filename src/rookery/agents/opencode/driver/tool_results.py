"""Read how a tool call of OpenCode has ended."""

from __future__ import annotations

from collections.abc import Iterator

from rookery.drivers.events import Event, FileChanged, ToolBegan, ToolEnded
from rookery.drivers.json_fields import Fields, fields_of
from rookery.drivers.result_texts import bounded


def read_end(began: ToolBegan, state: Fields, asked_diff: str) -> Iterator[Event]:
    """Yield the end of a tool call, and the file change from its result or its request."""
    if state["status"] == "error":
        result = bounded(str(state.get("error") or ""))
        yield ToolEnded(began.call_id, began.tool, result, failed=True)
        return
    details = fields_of(state.get("metadata"))
    path, diff = began.input.get("filePath"), details.get("diff") or asked_diff
    if isinstance(path, str) and isinstance(diff, str) and diff:
        yield FileChanged(path, bounded(diff), began.call_id)
    code = details.get("exit")
    failed = isinstance(code, int) and code != 0
    yield ToolEnded(began.call_id, began.tool, bounded(str(state.get("output") or "")), failed)
