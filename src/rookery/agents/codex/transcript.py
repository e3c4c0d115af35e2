"""Read the transcripts of Codex."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from rookery.agents.shared.transcript_lines import format_call, result_of, text_of, token_count
from rookery.ports.transcript import (
    Kind,
    Line,
    PassageTexts,
    Tokens,
    TranscriptDialect,
    Usage,
    UsageParser,
)

#: What Codex writes before the output of a command, and the exit code in it, which is missing
#: while the command still runs.
_HEADER = re.compile(
    r"(?:(?:Chunk ID|Exit code|Wall time|Original token count|Total output lines): .*\n"
    r"|Process .*\n)+Output:(?:\n|$)"
)
_EXIT_CODE = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)$", re.MULTILINE)


def read(line: Line) -> PassageTexts:
    match line["payload"]:
        case {
            "type": "item_completed",
            "item": {"type": "UserMessage", "content": content},
        }:
            yield "prompt", text_of(content)
        case {"type": "message", "role": "assistant", "content": content}:
            yield "words", text_of(content)
        case {"type": "function_call", "name": str(name), "arguments": tool_input}:
            yield "call", format_call(name, tool_input)
        case {"type": "custom_tool_call", "name": str(name), "input": tool_input}:
            yield "call", format_call(name, tool_input)
        case {"type": "function_call_output" | "custom_tool_call_output", "output": output}:
            yield _result(text_of(output))
        case {"type": "turn_aborted", "reason": str(reason)}:
            yield "interruption", reason
        case {"type": "task_complete", "error": {"message": str(text)}}:
            yield "error", text
        case _:
            return


def _result(text: str) -> tuple[Kind | Literal["failure"], str]:
    """Return the output of a call, and whether it failed."""
    if not (header := _HEADER.match(text)):
        return "result", result_of(text)
    output, code = result_of(text[header.end() :]), _EXIT_CODE.search(header[0])
    if code is None or code[1] == "0":
        return "result", output
    return "failure", f"Exit code {code[1]}\n{output}".strip()


def _read_usage(line: Line) -> Usage | None:
    match line:
        case {
            "type": "token_usage_record",
            "timestamp": str(at),
            "payload": {"response_id": str(id_), "usage": dict(usage)},
        }:
            used = Tokens(
                token_count(usage, "input_tokens"),
                token_count(usage, "output_tokens"),
                token_count(usage, "cached_input_tokens"),
                token_count(usage, "cache_write_input_tokens"),
            )
            return Usage(id_, datetime.fromisoformat(at), "", used, used.input + used.output)
        case _:
            return None


TRANSCRIPT = TranscriptDialect(
    name=r"rollout-.+-{id}\.jsonl",
    read=read,
    usage=UsageParser(b'"token_usage_record"', _read_usage),
)
