"""Driven sessions through a whole daemon; only the agent itself is played."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic_core import to_json

from rookery.agents import catalog
from rookery.agents.demo import DEMO
from rookery.clock import WallClock
from rookery.config import LimitSettings, Settings
from rookery.daemon import running
from rookery.drivers.commands import List
from rookery.home import Home
from rookery.model.errors import BadInput, CommandRefused, LimitReached, StillWorking
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.model.permissions import Request
from rookery.model.scopes import Identity
from rookery.model.sessions import Session
from rookery.notification_settings import CommandChannelSettings, NotificationSettings
from rookery.operations.catalog import OPERATIONS
from rookery.operations.idempotency import ask
from rookery.ports.agent import CommandLine, DriverLine, LaunchSpec
from rookery.runtimes.driven.host_connection import HostConnection
from rookery.runtimes.driven.host_process import HostSite
from rookery.startup.components import Parts
from rookery.store import blocks, notifications, requests, sessions, turns
from tests.support import scripted_driver
from tests.support.operations import PERSON, session_caller
from tests.support.repositories import make_repository
from tests.support.scripted_driver import NAME, hosting, native_id

pytestmark = [pytest.mark.anyio, pytest.mark.real]

SOON = 20.0

EDITED = "src/app.py"

TELLING = NotificationSettings(command=CommandChannelSettings(run=("/bin/true",)))

BUDGET_REASON = "its budget of 2 USD is used up: it has used 2.00 USD"


def scripted(spec: LaunchSpec) -> DriverLine:
    return DriverLine(NAME, CommandLine((), {}), {"resumes": spec.resumes})


class Daemon:
    """A daemon in this process, which is stopped and started again."""

    def __init__(self, home: Home, project: Path, settings: Settings | None = None) -> None:
        self.home, self.project = home, project
        self.settings = settings or Settings()
        self._life = AsyncExitStack()

    async def up(self) -> None:
        parts = Parts(self.home, self.settings, {"PATH": "/usr/bin:/bin"})
        self.context = await self._life.enter_async_context(running(parts, stop=lambda: None))

    async def down(self) -> None:
        await self._life.aclose()
        self._life = AsyncExitStack()

    async def ask(self, name: str, by: Identity = PERSON, /, **given: Any) -> Any:  # noqa: ANN401 - any operation
        operation = next(each for each in OPERATIONS if each.name == name)
        return await ask(self.context, operation, operation.asks(**given), identity=by)

    async def start(self, prompt: str = "", **given: Any) -> Session:  # noqa: ANN401 - any
        asked = {"agent": "demo", "project": str(self.project), "runtime": "acp", **given}
        started: Session = await self.ask("start", prompt=prompt, **asked)
        return started

    async def now(self, session: SessionId) -> Session:
        return await self.context.database.read(partial(sessions.get, session=session))

    async def until(self, session: SessionId, *wanted: Activity | Status) -> Session:
        with anyio.fail_after(SOON):
            while True:
                bell = self.context.database.bell()
                now = await self.now(session)
                if now.activity in wanted or now.status in wanted:
                    return now
                await bell.wait()

    async def answers(self, session: SessionId, *, number: int) -> list[str]:
        """Wait until so many turns have ended, and return their answers."""
        with anyio.fail_after(SOON):
            while True:
                bell = self.context.database.bell()
                read = partial(turns.of_session, session=session, last=100)
                ended = [
                    each for each in await self.context.database.read(read) if each.ended_at
                ]
                if len(ended) >= number:
                    return [each.answer for each in ended]
                await bell.wait()

    async def asked(self, session: SessionId) -> Request:
        await self.until(session, Activity.PERMISSION)
        (request,) = await self.requests_of(session)
        return request

    async def kinds(self, session: SessionId) -> list[str]:
        """Return the kinds of all entries about a session."""
        entries = await self.context.database.read(
            lambda db: db.execute("select kind from entries where session = ?", (session,))
        )
        return [each["kind"] for each in entries]

    async def told(self, session: SessionId) -> list[tuple[str, str]]:
        """Return the kind and text of each notification about a session."""
        latest = partial(notifications.latest, limit=99)
        found = reversed(await self.context.database.read(latest))
        return [(each.kind, each.text) for each in found if each.session == session]

    async def requests_of(self, session: SessionId) -> list[Request]:
        return await self.context.database.read(partial(requests.open_of, session=session))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    home = Home(tmp_path / "home", tmp_path / "home", tmp_path / "run")
    home.prepare()
    agent = replace(DEMO, driven={"acp": scripted}, without_cost=frozenset())
    assert isinstance(catalog.AGENTS, dict)
    monkeypatch.setitem(catalog.AGENTS, "demo", agent)
    return home


def site_of(home: Home) -> HostSite:
    return HostSite(
        home.driver_socket,
        home.driver_key,
        home.driven_events,
        home.driver_log,
        home.driver_record,
    )


@pytest.fixture
def limits() -> LimitSettings:
    return LimitSettings()


@pytest.fixture
def told() -> NotificationSettings:
    return NotificationSettings()


@pytest.fixture
async def host(home: Home) -> AsyncIterator[HostSite]:
    site = site_of(home)
    async with hosting(site):
        yield site


@pytest.fixture
async def daemon(
    home: Home,
    host: HostSite,
    limits: LimitSettings,
    told: NotificationSettings,
    tmp_path: Path,
) -> AsyncIterator[Daemon]:
    (tmp_path / "project").mkdir()
    settings = Settings(limits=limits, notifications=told)
    daemon = Daemon(home, tmp_path / "project", settings)
    await daemon.up()
    yield daemon
    await daemon.down()


@pytest.mark.spec("G1", "G2")
async def test_a_prompt_is_answered_and_the_session_waits_for_the_next(daemon: Daemon) -> None:
    session = await daemon.start("say: hello")
    await daemon.answers(session.id, number=1)
    await daemon.ask("send", session=session.id, words="say: again")

    assert await daemon.answers(session.id, number=2) == ["hello", "again"]
    now = await daemon.until(session.id, Activity.IDLE)
    assert (now.status, now.reason) == (Status.RUNNING, "")
    assert now.native_id == native_id(session.id)
    assert now.model == "scripted-1"
    assert now.budget == 5_000_000


@pytest.mark.spec("G7")
async def test_its_messages_say_that_they_went_over_the_protocol(daemon: Daemon) -> None:
    session = await daemon.start("say: hello")
    await daemon.ask("send", session=session.id, words="say: again")
    await daemon.answers(session.id, number=2)

    sent = await daemon.context.database.read(
        lambda db: db.execute("select way, step from messages order by id").fetchall()
    )
    assert [tuple(each) for each in sent] == [("acp", "acknowledged")] * 2


@pytest.mark.spec("E6", "G3")
@pytest.mark.parametrize("urgency", ["now", "interrupt"])
async def test_an_urgent_message_interrupts_the_turn_of_a_session_without_a_terminal(
    daemon: Daemon, urgency: str
) -> None:
    session = await daemon.start("wait")
    await daemon.until(session.id, Activity.WORKING)
    await daemon.ask("send", session=session.id, words="say: at once", **{urgency: True})

    assert (await daemon.answers(session.id, number=2))[-1] == "at once"


@pytest.mark.spec("G2", "A5")
async def test_a_session_of_one_turn_is_completed_after_it(daemon: Daemon) -> None:
    session = await daemon.start("say: hello", single_turn=True)

    now = await daemon.until(session.id, Status.COMPLETED, Status.FAILED)
    assert (now.status, now.reason) == (Status.COMPLETED, "its only turn is over")
    assert (await daemon.kinds(session.id)).count("session-ended") == 1


@pytest.mark.spec("A5", "G2", "H5")
@pytest.mark.parametrize("told", [TELLING])
@pytest.mark.parametrize(
    ("prompt", "given", "outcome"),
    [
        ("fail: bad thing", {"single_turn": True}, ("failed", "bad thing")),
        ("fail: usage limit reached", {"single_turn": True}, ("limit", "usage limit reached")),
        ("cut-off: it crashed", {"single_turn": True}, ("failed", "it crashed")),
        ("cut-off: it crashed", {}, ("failed", "it crashed")),
        ("cost: 2\nfail: no", {"budget_usd": 2}, ("limit", BUDGET_REASON)),
        ("cost: 2\nsay: done", {"budget_usd": 2}, ("limit", BUDGET_REASON)),
    ],
)
async def test_a_session_that_fails_with_its_turn_is_told_once(
    daemon: Daemon, prompt: str, given: dict[str, Any], outcome: tuple[str, str]
) -> None:
    session = await daemon.start(prompt, **given)

    await daemon.until(session.id, Status.FAILED)
    assert await daemon.told(session.id) == [outcome]


@pytest.mark.spec("A5", "G2")
@pytest.mark.parametrize("told", [TELLING])
async def test_a_failed_turn_of_a_session_that_goes_on_is_told_and_so_is_its_later_end(
    daemon: Daemon,
) -> None:
    session = await daemon.start("fail: bad thing")
    await daemon.answers(session.id, number=1)
    after_turn = await daemon.told(session.id)
    await daemon.ask("send", session=session.id, words="cut-off: it crashed")
    await daemon.until(session.id, Status.FAILED)

    assert after_turn == [("failed", "bad thing")]
    assert await daemon.told(session.id) == [("failed", "bad thing"), ("failed", "it crashed")]


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("decision", "answer"), [("allow", "ran ls"), ("deny", "denied: not now")]
)
async def test_a_person_decides_what_it_asks(
    daemon: Daemon, decision: str, answer: str
) -> None:
    session = await daemon.start("run: ls")
    request = await daemon.asked(session.id)

    reason = "not now" if decision == "deny" else ""
    await daemon.ask(
        "answer_permission", permission=request.id, decision=decision, reason=reason
    )

    assert await daemon.answers(session.id, number=1) == [answer]
    assert await daemon.requests_of(session.id) == []


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    ("basis", "command", "answer"),
    [
        ("unasked", "ls", "ran ls"),
        ("granted", "ls", "ran ls"),
        ("unasked", "rm x", "denied: never"),
        ("granted", "rm x", "denied: never"),
        ("granted", "make", "ran make"),
    ],
)
async def test_rules_apply_to_what_no_person_is_asked_about(
    daemon: Daemon, basis: str, command: str, answer: str
) -> None:
    daemon.home.rules.write_text(
        '[[deny]]\nname = "no rm"\ninput.command = "rm *"\nreason = "never"\n'
        '[[ask]]\ninput.command = "make"\n'
    )
    daemon.home.rules.chmod(0o600)

    session = await daemon.start(f"{basis}: {command}")

    assert await daemon.answers(session.id, number=1) == [answer]
    kept = await daemon.context.database.read(
        lambda db: db.execute("select decision, rule, by from audit").fetchall()
    )
    denied = [("denied", "no rm", "rule")] if answer.startswith("denied") else []
    allowed = [("allowed", "", "unasked")] if (basis, command) == ("unasked", "ls") else []
    assert [tuple(each) for each in kept] == denied + allowed


@pytest.mark.spec("D1")
async def test_an_ask_rule_asks_about_what_is_usually_unasked(daemon: Daemon) -> None:
    daemon.home.rules.write_text('[[ask]]\ninput.command = "make"\n')
    daemon.home.rules.chmod(0o600)

    session = await daemon.start("unasked: make")
    request = await daemon.asked(session.id)
    await daemon.ask("answer_permission", permission=request.id, decision="allow")

    assert await daemon.answers(session.id, number=1) == ["ran make"]


@pytest.mark.spec("D1")
async def test_a_rule_decides_what_it_asks(daemon: Daemon) -> None:
    daemon.home.rules.write_text(
        '[[deny]]\ntool = "Bash"\ninput.command = "rm *"\nreason = "never"\n'
        '[[allow]]\ntool = "Bash"\ninput.command = "ls"\n'
    )
    daemon.home.rules.chmod(0o600)

    session = await daemon.start("run: rm *\nrun: ls")

    assert await daemon.answers(session.id, number=1) == ["ran ls"]
    shown = await daemon.context.database.read(
        partial(blocks.last, session=session.id, limit=99)
    )
    assert "denied: never" in [each.text for each in shown]


@pytest.mark.spec("L4")
async def test_two_that_change_the_same_file_are_an_overlap_and_a_denied_change_is_not(
    daemon: Daemon, tmp_path: Path
) -> None:
    make_repository(daemon.project / "code", tmp_path / "user")
    there = {"project": str(daemon.project / "code")}
    first, second, third = [await daemon.start(f"edit: {EDITED}", **there) for _ in range(3)]
    for session, decision in ((first, "allow"), (second, "deny"), (third, "allow")):
        request = await daemon.asked(session.id)
        await daemon.ask("answer_permission", permission=request.id, decision=decision)
        await daemon.answers(session.id, number=1)

    found = await daemon.context.database.read(
        lambda db: db.execute("select session, body from entries where kind = 'overlap-found'")
    )
    ((session, body),) = [tuple(each) for each in found]
    assert session == third.id
    assert (first.id in body, second.id in body, EDITED in body) == (True, False, True)


@pytest.mark.spec("G3")
async def test_an_interrupt_stops_the_turn(daemon: Daemon) -> None:
    session = await daemon.start("say: first\nwait")
    await daemon.until(session.id, Activity.WORKING)

    await daemon.ask("interrupt", session=session.id)

    assert await daemon.answers(session.id, number=1) == ["first"]
    now = await daemon.until(session.id, Activity.IDLE)
    assert now.reason == "interrupted"


@pytest.mark.spec("G2", "G3")
async def test_a_session_of_one_turn_that_is_interrupted_has_failed(daemon: Daemon) -> None:
    session = await daemon.start("say: first\nwait", single_turn=True)
    await daemon.until(session.id, Activity.WORKING)

    await daemon.ask("interrupt", session=session.id)

    now = await daemon.until(session.id, Status.COMPLETED, Status.FAILED)
    assert (now.status, now.reason) == (Status.FAILED, "its turn was interrupted")


@pytest.mark.spec("G3")
@pytest.mark.parametrize("given", [{}, {"interrupt": True}])
async def test_a_session_of_one_turn_takes_no_further_message(
    daemon: Daemon, given: dict[str, bool]
) -> None:
    session = await daemon.start("say: first\nwait", single_turn=True)
    await daemon.until(session.id, Activity.WORKING)

    with pytest.raises(CommandRefused, match=r"ends after its first turn.*resume"):
        await daemon.ask("send", session=session.id, words="say: second", **given)


@pytest.mark.spec("G2", "A5")
async def test_it_fails_once_it_has_used_more_than_its_budget(daemon: Daemon) -> None:
    session = await daemon.start("cost: 2\nsay: more\nwait", budget_usd=1.5)

    now = await daemon.until(session.id, Status.FAILED)
    assert now.reason == "its budget of 1.5 USD is used up: it has used 2.00 USD"
    assert now.cost == 2_000_000
    kinds = await daemon.kinds(session.id)
    assert (kinds.count("session-ended"), kinds.count("budget-exceeded")) == (1, 1)


@pytest.mark.spec("G2")
async def test_a_negative_cost_gives_no_budget_back(daemon: Daemon) -> None:
    session = await daemon.start("cost: 1\ncost: -9\ncost: 1\nwait", budget_usd=1.5)

    now = await daemon.until(session.id, Status.FAILED)
    assert now.reason == "its budget of 1.5 USD is used up: it has used 2.00 USD"


@pytest.mark.spec("A5", "A6")
async def test_a_stream_that_ends_fails_the_session_with_its_reason(daemon: Daemon) -> None:
    session = await daemon.start("crash: the stream broke")

    now = await daemon.until(session.id, Status.FAILED)
    assert now.reason == "the stream broke"


@pytest.mark.spec("G3", "A4")
async def test_it_ends_on_request(daemon: Daemon) -> None:
    session = await daemon.start("wait")
    await daemon.until(session.id, Activity.WORKING)

    await daemon.ask("end", session=session.id)

    await daemon.until(session.id, Status.KILLED)
    await daemon.down()  # which waits until what ended sessions had is removed
    assert not list(daemon.home.driven_events.iterdir())
    await daemon.up()


@pytest.mark.spec("A10")
@pytest.mark.parametrize("limits", [LimitSettings(driven_sessions=1)])
async def test_a_start_beyond_the_limit_is_refused_or_waits(daemon: Daemon) -> None:
    first = await daemon.start("say: hello")
    await daemon.answers(first.id, number=1)

    with pytest.raises(LimitReached, match="1 driven sessions"):
        await daemon.start("say: two")
    waiting = await daemon.start("say: two", queue=True)
    assert waiting.status is Status.STARTING
    assert waiting.reason == (
        "it waits for a place: 1 driven session is live, which is limits.driven_sessions."
        " End one, also an idle one, to free a place"
    )
    with pytest.raises(StillWorking) as late:
        await daemon.ask("wait", session=waiting.id, timeout=0.01)
    assert str(late.value).endswith(f"{waiting.name} is starting ({waiting.reason}).")
    await daemon.ask("end", session=first.id)

    assert await daemon.answers(waiting.id, number=1) == ["two"]


@pytest.mark.spec("A10", "K5")
@pytest.mark.parametrize("limits", [LimitSettings(driven_sessions=1)])
async def test_a_child_that_waits_does_not_follow_a_link_out_of_its_parents_project(
    daemon: Daemon,
) -> None:
    inside, outside = daemon.project / "sub", daemon.project.with_name("other")
    inside.mkdir()
    outside.mkdir()
    parent = await daemon.start("say: hello")
    await daemon.answers(parent.id, number=1)
    start = {"agent": "demo", "project": str(inside), "runtime": "acp", "prompt": "say: hi"}
    child = await daemon.ask("start", session_caller(parent.id), queue=True, **start)
    inside.rmdir()
    inside.symlink_to(outside)

    await daemon.ask("end", session=parent.id)

    now = await daemon.until(child.id, Status.FAILED, Activity.IDLE)
    assert now.reason.endswith(f"{inside} has become a link to {outside}.")


@pytest.mark.spec("A10")
@pytest.mark.parametrize("limits", [LimitSettings(driven_sessions=1)])
async def test_starts_that_wait_for_one_place_get_it_one_after_another(daemon: Daemon) -> None:
    first = await daemon.start("say: hello")
    await daemon.answers(first.id, number=1)
    waiting = [await daemon.start("say: next", queue=True, single_turn=True) for _ in range(4)]
    await daemon.ask("end", session=first.id)
    for each in waiting:
        await daemon.until(each.id, Status.COMPLETED)

    rows = await daemon.context.database.read(
        lambda db: db.execute("select kind, session from entries order by seq").fetchall()
    )
    begun = [row["session"] for row in rows if row["kind"] == "session-started"]
    assert begun == [each.id for each in (first, *waiting)], "first come, first served"
    order = [row["kind"] for row in rows if row["kind"] in {"session-started", "session-ended"}]
    assert order == ["session-started", "session-ended"] * 5


@pytest.mark.spec("A7", "K3")
async def test_a_turn_goes_on_while_the_daemon_is_away(daemon: Daemon) -> None:
    session = await daemon.start("run: ls")
    request = await daemon.asked(session.id)
    await daemon.down()

    await daemon.up()
    await daemon.until(session.id, Activity.PERMISSION)
    assert [each.id for each in await daemon.requests_of(session.id)] == [request.id]
    await daemon.ask("answer_permission", permission=request.id, decision="allow")

    assert await daemon.answers(session.id, number=1) == ["ran ls"]
    kinds = await daemon.kinds(session.id)
    assert kinds.count("turn-started") == kinds.count("turn-ended") == 1
    assert kinds.count("session-recovered") == 1


@pytest.mark.spec("A9", "A7")
async def test_a_restart_of_the_daemon_is_no_activity_of_its_sessions(daemon: Daemon) -> None:
    session = await daemon.start("say: hello")
    await daemon.answers(session.id, number=1)
    before = await daemon.until(session.id, Activity.IDLE)
    await daemon.down()

    await daemon.up()

    now = await daemon.now(session.id)
    assert "session-recovered" in await daemon.kinds(session.id)
    assert (now.last_activity_at, now.since) == (before.last_activity_at, before.since)


@pytest.mark.spec("A7", "K3")
async def test_what_a_killed_host_had_said_is_recorded_and_the_session_is_lost(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "project").mkdir()
    site = site_of(home)
    daemon = Daemon(home, tmp_path / "project")
    async with hosting(site):
        await daemon.up()
        session = await daemon.start("say: hello\nwait")
        await daemon.until(session.id, Activity.WORKING)
    await daemon.down()

    await daemon.up()

    now = await daemon.until(session.id, Status.FAILED)
    assert now.lost
    assert now.reason == "its driver host ended"
    texts = await daemon.context.database.read(
        partial(blocks.last, session=session.id, limit=9)
    )
    assert [each.text for each in texts] == ["say: hello\nwait", "hello"]
    await daemon.down()


@pytest.mark.spec("A7", "I5")
async def test_a_session_without_a_row_is_ended_and_one_with_a_row_goes_on(
    daemon: Daemon, host: HostSite
) -> None:
    known, stray = await daemon.start("say: hello"), await daemon.start("say: hello")
    for each in (known, stray):
        await daemon.answers(each.id, number=1)
    await daemon.down()
    db = sqlite3.connect(daemon.home.database)
    for table, column in (("messages", "recipient"), ("turns", "session"), ("sessions", "id")):
        db.execute(f"delete from {table} where {column} = ?", (stray.id,))  # noqa: S608 - ours
    db.commit()
    db.close()

    await daemon.up()

    connection = HostConnection(host, WallClock(), grown=lambda _: None, lost=lambda: None)
    with anyio.fail_after(SOON):
        while (await connection.ask(List())).sessions != (known.id,):
            pass
    await connection.close()
    await daemon.ask("send", session=known.id, words="say: again")
    assert await daemon.answers(known.id, number=2) == ["hello", "again"]
    assert [each.stem for each in daemon.home.driven_events.iterdir()] == [known.id]


@pytest.mark.spec("A10", "G1")
async def test_a_resumed_session_has_the_same_budget_again(daemon: Daemon) -> None:
    first = await daemon.start("say: hello", budget_usd=0.5)
    await daemon.answers(first.id, number=1)
    await daemon.ask("end", session=first.id)
    await daemon.until(first.id, Status.KILLED)

    resumed = await daemon.ask("resume", session=first.id)

    assert (resumed.runtime, resumed.budget) == ("acp", 500_000)


@pytest.mark.spec("A10")
async def test_only_a_driven_session_takes_a_budget(daemon: Daemon) -> None:
    with pytest.raises(BadInput, match="only a driven session takes --budget"):
        await daemon.start("say: hello", runtime="tmux", budget_usd=1.0)
    with pytest.raises(BadInput, match="demo has no runtime 'sdk'; it has: tmux, acp"):
        await daemon.start("say: hello", runtime="sdk")


@pytest.mark.spec("D1", "D2")
async def test_an_answer_is_not_used_for_a_later_call_with_the_same_id(daemon: Daemon) -> None:
    """Some model servers number the calls of each response from zero."""
    session = await daemon.start("run: ls")
    first = await daemon.asked(session.id)
    await daemon.ask("answer_permission", permission=first.id, decision="allow")
    await daemon.answers(session.id, number=1)
    await daemon.ask("send", session=session.id, words="run: rm -r .")
    second = await daemon.asked(session.id)
    await daemon.ask("answer_permission", permission=second.id, decision="deny", reason="No.")

    assert await daemon.answers(session.id, number=2) == ["ran ls", "denied: No."]


@pytest.mark.spec("D1", "D2")
async def test_a_call_with_deeply_nested_input_is_shown_and_answered_like_others(
    daemon: Daemon,
) -> None:
    session = await daemon.start("nested: 900")
    request = await daemon.asked(session.id)
    (listed,) = (await daemon.ask("permissions")).requests
    shown = await daemon.context.database.read(
        partial(blocks.last, session=session.id, limit=99)
    )
    await daemon.ask("answer_permission", permission=request.id, decision="allow")

    assert await daemon.answers(session.id, number=1) == ["ran ls"]
    assert not request.is_exact  # other calls look the same
    assert to_json(listed.input, fallback=repr)
    assert all(to_json(each.data) for each in shown)


@pytest.mark.spec("A5")
async def test_a_report_that_cannot_be_stored_hides_no_other(daemon: Daemon) -> None:
    session = await daemon.start("say: before\ncost: 1e13\nsay: after\nwait")

    now = await daemon.until(session.id, Status.FAILED)
    shown = await daemon.context.database.read(
        partial(blocks.last, session=session.id, limit=99)
    )
    assert now.reason.startswith("its budget of 5 USD is used up")
    assert [each.text for each in shown][:3] == [
        "say: before\ncost: 1e13\nsay: after\nwait",
        "before",
        "after",
    ]


@pytest.mark.spec("A10", "A5")
async def test_a_session_fails_at_once_if_another_one_has_its_conversation(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_driver, "native_id", lambda _: "the-same")
    first = await daemon.start("say: hello", name="first")
    await daemon.answers(first.id, number=1)

    second = await daemon.start("say: hello", name="second")

    now = await daemon.until(second.id, Status.FAILED)
    assert now.reason == "its agent reports the conversation the-same, which first has already"
    await daemon.ask("send", session=first.id, words="say: again")
    assert await daemon.answers(first.id, number=2) == ["hello", "again"]


@pytest.mark.spec("D2")
async def test_a_person_is_told_that_a_reason_does_not_reach_an_agent_over_acp(
    daemon: Daemon,
) -> None:
    session = await daemon.start("run: ls")
    request = await daemon.asked(session.id)

    denied = await daemon.ask(
        "answer_permission", permission=request.id, decision="deny", reason="not now"
    )

    assert "Over ACP a refusal carries no reason" in denied.note
