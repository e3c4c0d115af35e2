"""The terminal interface on a daemon that a test scripts, and its screen as plain text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from queue import Queue
from socket import AF_UNIX, socket
from threading import Event
from time import monotonic
from typing import Any

from textual.pilot import Pilot

from rookery.client import ConnectionLost
from rookery.client.transport import OpenStream
from rookery.model.errors import Answered, NotRunning
from rookery.tui.app import RookeryApp
from rookery.tui.board_screen import TuiSetup
from rookery.tui.main_screen import MainScreen
from tests.support.cli import FakeClient, made

#: Seconds for a thread of the interface to report, on a busy machine.
SOON_S = 20.0

JsonDict = dict[str, Any]


class FakeStream(OpenStream):
    """A stream that a test writes to; closing it ends the thread that reads it."""

    def __init__(self) -> None:
        super().__init__(socket(AF_UNIX), b"")
        self.connection.close()
        self.queue: Queue[str | None] = Queue()

    def texts(self) -> Iterator[str]:
        while (text := self.queue.get()) is not None:
            yield text
        raise ConnectionLost

    def close(self) -> None:
        self.queue.put(None)


class FakeDaemon(FakeClient):
    """A daemon in memory: sessions, requests, and what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions: dict[str, JsonDict] = {}
        self.requests: dict[str, JsonDict] = {}
        self.posted: list[tuple[tuple[str, ...], JsonDict]] = []
        self.fetched: list[tuple[tuple[str, ...], JsonDict]] = []
        self.answers: dict[tuple[str, ...], Any] = {}  #: of paths; an exception is raised
        self.streams: list[tuple[tuple[str, ...], FakeStream]] = []
        self.failures: dict[str, str] = {}
        self.pending: dict[str, JsonDict] = {}
        self.notes: dict[str, str] = {}  #: what a list also says
        self.opened_with: list[JsonDict] = []  #: the queries of the streams
        self.is_followed = Event()  #: set once the events are followed
        self.is_down = False

    def add(self, name: str, **known: object) -> JsonDict:
        """Add a session, or replace it; its age does not change within a minute."""
        since = (datetime.now(UTC) - timedelta(minutes=5, seconds=20)).isoformat()
        if known.get("ended_at"):
            known = {"activity": None, **known}
        order = f"2026-11-01T00:00:{len(self.sessions):02}+00:00"
        self.sessions[name] = made(name, **{"since": since, "created_at": order, **known})
        return self.sessions[name]

    @property
    def asking(self) -> set[str]:
        """Return the sessions with an open request."""
        open_ones = (each for each in self.requests.values() if each["outcome"] == "open")
        return {each["session"] for each in open_ones}

    def change(self, name: str, **known: object) -> None:
        """Change some fields of a session."""
        self.sessions[name] = {**self.sessions[name], **known}

    def ask(self, name: str, request: str, **known: object) -> JsonDict:
        """Let a session ask for something."""
        asked: JsonDict = {
            "id": request,
            "session": name,
            "kind": "permission",
            "tool": "Bash",
            "input": {"command": "rm -rf build"},
            "message": "May it use Bash? rm -rf build",
            "outcome": "open",
            "asked_at": f"2026-11-01T00:01:{len(self.requests):02}+00:00",
            "source": "hook",
            **known,
        }
        self.requests[request] = asked
        self.change(
            name,
            activity=asked["kind"],
            reason=asked["message"],
            asked_tool=asked["tool"],
            asked_argument=asked["input"].get("command", ""),
        )
        return asked

    def tell(self, kind: str, session: str, seq: int = 10) -> None:
        """Send an event to the followers of events."""
        data = json.dumps({"seq": seq, "kind": kind, "session": session})
        for path, stream in self.streams:
            if path == ("events",):
                stream.queue.put(f"id: {seq}\nevent: {kind}\ndata: {data}\n")

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        self.fetched.append((path, {**query}))
        return self._answer(path, query)

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        self.posted.append((path, {**body}))
        return self._answer(path, body)

    def _answer(self, path: tuple[str, ...], given: JsonDict) -> Any:  # noqa: ANN401 - JSON
        if self.is_down:
            raise NotRunning
        answer = self.answers[path] if path in self.answers else self._usual(path, given)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _usual(self, path: tuple[str, ...], given: JsonDict) -> Any:  # noqa: ANN401, C901, PLR0911 - a table
        match path:
            case ("sessions",):
                return self._listed(given)
            case ("permissions",):
                return {"requests": [*self.requests.values()], "on_timeout": "terminal"}
            case ("permissions", request, "answer"):
                return self._decide(request, given)
            case ("muted",):
                return {"sessions": []}
            case ("sessions", name, "data") if name in self.sessions:
                return {"session": self.sessions[name], "turns": [], "transcript": []}
            case ("sessions", name, "resume" | "interrupt" | "end" | "mute" | "unmute"):
                return self.sessions[name]
            case ("sessions", _, "messages"):
                return {"id": 1, "step": "pending"}
            case ("messages", "1"):
                return {"message": {"id": 1, "step": "submitted"}}
            case _:
                return Answered("not-found", f"There is nothing at {path}")

    def _listed(self, given: JsonDict) -> JsonDict:
        """List sessions as the daemon does: hidden ones only on request."""
        ids = {*_texts(given.get("ids"))}
        listed = [
            each
            for name, each in self.sessions.items()
            if (name in ids if ids else given.get("all") or not each.get("hidden"))
        ]
        more = {"failures": self.failures, "pending": self.pending, **self.notes}
        return {"sessions": listed, **more}

    def _decide(self, request: str, given: JsonDict) -> JsonDict:
        asked = self.requests.pop(request)
        name = str(asked["session"])
        self.change(name, activity="working", reason="")
        outcome = {"allow": "allowed", "deny": "denied"}.get(str(given["decision"]), "answered")
        return {**asked, "outcome": outcome, "delivery": "taken"}

    @contextmanager
    def opened(self, *path: str, **query: object) -> Iterator[OpenStream]:
        if self.is_down:
            raise NotRunning
        stream = FakeStream()
        self.opened_with.append(query)
        self.streams.append((path, stream))
        if path == ("events",):
            self.is_followed.set()
        try:
            yield stream
        finally:
            self.streams.remove((path, stream))


def _texts(values: object) -> tuple[str, ...]:
    return tuple(map(str, values)) if isinstance(values, tuple) else ()


class ShownApp:
    """The running interface, with what a test looks at."""

    def __init__(self, app: RookeryApp, pilot: Pilot[None], daemon: FakeDaemon) -> None:
        self.app, self.pilot, self.daemon = app, pilot, daemon

    @property
    def main(self) -> MainScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, MainScreen)
        return screen

    @property
    def text(self) -> str:
        return screen_text(self.app)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, question: Callable[[], object]) -> None:
        """Wait until the answer is yes: threads report when they are done."""
        deadline = monotonic() + SOON_S
        while not question():
            assert monotonic() < deadline, f"not in time:\n{self.text}"
            await self.pilot.pause(0.01)

    async def shows(self, text: str) -> None:
        await self.until(lambda: text in self.text)


@asynccontextmanager
async def shown(
    daemon: FakeDaemon, *, size: tuple[int, int] = (80, 24), selected: str = ""
) -> AsyncIterator[ShownApp]:
    """Run the interface in a terminal of a size until its list is there."""
    program = ("rookery-of-the-test",)
    agents = {"claude": ("tmux", "sdk", "acp"), "demo": ("tmux", "acp")}
    setup = TuiSetup(daemon, agents, program, "/repo", {"LANG": "C"})
    app = RookeryApp(setup)
    async with app.run_test(size=size) as pilot:
        running = ShownApp(app, pilot, daemon)
        if not daemon.is_down:
            await running.until(daemon.is_followed.is_set)
            listed = [each for each in daemon.sessions.values() if not each.get("hidden")]
            await running.until(lambda: len(running.main.board.sessions) == len(listed))
            await running.until(lambda: len(running.main.board.requests) == len(daemon.asking))
        if selected:
            running.main.table.select(selected)
        await pilot.pause()
        yield running


def screen_text(app: RookeryApp) -> str:
    """Return the screen as plain text, without the spaces at the ends of lines."""
    strips = app.screen._compositor.render_strips()  # noqa: SLF001 - Textual has no other way
    lines = ("".join(segment.text for segment in strip).rstrip() for strip in strips)
    return "\n".join(lines)
