"""Commands that are run in this process, with a client that a test has scripted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rookery import cli
from rookery.client import Client
from rookery.client.decoding import read
from rookery.client.sessions import ListedSession


def typed(monkeypatch: pytest.MonkeyPatch, client: Client, *words: str) -> object:
    """Run a command as the program does; return its exit code."""
    monkeypatch.setattr("sys.argv", ["rookery", *words])
    with pytest.raises(SystemExit) as left:
        cli.main(client)
    return left.value.code


class FakeClient(Client):
    """A client without a daemon; a test overrides what it asks."""

    def __init__(self, badge: str = "") -> None:
        super().__init__(Path("/nowhere"), badge)

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        raise NotImplementedError(path)

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        raise NotImplementedError(path)


class Scripted(FakeClient):
    """A client whose daemon answers by what is asked for, and remembers what that was."""

    def __init__(self, **answers: object) -> None:
        super().__init__()
        self.answers = answers
        self.asked: list[tuple[tuple[str, ...], dict[str, object]]] = []

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        self.asked.append((path, query))
        answer = self.answers[path[0]]
        return answer.pop(0) if isinstance(answer, list) else answer

    post = get


def made(name: str, **known: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return a session as the daemon sends it."""
    usual = {
        "agent": "demo",
        "runtime": "tmux",
        "status": "running",
        "activity": "idle",
        "since": datetime.now(UTC).isoformat(),
        "created_at": "2026-11-01T00:00:00+00:00",
        "project_path": "/repo",
        "reason": "",
        "title": "Build it",
    }
    return {"id": name, "name": name, **usual, **known}


def session(name: str, **known: object) -> ListedSession:
    return read(ListedSession, made(name, **known))
