"""Put together what an ACP agent says about one tool call, update by update. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)

from rookery.drivers.acp.tools import AcpCall, FileDiff

CallUpdate: TypeAlias = ToolCallStart | ToolCallProgress | ToolCallUpdate

#: Fields of a tool's raw output that hold its text, in the order in which they are tried.
_OUTPUT_FIELDS = ("formatted_output", "output", "stdout", "result", "error")


def merged(known: AcpCall, update: CallUpdate) -> AcpCall:
    """Return a call with what an update says about it."""
    raw = update.raw_input
    changed: dict[str, Any] = {
        "title": update.title,
        "first_title": update.title if isinstance(update, ToolCallStart) else None,
        "kind": update.kind,
        "status": update.status,
        "input": {**known.input, **raw} if isinstance(raw, dict) else None,
        "output": update.raw_output,
        "meta": {**known.meta, **update.field_meta} if update.field_meta else None,
    }
    changed |= _content_of(update)
    changed["streamed"] = known.streamed + _streamed(update.field_meta or {})
    if update.locations:
        changed["paths"] = tuple(each.path for each in update.locations)
    given = {name: value for name, value in changed.items() if value is not None}
    return replace(known, **given)


def _content_of(update: CallUpdate) -> dict[str, Any]:
    """Return the texts and the diffs of a call; an update without content changes neither."""
    if update.content is None:
        return {}
    texts, diffs = [], []
    for part in update.content:
        if isinstance(part, FileEditToolCallContent):
            diffs.append(FileDiff(part.path, part.old_text, part.new_text))
        elif isinstance(part, ContentToolCallContent) and isinstance(
            part.content, TextContentBlock
        ):
            texts.append(part.content.text)
    return {"text": "\n".join(texts), "diffs": tuple(diffs)}


def _streamed(meta: Mapping[str, Any]) -> str:
    """Return a piece of a command's output: a convention of several agents and editors."""
    for name in ("terminal_output", "terminal_output_delta"):
        match meta.get(name):
            case {"data": str(data)}:
                return data
    return ""


def result_of(call: AcpCall) -> str:
    """Return what a call returned: as the tool returned it, else as the agent shows it."""
    match call.output:
        case str(text):
            return text
        case dict(fields):
            texts = (fields.get(name) for name in _OUTPUT_FIELDS)
            found = next((each for each in texts if isinstance(each, str) and each), None)
            return found or call.streamed or call.text or json.dumps(fields)
        case None:
            return call.streamed or call.text
        case other:
            return json.dumps(other)
