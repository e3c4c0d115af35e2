"""Find the argument by which a person recognises a tool call."""

from __future__ import annotations

from rookery.model.tool_inputs import telling

#: Characters kept of an argument.
MAX_ARGUMENT_CHARS = 64_000


def argument_of(tool: str, tool_input: object) -> str:
    """Return what a tool is called with, such as its command; else its input as JSON."""
    if not isinstance(tool_input, dict) or not tool_input:
        return ""
    return bounded_argument(telling(tool_input, tool))


def bounded_argument(text: str) -> str:
    """Return at most ``MAX_ARGUMENT_CHARS`` characters, and mark a cut."""
    text = text.strip()
    is_long = len(text) > MAX_ARGUMENT_CHARS
    return f"{text[: MAX_ARGUMENT_CHARS - 1]}…" if is_long else text
