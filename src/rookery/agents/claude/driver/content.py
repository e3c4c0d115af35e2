"""Read the parts of Claude Code's messages: content, results of tools, costs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from rookery.drivers.events import FileChanged, Used
from rookery.drivers.json_fields import fields_of
from rookery.drivers.result_texts import bounded
from rookery.model.money import in_micro_dollars

Frame: TypeAlias = Mapping[str, Any]

#: The parts of the input of a request to the model.
_INPUT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")

#: What the program prints for a command of its own, such as /compact.
_PRINTED = ("<local-command-stdout>", "<local-command-stderr>")

#: What it prints for /compact, followed by a list of hooks, and what that is worded as.
_COMPACTED, COMPACTED = "Compacted", "The conversation was compacted."


def blocks(frame: Frame) -> Sequence[Frame]:
    """Return the content of a message as blocks."""
    match fields_of(frame.get("message")).get("content"):
        case list(content):
            return [each for each in content if isinstance(each, dict)]
        case str(text):
            return ({"type": "text", "text": text},)
        case _:
            return ()


def only_text(frame: Frame) -> str:
    """Return the text of a message that is one block of text; empty for all other messages.

    This must be fast: such messages are most of what the agent streams.
    """
    message = frame.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        text = content[0].get("text")
        if content[0].get("type") == "text" and isinstance(text, str):
            return text
    return ""


def result_text(content: object) -> str:
    """Return what a tool returned, as text."""
    if isinstance(content, str):
        return bounded(content)
    parts = content if isinstance(content, list) else ()
    return bounded("\n".join(_part(each) for each in parts))


def _part(part: object) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": str(kind)}:
            return f"[{kind}]"
        case _:
            return ""


def printed_text(frame: Frame) -> str:
    """Return what a command of the program printed; empty for all other messages."""
    match frame:
        case {"message": {"content": str(text)}} if text.startswith(_PRINTED):
            printed = text.partition(">")[2].rpartition("</")[0].strip()
            return COMPACTED if printed.startswith(_COMPACTED) else printed
        case _:
            return ""


def changed_file(call_id: str, result: object) -> Iterator[FileChanged]:
    """Yield the difference that a tool has made to a file."""
    match result:
        case {"filePath": str(path), "structuredPatch": [_, *_] as hunks}:
            lines = [line for hunk in hunks for line in _hunk(hunk)]
        case {"type": "create", "filePath": str(path), "content": str(text)}:
            added = text.splitlines()
            lines = [f"@@ -0,0 +1,{len(added)} @@", *(f"+{line}" for line in added)]
        case _:
            return
    diff = "\n".join((f"--- {path}", f"+++ {path}", *lines))
    yield FileChanged(path, bounded(diff), call_id)


def _hunk(hunk: object) -> Iterator[str]:
    match hunk:
        case {
            "oldStart": int(old),
            "oldLines": int(removed),
            "newStart": int(new),
            "newLines": int(added),
            "lines": list(lines),
        }:
            yield f"@@ -{old},{removed} +{new},{added} @@"
            yield from map(str, lines)
        case _:
            return


def failure(frame: Frame) -> str:
    """Return in a sentence why a turn failed."""
    match frame:
        case {"errors": [_, *_] as errors}:
            return "; ".join(map(str, errors))
        case {"result": str(text)} if text.strip():
            return text.strip()
        case {"api_error_status": int(status)}:
            return f"API error {status}."
        case {"subtype": str(kind)} if kind != "success":
            return f"Claude Code reports {kind}."
        case _:
            return "Claude Code reports an error without a reason."


def context(frame: Frame) -> int:
    """Return the tokens in the context after a response of the model; 0 if it has no usage."""
    match frame:
        case {"message": {"usage": dict(usage)}}:
            return _sum(usage, (*_INPUT_COUNTS, "output_tokens"))
        case _:
            return 0


def used(frame: Frame, earlier_total: int) -> Used | None:
    """Return what a turn has used; ``None`` if that is nothing.

    The total of the costs includes those of the conversation before a resume or a fork. Newer
    versions also report what came on top; for others, ``earlier_total`` is subtracted.
    """
    total = micro_dollars(frame.get("total_cost_usd"))
    match frame:
        case {"model_usage_since_last_result": dict(models)}:
            found = _of_models([each for each in models.values() if isinstance(each, dict)])
        case {"usage": dict(usage)}:
            cost = None if total is None else max(total - earlier_total, 0)
            found = (_sum(usage, _INPUT_COUNTS), _sum(usage, ("output_tokens",)), cost)
        case _:
            found = (0, 0, None if total is None else max(total - earlier_total, 0))
    return Used(*found, total) if any(found) else None


def _of_models(models: Sequence[Frame]) -> tuple[int, int, int | None]:
    names = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    costs = [micro_dollars(each.get("costUSD")) for each in models]
    known = [cost for cost in costs if cost is not None]
    return (
        sum(_sum(each, names) for each in models),
        sum(_sum(each, ("outputTokens",)) for each in models),
        sum(known) if known else None,
    )


def _sum(fields: Frame, names: Sequence[str]) -> int:
    values = (fields.get(name) for name in names)
    return sum(value for value in values if isinstance(value, int))


def micro_dollars(amount: object) -> int | None:
    return in_micro_dollars(amount) if isinstance(amount, int | float) else None
