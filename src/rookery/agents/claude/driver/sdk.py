"""Drive Claude Code with the Claude Agent SDK, which speaks its control protocol.

The program is always the user's own. ``messages`` reads its conversation.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from rookery.agents.claude.driver.elicitations import Elicitations
from rookery.agents.claude.driver.messages import MessageReader
from rookery.agents.claude.driver.process import ClaudeProcess
from rookery.agents.claude.driver.trust import NOTICE
from rookery.drivers.driver import DriverContext, DriverError, DriverLaunch
from rookery.drivers.events import Asked, Ended, Event, Noticed, Up
from rookery.supervise import outcome_of

#: Seconds for the program to answer its first message. It reads settings and plugins before.
START_SECONDS = 60.0

#: Seconds for the answer to an interruption: it usually takes a few milliseconds.
INTERRUPT_SECONDS = 5.0

#: Seconds for the program to end by itself, before it gets a SIGTERM: it waits for commands
#: that run in the background.
END_SECONDS = 2.0

#: The first version that is known to report when it takes a prompt into a turn.
MIN_VERSION = (2, 1, 226)

QUESTION, PLAN = "AskUserQuestion", "ExitPlanMode"


class SdkDriver:
    """Drives one session of Claude Code."""

    def __init__(self, launch: DriverLaunch, context: DriverContext) -> None:
        self._options = launch.options
        self._context = context
        self._reader = MessageReader(int(launch.options.get("earlier_cost", 0)))
        self._process = ClaudeProcess(launch, self._take, self._take_control)
        self._forms = Elicitations(context, self._process.write)
        self._client = ClaudeSDKClient(
            ClaudeAgentOptions(can_use_tool=self._decide), transport=self._process
        )
        self._is_up = self._is_closing = False
        self._over = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    async def run(self) -> Ended:
        try:
            reason = await self._converse()
        finally:
            self._over.set()
            self._forms.close()
            await self._client.disconnect()
        for event in self._reader.end(reason):
            self._context.report(event)
        if self._reader.is_over_budget:
            return Ended("failed", "its budget is used up", is_over_budget=True)
        if self._is_closing:
            return Ended("completed", "it was closed")
        return Ended("failed", self._reader.failure or reason)

    async def _converse(self) -> str:
        """Start the program, and read what it says until it ends; return the reason."""
        try:
            await self._connect()
            native_id = str(self._options.get("native_id", ""))
            self._is_up = True
            self._context.report(Up(native_id, str(self._options.get("model", ""))))
            if not self._process.is_trusted:
                self._context.report(Noticed("untrusted-folder", NOTICE))
            async for _ in self._client.receive_messages():
                pass  # the process has passed on each message of the conversation
        except DriverError as error:
            return str(error)
        except ClaudeSDKError as error:
            return f"Claude Code cannot be driven: {error}"
        return "Claude Code has ended."

    async def _connect(self) -> None:
        limit = float(self._options.get("start_seconds", START_SECONDS))
        try:
            async with asyncio.timeout(limit):
                await self._client.connect()
        except TimeoutError as error:
            raise DriverError(f"Claude Code did not answer within {limit:g} s.") from error
        info = await self._client.get_server_info() or {}
        version = str(info.get("claude_code_version") or "of an unknown version")
        if _numbers(version) < MIN_VERSION:
            needed = ".".join(map(str, MIN_VERSION))
            raise DriverError(
                f"Claude Code {version} is too old to be driven: it must be {needed} or newer."
            )

    def _take(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Report what messages say, which came together, at once."""
        events: list[Event] = []
        try:
            for message in messages:
                events += self._reader.read(message)
        finally:  # what came before a message that cannot be read is not lost
            self._context.report(*events)
        if self._reader.is_over_budget:
            self._process.terminate()

    def _take_control(self, message: Mapping[str, Any]) -> bool:
        return self._forms.take(message)

    async def prompt(self, text: str) -> None:
        id_ = str(uuid4())
        self._reader.note_prompt(id_, text)
        try:
            await self._client.query(_messages(id_, text))
        except ClaudeSDKError as error:
            self._reader.forget_prompt(id_)
            raise DriverError(f"Claude Code takes no prompt: {error}") from error

    async def interrupt(self) -> None:
        if not self._reader.is_in_turn:
            return
        self._reader.note_interrupt()
        try:
            async with asyncio.timeout(INTERRUPT_SECONDS):
                # The SDK raises plain exceptions for what Claude Code refuses.
                outcome = await outcome_of(self._client.interrupt())
        except TimeoutError as error:
            raise DriverError("Claude Code does not answer.") from error
        if outcome is not None:
            raise DriverError(f"Claude Code cannot be interrupted: {outcome}") from outcome

    async def close(self) -> None:
        self._is_closing = True
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self._end_politely()
        self._process.terminate()
        await self._over.wait()

    async def _end_politely(self) -> None:
        """Interrupt its turn, end its input, and wait until it has ended by itself."""
        if not self._is_up:
            return  # it reads no input yet
        with suppress(DriverError):
            await self.interrupt()
        await self._process.end_input()
        await self._over.wait()

    async def _decide(
        self, tool: str, arguments: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        """Ask whether a tool may run. An error in here denies it."""
        call_id = context.tool_use_id or ""
        announced = self._reader.inputs.get(call_id, {})
        # The program leaves the plan out of its question.
        shown = {**announced, **arguments} if tool == PLAN else arguments
        request = call_id or str(uuid4())
        answer = await self._context.ask(
            Asked(request, tool, shown, call_id, context.agent_id or "")
        )
        if not answer.allow:
            reason = answer.message.strip() or "Denied without a reason."
            return PermissionResultDeny(message=reason)
        if tool == QUESTION:
            answers = {text: ", ".join(chosen) for text, chosen in answer.answers.items()}
            return PermissionResultAllow(updated_input={**arguments, "answers": answers})
        return PermissionResultAllow(updated_input=arguments)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


async def _messages(id_: str, text: str) -> AsyncIterator[dict[str, Any]]:
    yield {
        "type": "user",
        "uuid": id_,
        "message": {"role": "user", "content": text},
        "parent_tool_use_id": None,
    }
