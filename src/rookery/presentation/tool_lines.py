"""Word a tool call as one line."""

from __future__ import annotations

import json

from rookery.model.tool_inputs import telling
from rookery.presentation.activity import tool_text
from rookery.presentation.cells import cut
from rookery.presentation.texts import plain

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
        is_path = not any(each.isspace() for each in argument.strip())
        argument = cut(argument.strip(), MAX_PATH_CELLS if is_path else MAX_COMMAND_CELLS)
    text = " ".join(plain(tool_text(tool, argument)).split())
    return f"{DENIED_CALL} {text}  ({problem})" if problem else f"{CALL} {text}"
