"""Prompts of a driven session whose driver cannot tell whether its agent has them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rookery.drivers.commands import AgentPrompt, Start
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.driver import (
    AnswerLost,
    DriverContext,
    DriverError,
    DriverLaunch,
    PromptRefused,
)
from rookery.drivers.event_file import EventWriter
from rookery.drivers.events import Ended, Up

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K3")]


class Failing:
    """A driver whose prompts fail."""

    pid = None

    def __init__(
        self, error: DriverError, launch: DriverLaunch, context: DriverContext
    ) -> None:
        self.heard: list[str] = []
        self._error = error
        self._context = context
        self._over = asyncio.Event()

    async def run(self) -> Ended:
        self._context.report(Up("native"))
        await self._over.wait()
        return Ended("completed", "it was closed")

    async def prompt(self, text: str) -> None:
        self.heard.append(text)
        raise self._error

    async def interrupt(self) -> None:
        pass

    async def close(self) -> None:
        self._over.set()


async def heard(folder: Path, error: DriverError) -> list[str]:
    """Give a prompt twice, and return what the driver was given."""
    up = asyncio.Event()
    start = Start("s", "failing", (), {}, str(folder), {})
    session = DrivenSession(start, EventWriter(folder / "events"), up.set)
    running = asyncio.ensure_future(
        session.run(lambda: lambda launch, context: Failing(error, launch, context))
    )
    await up.wait()
    for _ in range(2):
        try:
            await session.prompt(AgentPrompt("s", "key", "one"))
        except PromptRefused:
            continue
    driver = session.driver
    assert isinstance(driver, Failing)
    await session.close()
    await running
    session.release()
    return driver.heard


async def test_a_prompt_whose_answer_was_lost_is_not_given_again(tmp_path: Path) -> None:
    assert await heard(tmp_path, AnswerLost("The connection broke.")) == ["one"]


async def test_a_prompt_that_was_refused_can_be_given_again(tmp_path: Path) -> None:
    assert await heard(tmp_path, DriverError("It is busy.")) == ["one", "one"]
