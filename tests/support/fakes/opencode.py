"""An OpenCode that runs our plugin and does what it is told to, and a daemon to tell of it."""

from __future__ import annotations

import json
import queue
import shutil
import socket
import subprocess
import threading
from contextlib import closing, suppress
from importlib import resources
from pathlib import Path
from typing import Any

from rookery.agents.shared.hook_settings import fill_in
from rookery.hook_protocol import read_call, with_checksum
from rookery.programs import hook
from tests.support.paths import RECORDINGS

RECORDED = RECORDINGS / "opencode-1.18.33"
DRIVER = Path(__file__).with_name("opencode.mjs")

#: Seconds for anything that should happen at once, on a busy machine.
SOON = 20.0

#: What lets a caller wait until there is a verdict; and what lets it wait without a word.
ASKED, SILENCE = hook.WAIT + b"\n", b""

#: Stands in a call where a deeply nested value is to be.
NESTED = "<nested>"


def recorded(kind: str, name: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads((RECORDED / kind / f"{name}.json").read_text())


def is_whole(call: bytes) -> bool:
    first, end, payload = call.partition(b"\n")
    return bool(end) and len(payload) == int(first.split(b" ")[3])


class Daemon:
    """Keeps what it is told; to some events it says more than that it took them."""

    def __init__(self, door: Path, **says: bytes) -> None:
        self.says = says
        self.calls: queue.Queue[bytes] = queue.Queue()
        self.left = threading.Event()  #: whom it let wait has hung up
        self.verdicts: queue.Queue[bytes] = queue.Queue()
        self._door = door
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(door))
        self._listening.listen()
        threading.Thread(target=self._listen, daemon=True).start()

    def told(self) -> dict[str, Any]:
        """Return the next payload."""
        return dict(read_call(self.calls.get(timeout=SOON)).payload)

    def events(self, count: int) -> list[str]:
        return [str(self.told()["hook_event_name"]) for _ in range(count)]

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._door.unlink(missing_ok=True)

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=[caller], daemon=True).start()

    def _answer(self, caller: socket.socket) -> None:
        with closing(caller):
            call = b""
            while not is_whole(call):
                if not (part := caller.recv(65536)):
                    return
                call += part
            self.calls.put(call)
            said = self.says.get(json.loads(call.partition(b"\n")[2])["hook_event_name"])
            try:
                caller.sendall(hook.TAKEN if said is None else said)
                if said in {ASKED, SILENCE}:
                    self._let_wait(caller)
            except OSError:
                self.left.set()

    def _let_wait(self, caller: socket.socket) -> None:
        def watch() -> None:
            with suppress(OSError):
                caller.recv(1)
            self.left.set()
            self.verdicts.put(b"")

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        if verdict := self.verdicts.get(timeout=SOON):
            caller.sendall(hook.DECIDED + verdict)
            caller.shutdown(socket.SHUT_RDWR)
        watching.join(SOON)


class Program:
    """An OpenCode that does what it is told to do."""

    def __init__(self, plugin: Path, environment: dict[str, str]) -> None:
        node = shutil.which("node")
        assert node
        self._process = subprocess.Popen(
            [node, str(DRIVER), plugin.as_uri()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._said: queue.Queue[dict[str, Any]] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        self._number = 0
        threading.Thread(target=self._hear, daemon=True).start()

    def event(self, name: str, **changes: object) -> None:
        """Have something happen that was recorded, and see that the plugin has heard it."""
        event = recorded("events", name)
        event["properties"].update(changes)
        self.has_done(self.call("event", {"event": event}))

    def prompt(self, *, synthetic: bool = False, message: str = "", **changes: object) -> None:
        given = recorded("events", "chat.message")
        given["input"].update(changes)
        if message:
            given["output"]["message"]["id"] = message
        given["output"]["parts"][0]["synthetic"] = synthetic
        self.has_done(self.call("chat.message", given["input"], given["output"]))

    def tool(self, **changes: object) -> int:
        given = recorded("events", "tool.execute.before")
        given["input"].update(changes)
        return self.call("tool.execute.before", given["input"], given["output"])

    def nested_tool(self, depth: int, hook_name: str = "tool.execute.before") -> int:
        """Call a tool whose input holds lists in lists, deeper than this Python can write."""
        given = recorded("events", "tool.execute.before")
        args = {**given["output"]["args"], "nested": NESTED}
        tool = {**given["input"], "args": args}
        return self.call(hook_name, tool, {"args": args}, nested="[" * depth + "]" * depth)

    def call(self, hook_name: str, *given: object, nested: str = "null") -> int:
        self._number += 1
        line = {"number": self._number, "hook": hook_name, "given": given}
        assert self._process.stdin
        self._process.stdin.write(json.dumps(line).replace(f'"{NESTED}"', nested) + "\n")
        self._process.stdin.flush()
        return self._number

    def has_done(self, number: int) -> str:
        """Wait until a call is over; return why it was refused."""
        return str(self._find("number", number).get("refused", ""))

    def posted(self, url: str) -> object:
        """Wait until something is asked of OpenCode itself."""
        return self._find("posted", url)["body"]

    def loaded(self) -> dict[str, Any]:
        return self._find("loaded", None)

    def end(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.kill()
        self._process.wait(SOON)
        self._process.stdout.close()

    def _find(self, name: str, value: object) -> dict[str, Any]:
        while True:
            for said in self._kept:
                if name in said and value in (None, said[name]):
                    self._kept.remove(said)
                    return said
            self._kept.append(self._said.get(timeout=SOON))

    def _hear(self) -> None:
        assert self._process.stdout
        with suppress(ValueError):
            for line in self._process.stdout:
                self._said.put(json.loads(line))


class Setting:
    def __init__(self, folder: Path) -> None:
        self.door, self.spool = folder / "door", folder / "spool"
        self.spool.mkdir()
        self.offline_answers = folder / hook.ABSENCE
        self.offline_answers.write_bytes(with_checksum(b"{}"))  # there are no rules
        self.plugin = folder / "rookery.mjs"
        self.plugin.write_text(self.text())

    def text(self) -> str:
        template = (resources.files("rookery.agents.opencode") / "plugin.js").read_text()
        values = {
            "rookery-hook": ["hook", "opencode"],
            "rookery-door": str(self.door),
            "rookery-spool": str(self.spool),
        }
        return fill_in(template, values)

    def spooled(self) -> list[str]:
        files = sorted(self.spool.iterdir())
        assert {file.suffix for file in files} <= {""}
        return [read_call(file.read_bytes()).payload["hook_event_name"] for file in files]
