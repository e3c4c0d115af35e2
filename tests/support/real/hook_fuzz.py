"""Send invalid hook calls to a daemon, and check that it stays healthy."""

from __future__ import annotations

import json
import random
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil

from rookery.api.hook_line import LARGEST
from rookery.hook_protocol import is_whole
from rookery.programs.hook import TAKEN, WAIT
from tests.support.paths import RECORDINGS
from tests.support.real.forged import FORGED
from tests.support.real.outsiders import outsider
from tests.support.real.rookery import SOON, Rookery, eventually

#: Stands for what no Python value can spell; replaced in the text.
DEEP = "nested as deep as you like"


#: What agents call the event that has something decided.
DECIDING = ("PermissionRequest", "PreToolUse", "BeforeTool")


#: Values that nobody expects where they are put.
ODD: tuple[object, ...] = (
    *(None, True, -1, 10**400, 1.5, float("nan"), float("inf"), [], {}, [[]], {"": {}}),
    *("", "half \ud83d", "\0", "\x1b]0;x\7", "\n", ["a", 1, None], "../" * 500, "/etc/passwd"),
    *("PermissionRequest", "PreToolUse", "SessionEnd", "Stop", "clear", "Bash"),
)


def recordings() -> list[tuple[str, dict[str, Any]]]:
    """Return what real agents told, and which agent that was."""
    return [
        (file.parents[1].name.partition("-")[0], json.loads(file.read_text()))
        for file in sorted(RECORDINGS.glob("*/hooks/*.json"))
    ]


@dataclass(slots=True)
class Fuzzer:
    """Makes calls that nobody should make, always the same ones of the same seed."""

    seed: int
    victims: Sequence[tuple[str, str]]  #: whom it would like to move: agent and native id
    known: list[tuple[str, dict[str, Any]]] = field(default_factory=recordings)
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)  # noqa: S311 - to be repeated

    def calls(self, number: int) -> Iterator[bytes]:
        """Make so many, some of them as large as they may be."""
        every = max(number // 5, 700)
        for each in range(1, number + 1):
            yield self._call() if each % every else self._large()

    def _call(self) -> bytes:
        if self.chance.random() < 0.1:
            return self.chance.randbytes(self.chance.randrange(2_000))
        agent, payload = self._payload()
        call = self._first_line(agent, body := self._text(payload)) + body
        if self.chance.random() < 0.05:
            call = self._with_odd_bytes(call)
        return call

    def _payload(self) -> tuple[str, object]:
        agent, recorded = self.chance.choice(self.known)
        payload = deepcopy(recorded)
        payload["session_id"] = f"fuzz-{self.chance.randrange(40)}"
        for _ in range(self.chance.randrange(4)):
            self._spoil(payload)
        if self.chance.random() < 0.1:
            payload |= {"hook_event_name": self.chance.choice(DECIDING), "tool_name": "Bash"}
            payload["tool_input"] = {"command": self._odd(), str(self._odd()): self._odd()}
        if self.chance.random() < 0.3:
            agent, payload["session_id"] = self.chance.choice(self.victims)
        if self.chance.random() < 0.05:
            agent = self.chance.choice(["", "nobody", "shell", "DEMO", "../demo", "é", "-"])
        odd = self.chance.random() < 0.01
        return agent, self._odd() if odd else payload

    def _spoil(self, payload: dict[str, Any]) -> None:
        """Take a field away, give it another value or another name; here or further in."""
        while payload:
            name = self.chance.choice(list(payload))
            if not isinstance(payload[name], dict) or self.chance.random() < 0.3:
                break
            payload = payload[name]
        else:
            return
        match self.chance.randrange(4):
            case 0:
                del payload[name]
            case 1:
                payload[str(self._odd())] = payload.pop(name)
            case _:
                payload[name] = self._odd()

    def _odd(self) -> object:
        kind = self.chance.random()
        if kind < 0.05:
            return "x" * self.chance.randrange(100_000)
        return DEEP if kind < 0.2 else deepcopy(self.chance.choice(ODD))

    def _text(self, payload: object) -> bytes:
        text = json.dumps(payload, ensure_ascii=self.chance.random() < 0.5)
        if f'"{DEEP}"' in text:
            depth = self.chance.choice([50, 101, 260, 900, 5_000])
            begin, end = self.chance.choice([('{"a":', "}"), ("[", "]")])
            closed = self.chance.choice([depth, depth, depth, 0, depth + 1])
            text = text.replace(f'"{DEEP}"', f"{begin * depth}1{end * closed}")
        if self.chance.random() < 0.05 and text.startswith("{"):
            text = text[:-1] + ', "session_id": "twice", "cwd": 5, "cwd": "/"}'
        return text.encode(errors=self.chance.choice(["surrogatepass", "replace"]))

    def _first_line(self, agent: str, body: bytes) -> bytes:
        size: object = len(body)
        if self.chance.random() < 0.05:
            size = self.chance.choice([-1, 0, len(body) - 1, len(body) + 1, 10**30, "x", ""])
        badge = self.chance.choice(["-"] * 50 + ["made-up", "é" * 10, "x" * 20_000])
        pane, server = self.chance.choice([("-", "-"), ("%0", "/tmp/x"), ("%", "\x7f")])  # noqa: S108
        words = [f"{self.chance.getrandbits(64):x}", agent, size, badge, pane, 1, server]
        if self.chance.random() < 0.03:
            del words[self.chance.randrange(len(words))]
        end = b"" if self.chance.random() < 0.02 else b"\n"
        return " ".join(map(str, words)).encode() + end

    def _with_odd_bytes(self, call: bytes) -> bytes:
        place = self.chance.randrange(len(call))
        rest = call[place + self.chance.randrange(10) :]
        return call[:place] + self.chance.randbytes(self.chance.randrange(10)) + rest

    def _large(self) -> bytes:
        """Make a call of the largest size, or of one byte more, of words or of brackets."""
        size = LARGEST + self.chance.randrange(2)
        head = b'{"session_id": "large", "cwd": "/", "hook_event_name": "Stop", "x": '
        inside = self.chance.choice([b'"%s"', b"[%s[]]"]) % (b"[]," * (size // 3 - 100))
        body = (head + inside + b"}").ljust(size)
        return self._first_line("demo", body) + body


def knock(door: Path, call: bytes) -> str:
    """Say this and leave; say how it was taken: answered, asked to wait, or hung up on."""
    answer = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SOON)
        connection.connect(str(door))
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(call)
            first, newline, _ = call.partition(b"\n")
            if not is_whole(
                first + newline, len(call)
            ):  # a hook program that waits keeps its side open
                connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while not answer.startswith(WAIT) and (part := connection.recv(65536)):
                answer += part
    if answer.startswith((TAKEN, WAIT)):
        return answer[:5].decode().strip()
    return f"said {answer[:100]!r}" if answer else "hung up"


def fuzz(
    door: Path, seed: int, number: int, victims: Sequence[tuple[str, str]]
) -> Counter[str]:
    """Make so many calls; count how they were taken."""
    return Counter(knock(door, call) for call in Fuzzer(seed, victims).calls(number))


#: Bytes by which the daemon's memory may grow for good.
CALM_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class Outcome:
    calls: Counter[str]
    parked: int
    grown: int  #: bytes of the daemon's memory


def withstand(rookery: Rookery, *, seed: int, number: int) -> Outcome:
    """Have so many odd calls come in, by several at once; see that nobody was moved."""
    rookery.configure('[stops]\npolicy = "ask"\n')
    rookery.up()
    rookery.json("mode", "remote")
    rookery.home.rules.write_text('[[ask]]\ntool = "Bash"\n[[allow]]\ntool = "Write"\n')
    badged = [rookery.start(name) for name in ("anna", "bert")]
    with outsider(rookery) as headless:
        headless.tell({"session_id": "n-headless", "cwd": "/x/headless", **FORGED[0]})
        before = everything(rookery)
        victims = [("demo", each["native_id"]) for each in badged]
        daemon = psutil.Process(rookery.pid)
        memory, door = daemon.memory_info().rss, rookery.home.hook_door
        victims.append(("claude", "n-headless"))
        with ProcessPoolExecutor(4, get_context("spawn")) as callers:
            fuzzing = [
                callers.submit(fuzz, door, seed + each, number // 4, victims)
                for each in range(4)
            ]
        calls = sum((each.result() for each in fuzzing), Counter[str]())
        assert everything(rookery) == before
    check_health(rookery)
    with rookery.database() as db:
        (parked,) = db.execute("select count(*) from hooks where error > ''").fetchone()
    # The memory of the largest call goes back to the system a moment after it was taken in.
    with suppress(AssertionError):
        eventually(lambda: daemon.memory_info().rss - memory < CALM_BYTES)
    return Outcome(calls, parked, daemon.memory_info().rss - memory)


def everything(rookery: Rookery) -> list[object]:
    """Return all that is known of the sessions that were there before."""
    names = ("anna", "bert", "headless")
    found = [rookery.session(name) for name in names]
    with rookery.database() as db:
        query = "select * from entries where session in (?, ?, ?) order by seq"
        entries = db.execute(query, [each["id"] for each in found]).fetchall()
    return [*found, *entries]


def check_health(rookery: Rookery) -> None:
    """Everything can still be asked for, and nothing went wrong that nobody expected."""
    for word in ("permissions", "audit", "status", "stats"):
        rookery.client.get(word)
    rookery.client.get("permissions", all=True)
    for each in rookery.client.get("sessions", all=True)["sessions"]:
        rookery.client.get("sessions", each["id"], "turns")
    assert rookery.ask("anna", "say: unmoved") == "unmoved"
    logs = "".join(file.read_text() for file in rookery.home.log.parent.iterdir())
    _, trouble, more = logs.partition("Traceback")
    assert not trouble, more[:5_000]
