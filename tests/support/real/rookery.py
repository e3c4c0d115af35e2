"""A real daemon on a home of its own, with its real tmux server; used as a person does."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import Any

from rookery.client import Client
from rookery.home import Home, find_home
from rookery.model.errors import Answered, NotRunning, RookeryError
from rookery.processes import Process, descendants, send_signal
from rookery.processes.peers import server_pid
from rookery.runtimes.tmux.server import ServerSite, end_old_lines
from tests.support.paths import ROOT
from tests.support.real.warm import WARM, Forked, can_fork

#: Seconds for anything that should happen at once, on a busy machine.
SOON = 40.0

#: Seconds between two looks at something that is to happen.
MIN_PAUSE, MAX_PAUSE = 0.02, 0.1


def eventually(question: Callable[[], object], *, within: float = SOON) -> None:
    """Look until the answer is yes. The only place where tests pause.

    Many looks start a process: the longer it takes, the longer are the pauses between them.
    """
    began = monotonic()
    while not question():
        waited = monotonic() - began
        assert waited < within, f"not within {within:g} s: {question.__doc__ or question}"
        select.select([], [], [], min(max(waited / 10, MIN_PAUSE), MAX_PAUSE))


class Rookery:
    """One home; its daemon comes and goes."""

    #: Whether commands are forked from a process that has loaded all modules: see ``warm``.
    is_warm = False

    def __init__(self, folder: Path, *, environment: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "TMUX"},
            "ROOKERY_HOME": str(folder / "home"),
            "HOME": str(folder),
            "SHELL": "/bin/sh",
            # Whatever tmux servers this user has, no test finds them.
            "TMUX_TMPDIR": str(folder / "tmux"),
            # A test decides itself when there is a daemon.
            "ROOKERY_AUTOSTART": "0",
            **(environment or {}),
        }
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        self._daemon: subprocess.Popen[str] | Forked | None = None

    @property
    def home(self) -> Home:
        return find_home(self.environment)

    @property
    def client(self) -> Client:
        return Client(self.home.door)

    def client_of(self, badge: str) -> Client:
        """Speak as a session does."""
        return Client(self.home.door, badge)

    def configure(self, toml: str) -> None:
        self.home.config.mkdir(parents=True, exist_ok=True)
        self.home.settings.write_text(toml)

    @property
    def program(self) -> list[str]:
        """What is run as the daemon."""
        return [sys.executable, "-m", "rookery", "up"]

    def reap(self) -> None:
        """Wait for a daemon that died by itself, and forget it."""
        if self._daemon:
            self._daemon.kill()
            self._daemon.communicate()
            self._daemon = None

    def up(self) -> None:
        """Start the daemon, and wait until it says what to do next."""
        self._daemon = self._begin()
        assert self._daemon.stdout
        said = ""
        while "Stop it with Ctrl-C" not in said:
            line = self._daemon.stdout.readline()
            assert line, said
            said += line

    def _begin(self) -> subprocess.Popen[str] | Forked:
        command = [sys.executable, "-m", "rookery"]
        if self.is_warm and self.program[:3] == command:
            words = self.program[3:]
            if can_fork(words, self.environment):
                return WARM.start(words, self.environment, ROOT)
        return subprocess.Popen(
            self.program,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
        )

    @property
    def pid(self) -> int:
        assert self._daemon
        return self._daemon.pid

    def kill(self) -> None:
        """Let the daemon die as in a power cut."""
        assert self._daemon
        self._daemon.kill()
        self._daemon.communicate()
        self._daemon = None

    def stop(self) -> None:
        if self._daemon:
            self._daemon.send_signal(signal.SIGTERM)
            self._daemon.communicate(timeout=SOON)
            self._daemon = None

    def run(self, *words: str, words_in: str | None = None) -> subprocess.CompletedProcess[str]:
        """Type a command."""
        if self.is_warm and can_fork(words, self.environment):
            return WARM.run(words, self.environment, self.project, words_in or "")
        return subprocess.run(
            [sys.executable, "-m", "rookery", *words],
            env=self.environment,
            input=words_in or "",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self.project,
        )

    def json(self, *words: str) -> Any:  # noqa: ANN401 - JSON
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def start(self, name: str, *, agent: str = "demo", **more: object) -> dict[str, Any]:
        """Start a session and wait until it is up."""
        project = str(self.project)
        self.client.post("sessions", agent=agent, name=name, project=project, **more)
        found: dict[str, Any] = self.client.get(
            "sessions", name, "wait", until="up", timeout=SOON
        )
        return found

    def post(
        self, path: str, body: object, *, key: str = "", raw: bytes | None = None
    ) -> tuple[int, Any]:
        """Send a request as it is; return the status and the answer."""
        sent = json.dumps(body).encode() if raw is None else raw
        head = f"POST {path} HTTP/1.1\r\nHost: rookery\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n"
        head += f"Idempotency-Key: {key}\r\n\r\n" if key else "\r\n"
        answer = b""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(SOON)
            connection.connect(str(self.home.door))
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(head.encode() + sent)
            with suppress(ConnectionResetError):
                while part := connection.recv(65536):
                    answer += part
        first, _, rest = answer.partition(b"\r\n\r\n")
        return int(first.split()[1]), json.loads(rest)

    def post_or_raise(self, path: str, body: object, *, key: str) -> object:
        """Give a command under a key, which may be given again. Raises what the client does."""
        try:
            status, answer = self.post(path, body, key=key)
        except (OSError, IndexError, ValueError) as error:
            raise NotRunning from error
        if status != HTTPStatus.OK:
            raise Answered(answer["error"]["code"], answer["error"]["message"])
        return answer

    def session(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get("sessions", name)
        return found

    def send(self, name: str, words: str) -> int:
        return int(self.client.post("sessions", name, "messages", words=words)["id"])

    def ask(self, name: str, words: str, *, timeout: float = SOON) -> str:
        message = self.send(name, words)
        turn = self.client.get("messages", str(message), "answer", timeout=timeout)
        return str(turn["answer"])

    def step(self, message: int) -> tuple[str, str]:
        """Say how far a message has come, and what it waits for."""
        with self.database() as db:
            row = db.execute(
                "select step, waits_for from messages where id = ?", (message,)
            ).fetchone()
            return row[0], row[1]

    @contextmanager
    def database(self) -> Iterator[Any]:
        db = sqlite3.connect(f"file:{self.home.database}?mode=ro", uri=True)
        try:
            yield db
        finally:
            db.close()

    def ended(self, name: str, *, within: float = SOON) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(
            "sessions", name, "wait", until="end", timeout=within
        )
        return found

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", str(self.home.tmux), *words],
            capture_output=True,
            text=True,
            timeout=SOON,
            check=False,
            env={**self.environment, "LC_ALL": "C.UTF-8"},
        )
        return done.stdout

    def screen(self, name: str) -> str:
        return self.tmux("capture-pane", "-p", "-t", str(self.session(name)["tmux_pane"]))

    def clear_away(self) -> None:
        """End what this home started, and nothing else."""
        with suppress(RookeryError):
            if self._daemon:
                self.client.post("sessions", "end")
        self.stop()
        # A line that nobody reads any more would keep the server alive.
        end_old_lines(ServerSite("tmux", self.home.tmux, self.home.run, 0))
        self.end_tmux()
        self.end_driver_host()

    def end_tmux(self) -> None:
        """End the tmux server, by force if it does not answer: a busy machine keeps some."""
        pid = server_pid(self.home.tmux)
        server = Process.of(pid) if pid else None
        # A server that is about to leave by itself may let its last client wait.
        with suppress(subprocess.TimeoutExpired):
            self.tmux("kill-server")
        if server:
            send_signal(server, (), signal.SIGKILL)

    def end_driver_host(self) -> None:
        """End the driver host with its agents: without a daemon it would run for ever."""
        pid = server_pid(self.home.driver_socket)
        if pid and (host := Process.of(pid)):
            send_signal(host, descendants(pid), signal.SIGKILL)
