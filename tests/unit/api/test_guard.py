"""The guard before the servers: whom it lets pass without a token, and where."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from starlette.types import Message, Receive, Scope, Send

from rookery.api.request_checks import Guard
from rookery.home import find_home
from rookery.store import tokens
from rookery.store.journal import Journal
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import PERSON, Desk

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K1", "K5")]

Transport = Literal["unix", "tcp"]

#: What the server is called on its port.
NAMES = ("127.0.0.1:7777", "localhost:7777")


class GuardedApp:
    """A guard, and what it let pass."""

    def __init__(self, desk: Desk, home: Path, transport: Transport) -> None:
        context = replace(desk.context, home=find_home({"ROOKERY_HOME": str(home)}))
        self.passed: list[Scope] = []
        self.answered: list[Message] = []
        names = NAMES if transport == "tcp" else ()
        self._guard = Guard(self._pass, context, transport=transport, names=names)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.passed.append(scope)

    async def ask(
        self, kind: str, client: tuple[str, int], *, target: str = "/v1/status", **given: str
    ) -> None:
        async def send(message: Message) -> None:
            self.answered.append(message)

        async def receive() -> Message:
            raise AssertionError

        headers = [(name.encode(), value.encode()) for name, value in given.items()]
        scope = {"type": kind, "path": "/v1/status", "headers": headers, "client": client}
        await self._guard({**scope, "method": "GET", "target": target}, receive, send)


@pytest.fixture
def desk(database: ObservedDatabase, journal: Journal) -> Desk:
    return Desk(database, journal)


async def test_a_process_of_the_owner_passes_on_the_socket_by_its_pid(
    desk: Desk, tmp_path: Path
) -> None:
    guarded = GuardedApp(desk, tmp_path, "unix")

    await guarded.ask("http", ("unix", os.getpid()))

    assert [scope["identity"] for scope in guarded.passed] == [PERSON]


@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_a_port_that_equals_a_pid_of_the_owner_is_no_proof(
    desk: Desk, tmp_path: Path, kind: str
) -> None:
    guarded = GuardedApp(desk, tmp_path, "tcp")

    await guarded.ask(kind, ("127.0.0.1", os.getpid()), host=NAMES[0])

    refusal = guarded.answered[0]
    assert guarded.passed == []
    assert (refusal.get("status"), refusal.get("code")) in {(401, None), (None, 1008)}


async def test_a_websocket_needs_a_token_on_the_socket_too(desk: Desk, tmp_path: Path) -> None:
    guarded = GuardedApp(desk, tmp_path, "unix")

    await guarded.ask("websocket", ("unix", os.getpid()))

    assert guarded.passed == []
    assert guarded.answered[0]["code"] == 1008


@pytest.fixture
async def token(desk: Desk) -> str:
    """Return a token that is valid: what is refused is refused for another reason."""
    secret, at = tokens.new_secret(), desk.journal.clock.now()
    await desk.database.write(lambda db: tokens.keep_owner(db, secret, at=at))
    return f"Bearer {secret}"


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_request_with_a_token_to_one_of_its_names_passes(
    desk: Desk, tmp_path: Path, token: str, kind: str, name: str
) -> None:
    guarded = GuardedApp(desk, tmp_path, "tcp")

    for target in ("/v1/status", f"http://{name}", f"http://{name}/v1/status"):
        await guarded.ask(
            kind,
            ("127.0.0.1", 1),
            target=target,
            host=name,
            origin=f"http://{name}",
            authorization=token,
        )

    assert len(guarded.passed) == 3
    assert guarded.answered == []


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"host": "evil.test:7777"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"host": "127.0.0.1:7777.evil.test"}, 421),
        ({"host": ""}, 421),
        ({"origin": "http://evil.test"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"origin": "https://127.0.0.1:7777"}, 403),
        ({"origin": "http://127.0.0.1:7777.evil.test"}, 403),
        ({"target": "http://evil.test/v1/status"}, 421),
        ({"target": "http://127.0.0.1:7777.evil.test/v1/status"}, 421),
        ({"target": "evil.test:443"}, 421),
        ({"target": "*"}, 421),
    ],
)
async def test_a_request_for_another_server_or_from_another_site_is_refused(
    desk: Desk, tmp_path: Path, token: str, given: dict[str, str], status: int
) -> None:
    guarded = GuardedApp(desk, tmp_path, "tcp")

    asked = {"host": NAMES[0], "authorization": token, **given}
    await guarded.ask("websocket", ("127.0.0.1", 1), **asked)
    await guarded.ask("http", ("127.0.0.1", 1), **asked)

    assert guarded.passed == []
    assert guarded.answered[0]["code"] == 1008
    assert guarded.answered[1]["status"] == status


async def test_a_page_of_another_site_does_not_pass_on_the_socket_either(
    desk: Desk, tmp_path: Path
) -> None:
    guarded = GuardedApp(desk, tmp_path, "unix")

    await guarded.ask("http", ("unix", os.getpid()), origin="http://evil.test")

    assert guarded.passed == []
    assert guarded.answered[0]["status"] == 403
