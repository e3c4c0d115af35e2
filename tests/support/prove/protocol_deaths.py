"""One story of a driven session, told through a real protocol whose processes are killed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rookery.model.errors import Answered
from tests.support.prove import mortal_pipe
from tests.support.prove.deaths import Mortal
from tests.support.real.rookery import eventually

#: What each prompt makes the agent say; no other message to the agent contains it.
FIRST, SECOND = "marker-one", "marker-two"

#: Seconds for the whole story, on a busy machine.
STORY_SECONDS = 60.0


@dataclass(frozen=True)
class ProtocolCase:
    """An agent, and how it is started so that each message can be the last."""

    agent: str
    runtime: str
    program: tuple[str, ...]
    setting: str  #: the setting that names its program
    ask: str  #: the steps that ask for a permission
    environment: Mapping[str, str] = field(default_factory=dict)


class ProtocolHome(Mortal):
    """A home in which the daemon, or also the driver host, dies at one message."""

    def __init__(self, folder: Path, case: ProtocolCase, die_at: int, *victims: str) -> None:
        super().__init__(folder, -1)
        self.case = case
        self.pipe = folder / "pipe"
        self.pipe.mkdir()
        plan = {"die_at": die_at, "victims": victims}
        (self.pipe / "plan").write_text(json.dumps(plan))
        command = [sys.executable, "-I", mortal_pipe.__file__, str(self.pipe), *case.program]
        lines = [f"[agents.{case.agent}]", f"{case.setting} = {json.dumps(command)}"]
        lines.append(f"[agents.{case.agent}.environment]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in case.environment.items()]
        self.configure("\n".join(lines) + "\n")

    def up(self) -> None:
        super().up()
        (self.pipe / "daemon").write_text(str(self.pid))

    @property
    def messages(self) -> list[str]:
        record = self.pipe / "messages"
        return record.read_text().splitlines() if record.exists() else []

    def given(self, marker: str) -> int:
        """Return how often a prompt was written to the program."""
        return sum(each.startswith(">") and marker in each for each in self.messages)


@contextmanager
def protocol_home(
    folder: Path, case: ProtocolCase, die_at: int, *victims: str
) -> Iterator[ProtocolHome]:
    home = ProtocolHome(folder, case, die_at, *victims)
    try:
        home.up()
        yield home
    finally:
        home.clear_away()
        home.reap()


def tell(home: ProtocolHome) -> None:
    """Start, allow, prompt again and end, until the session has ended."""
    case = home.case
    start = {
        "agent": case.agent,
        "runtime": case.runtime,
        "name": "it",
        "project": str(home.project),
        "prompt": f"{case.ask};; say: {FIRST}",
    }
    _give(home, "/v1/sessions", start, "start")
    eventually(lambda: _go_on(home), within=STORY_SECONDS)


def _go_on(home: ProtocolHome) -> bool:
    """Do what the story wants next; return whether the session has ended."""
    session = home.insist(lambda: home.session("it"))
    if session["status"] in {"completed", "failed", "killed"}:
        return True
    for request in home.insist(lambda: home.client.get("permissions"))["requests"]:
        path = f"/v1/permissions/{request['id']}/answer"
        _give(home, path, {"decision": "allow"}, f"answer {request['id']}")
    ended = _count(home, "select count(*) from entries where kind = 'turn-ended'")
    if ended == 1:
        second = {"words": f"say: {SECOND}"}
        _give(home, "/v1/sessions/it/messages", second, "second")
    elif ended == 2:
        _give(home, "/v1/sessions/it/end", {}, "end")
    return False


def _give(home: ProtocolHome, path: str, body: dict[str, Any], key: str) -> None:
    try:
        home.insist(lambda: home.post_or_raise(path, body, key=key))
    except Answered as refused:  # the session has ended meanwhile, or it was answered before
        if not any(word in str(refused) for word in ("ended", "answered")):
            raise


def _count(home: ProtocolHome, question: str) -> int:
    with home.database() as db:
        (number,) = db.execute(question).fetchone()
    return int(number)


def check(home: ProtocolHome, *, may_fail: bool) -> str:
    """Return how the story ended; fail if something was lost or done twice."""
    session = home.insist(lambda: home.session("it"))
    assert max(home.given(FIRST), home.given(SECOND)) <= 1, home.messages
    with home.database() as db:
        steps = [row[0] for row in db.execute("select step from messages order by id")]
        kinds = [row[0] for row in db.execute("select kind from entries order by seq")]
        (days,) = db.execute("select sum(launched) from session_days").fetchone()
    assert kinds.count("session-ended") == 1, kinds
    # The end of a session ends its turn, too.
    begun, ended = kinds.count("turn-started"), kinds.count("turn-ended")
    assert ended <= begun <= ended + (session["status"] == "failed"), kinds
    assert days == 1, "it is counted once"
    for step, marker in zip(steps, (FIRST, SECOND), strict=False):
        # Without a receipt, a prompt that the driver host had may have arrived.
        expected = {"acknowledged": {1}, "failed": {0}, "unsure": {0, 1}}[step]
        assert home.given(marker) in expected, (step, marker, home.messages)
    if session["status"] == "killed":
        assert steps == ["acknowledged", "acknowledged"], steps
        assert kinds.count("tool-used") == 1, kinds
        return "went on"
    outcome = (session["status"], session["reason"])
    assert may_fail, outcome
    assert outcome == ("failed", "its driver host ended"), outcome
    return f"failed: {', '.join(steps)}"


def has_answered(home: ProtocolHome) -> bool:
    """Return whether the conversation has a turn, so that it can be resumed."""
    return _count(home, "select count(*) from entries where kind = 'turn-ended'") > 0


def resume(home: ProtocolHome) -> str:
    """Continue a conversation that was lost; return its next answer."""
    done = home.run("resume", "it", "--wait", "say: again")
    return done.stdout if done.returncode == 0 else done.stderr
