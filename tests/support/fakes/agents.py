from __future__ import annotations

import anyio

from rookery.hook_protocol import Hook
from rookery.model.facts import SessionId
from rookery.model.sessions import Badge
from rookery.ports.runtime import Launch
from rookery.ports.sightings import Changed
from rookery.tracking.intake import Intake
from tests.support.fakes.runtime import FakeRuntime, Program


class FakeAgents:
    """What the programs in the panes say, and the spool their hooks wait in."""

    def __init__(self, runtime: FakeRuntime) -> None:
        self.answers_at_once = True
        self.tells_of_prompts = True
        self._runtime = runtime
        self._launches: dict[SessionId, Launch] = {}
        self._spool: list[Hook] = []
        self._stirred = anyio.Event()
        self._told = 0
        runtime.on_start = self._come_up
        runtime.on_submit = self._hear

    def hook(self, session: SessionId, event: str, **fields: object) -> None:
        """Have the program of a session call its hook."""
        launch = self._launches[session]
        words = launch.argv
        native_id = words[words.index("--resume") + 1] if "--resume" in words else session
        payload = {"session_id": native_id, "cwd": str(launch.folder), "hook_event_name": event}
        badge = Badge(launch.environment["ROOKERY_BADGE"])
        self._told += 1
        self._spool.append(
            Hook(f"hook-{self._told}", launch.agent.name, badge, {**payload, **fields})
        )
        self._stirred.set()

    async def drain(self, intake: Intake) -> None:
        """Tell the daemon everything, in order; a hook leaves the spool once it is answered."""
        while self._spool:
            await intake.receive(self._spool[0])
            del self._spool[0]

    async def speak(self, intake: Intake) -> None:
        while True:
            self._stirred = anyio.Event()
            await self.drain(intake)
            await self._stirred.wait()

    def _come_up(self, session: SessionId, program: Program) -> None:
        launch = program.launch
        assert launch is not None
        self._launches[session] = launch
        program.screen = [f"{launch.agent.name} starts"]
        if not program.manner.comes_up or program.manner.exits_with is not None:
            return
        if launch.agent.hooks:
            self.hook(session, "SessionStart", model="dream-1")
        else:
            program.screen = ["$"]
            self._runtime.see_again(Changed(session))

    def _hear(self, session: SessionId, words: str) -> None:
        if not self._launches[session].agent.hooks or not self.tells_of_prompts:
            return
        self.hook(session, "UserPromptSubmit", prompt=words)
        if self.answers_at_once:
            self.hook(session, "Stop", last_assistant_message="Done.")
