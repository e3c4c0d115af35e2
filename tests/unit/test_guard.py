"""The guard before the doors: whom it lets pass without a token, and where."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from starlette.types import Message, Receive, Scope, Send

from rookery.gateway.guard import Guard
from rookery.home import find_home
from rookery.store.journal import Journal
from tests.desk import PERSON, Desk
from tests.fakes.database import ObservedDatabase

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K1", "K5")]

Door = Literal["unix", "tcp"]


class Doorway:
    """A guard, and what it let pass."""

    def __init__(self, desk: Desk, home: Path, door: Door) -> None:
        house = replace(desk.house, home=find_home({"ROOKERY_HOME": str(home)}))
        self.passed: list[Scope] = []
        self.answered: list[Message] = []
        self._guard = Guard(self._pass, house, door=door)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.passed.append(scope)

    async def ask(self, kind: str, client: tuple[str, int]) -> None:
        async def send(message: Message) -> None:
            self.answered.append(message)

        async def receive() -> Message:
            raise AssertionError

        headers: list[Any] = []
        scope = {"type": kind, "path": "/v1/status", "headers": headers, "client": client}
        await self._guard({**scope, "method": "GET"}, receive, send)


@pytest.fixture
def desk(database: ObservedDatabase, journal: Journal) -> Desk:
    return Desk(database, journal)


async def test_a_process_of_the_owner_passes_on_the_socket_by_its_pid(
    desk: Desk, tmp_path: Path
) -> None:
    doorway = Doorway(desk, tmp_path, "unix")

    await doorway.ask("http", ("unix", os.getpid()))

    assert [scope["identity"] for scope in doorway.passed] == [PERSON]


@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_a_port_that_equals_a_pid_of_the_owner_is_no_proof(
    desk: Desk, tmp_path: Path, kind: str
) -> None:
    doorway = Doorway(desk, tmp_path, "tcp")

    await doorway.ask(kind, ("127.0.0.1", os.getpid()))

    refusal = doorway.answered[0]
    assert doorway.passed == []
    assert (refusal.get("status"), refusal.get("code")) in {(401, None), (None, 1008)}


async def test_a_websocket_needs_a_token_on_the_socket_too(desk: Desk, tmp_path: Path) -> None:
    doorway = Doorway(desk, tmp_path, "unix")

    await doorway.ask("websocket", ("unix", os.getpid()))

    assert doorway.passed == []
    assert doorway.answered[0]["code"] == 1008
