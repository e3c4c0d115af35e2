"""Word a tool call as one line."""

from __future__ import annotations

import json

from rookery.model.tool_inputs import telling
from rookery.presentation.activity import tool_text
from rookery.presentation.cells import cut, cut_left
from rookery.presentation.texts import one_line, plain

#: Cells for a command, and for a path or another argument without spaces.
MAX_COMMAND_CELLS, MAX_PATH_CELLS = 80, 60


#: Precedes a tool call, and one that was denied or failed.
CALL, DENIED_CALL = "🔧", "✗"


def call_text(call: str) -> str:
    """Reword a call from a transcript: ``Bash {"command": "ls"}`` becomes ``Bash — ls``.

    A call whose input is cut stays as it is.
    """
    tool, _, given = call.partition(" ")
    try:
        tool_input = json.loads(given)
    except ValueError:
        return call
    return tool_text(tool, telling(tool_input, tool)) if isinstance(tool_input, dict) else call


def tool_line(tool: str, argument: str, *, problem: str = "", is_full: bool = False) -> str:
    """Return a tool call as one line; unless ``is_full``, its argument is shortened.

    ``problem`` says who or what denied the call, or why it failed; it then looks unlike one
    that succeeded.
    """
    if not is_full:
        argument = _shortened(argument.strip())
    text = " ".join(plain(tool_text(tool, argument)).split())
    return f"{DENIED_CALL} {text}  ({one_line(problem)})" if problem else f"{CALL} {text}"


def _shortened(argument: str) -> str:
    """Cut a path at its beginning, since its end names the file; other texts at the end."""
    if any(each.isspace() for each in argument):
        return cut(argument, MAX_COMMAND_CELLS)
    is_path = argument.startswith(("/", "./"))
    return (cut_left if is_path else cut)(argument, MAX_PATH_CELLS)
