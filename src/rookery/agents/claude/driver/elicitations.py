"""Answer the forms of MCP servers, which Claude Code passes on by its control protocol.

The Agent SDK for Python, as of 0.2.183, answers them with an error, which cancels the form.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rookery.agents.claude import elicitation
from rookery.agents.shared.claude_style_hooks import FORM
from rookery.drivers.driver import DriverContext
from rookery.drivers.events import Asked
from rookery.drivers.form_answers import form_action


class Elicitations:
    """The forms of one session that wait for an answer."""

    def __init__(self, context: DriverContext, write: Callable[[str], Awaitable[None]]) -> None:
        self._context = context
        self._write = write
        self._open: dict[str, asyncio.Task[None]] = {}

    def take(self, message: Mapping[str, Any]) -> bool:
        """Begin or end a form; return whether the message was about one."""
        match message:
            case {
                "type": "control_request",
                "request_id": str(id_),
                "request": {"subtype": "elicitation", "message": str()} as request,
            }:
                task = asyncio.ensure_future(self._answer(id_, request))
                self._open[id_] = task
                task.add_done_callback(lambda _: self._open.pop(id_, None))
                return True
            case {"type": "control_cancel_request", "request_id": str(id_)} if (
                id_ in self._open
            ):
                self._open[id_].cancel()
                return True
            case _:
                return False

    async def _answer(self, id_: str, request: Mapping[str, Any]) -> None:
        form, shown = elicitation.form_in(request), elicitation.shown_input(request)
        asked = Asked(id_, FORM, shown, questions=form.questions)
        action, values = form_action(form, await self._context.ask(asked))
        reply: dict[str, Any] = {"action": action}
        if action == "accept":
            reply["content"] = values
        response = {"subtype": "success", "request_id": id_, "response": reply}
        await self._write(json.dumps({"type": "control_response", "response": response}) + "\n")

    def close(self) -> None:
        """Stop waiting: the program has ended."""
        for task in self._open.values():
            task.cancel()
