"""Read the transcripts of Codex."""

from __future__ import annotations

from datetime import datetime

from rookery.agents.shared.transcript_lines import call_of, number_of, result_of, text_of
from rookery.ports.transcript import Line, Said, Tokens, TranscriptDialect, Usage, UsageLines


def read(line: Line) -> Said:
    match line["payload"]:
        case {
            "type": "item_completed",
            "item": {"type": "UserMessage", "content": content},
        }:
            yield "prompt", text_of(content)
        case {"type": "message", "role": "assistant", "content": content}:
            yield "words", text_of(content)
        case {"type": "function_call", "name": str(name), "arguments": given}:
            yield "call", call_of(name, given)
        case {"type": "custom_tool_call", "name": str(name), "input": given}:
            yield "call", call_of(name, given)
        case {"type": "function_call_output" | "custom_tool_call_output", "output": output}:
            yield "result", result_of(output)
        case {"type": "turn_aborted", "reason": str(reason)}:
            yield "interruption", reason
        case {"type": "task_complete", "error": {"message": str(text)}}:
            yield "error", text
        case _:
            return


def _read_usage(line: Line) -> Usage | None:
    match line:
        case {
            "type": "token_usage_record",
            "timestamp": str(at),
            "payload": {"response_id": str(id_), "usage": dict(usage)},
        }:
            used = Tokens(
                number_of(usage, "input_tokens"),
                number_of(usage, "output_tokens"),
                number_of(usage, "cached_input_tokens"),
                number_of(usage, "cache_write_input_tokens"),
            )
            return Usage(id_, datetime.fromisoformat(at), "", used)
        case _:
            return None


TRANSCRIPT = TranscriptDialect(
    name=r"rollout-.+-{id}\.jsonl",
    read=read,
    usage=UsageLines(b'"token_usage_record"', _read_usage),
)
