from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.agents.catalog import AGENTS
from rookery.delivery.dialog_answers import DialogAnswers
from rookery.model.facts import SessionId, ToolUsed
from rookery.model.permissions import (
    STOP,
    Call,
    Outcome,
    Question,
    Request,
    RequestId,
    Verdict,
    digest,
)
from rookery.model.screens import Dialog, Press
from rookery.permissions.decisions import Permissions, WaitForAnswer
from rookery.permissions.hook_waits import HOOK_RETURN_TIMEOUT
from rookery.permissions.lost_hooks import LostHooks, hang_up, leave
from rookery.store import audit, dialogs, flags, request_keys, requests, sessions
from rookery.store.requests import Asking
from tests.support.daemon import House, World, passing_time, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import Program
from tests.support.waiting import kinds

pytestmark = pytest.mark.anyio

LIST = Call("Bash", {"command": "ls"})
YES = Verdict(Outcome.ALLOWED, "anna")
TOO_LONG = HOOK_RETURN_TIMEOUT.total_seconds() + 2


@dataclass
class Bench:
    """A session whose hook asks while Rookery is the one who is asked."""

    context: House
    session: SessionId
    permissions: Permissions

    @property
    def pressed(self) -> list[str]:
        return [" ".join(named) for _, named in self.context.world.runtime.pressed]

    async def ask(self, call: Call = LIST, hook: str = "k1") -> RequestId:
        def ask(db: Connection) -> RequestId:
            session = sessions.get(db, self.session)
            ruling = self.permissions.consider(db, session, call, hook=hook, can_ask=True)
            assert isinstance(ruling, WaitForAnswer)
            return ruling.request

        return await self.context.database.write(ask)

    async def ask_about_stop(self) -> RequestId:
        def ask(db: Connection) -> RequestId:
            now = self.context.journal.clock.now()
            call = Call(STOP, {"words": "It broke."}, (Question("Shall it go on?"),))
            asking = Asking(now, now + HOOK_RETURN_TIMEOUT * 9, "k1", has_dialog=False)
            return requests.add(db, self.session, call, asking)

        return await self.context.database.write(ask)

    async def answer(self, request: RequestId, verdict: Verdict = YES) -> None:
        def answer(db: Connection) -> None:
            self.permissions.answer(db, requests.get(db, request), verdict)

        await self.context.database.write(answer)

    async def get(self, request: RequestId) -> Request:
        return await self.context.database.read(partial(requests.get, request=request))

    async def decisions(self) -> list[str]:
        kept = await self.context.database.read(partial(audit.decided, limit=99))
        return [each.decision for each in kept]

    async def happen(self, *facts: ToolUsed) -> None:
        journal = self.context.journal
        await self.context.database.write(lambda db: journal.append(db, *facts))

    def draw(self) -> None:
        """Have the session's program show the dialog of the call, and close it at a key."""
        world = self.context.world
        world.runtime.on_give = _close_dialog
        options = ("Yes", "No, and tell demo what to do differently (esc)")
        text = "Bash ls Do you want to proceed?"
        shown = Dialog("permission", text, options, 0, subjects=("ls",))
        world.runtime.program(self.session).asks = shown

    @asynccontextmanager
    async def checking(self) -> AsyncIterator[LostHooks]:
        watcher = LostHooks(self.context.database, self.permissions)
        async with self.context.beside(watcher.watch):
            yield watcher

    async def pass_time(self, seconds: float) -> None:
        """Let time pass in steps as a clock does."""
        for _ in range(int(seconds)):
            await self.context.pass_time(1.0)

    async def press(self) -> None:
        """Let time pass until nothing is to be pressed any more."""
        database, world = self.context.database, self.context.world
        given = (database, self.context.journal, world.runtime, AGENTS, self.permissions)
        async with (
            self.context.beside(DialogAnswers(*given).press),
            passing_time(database, world.clock),
        ):
            while await database.read(request_keys.to_press):
                bell = database.bell()
                if await database.read(request_keys.to_press):
                    await bell.wait()


def _close_dialog(program: Program, press: Press) -> None:
    if press.is_last:
        program.asks = None


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.agents.answers_at_once = False
    return world


@pytest.fixture
async def bench(database: ObservedDatabase, world: World) -> AsyncIterator[Bench]:
    async with running(database, world) as context:
        session = await context.start("go")
        await database.write(lambda db: flags.set_mode(db, "remote"))
        yield Bench(context, session, world.permissions(context.journal))


@pytest.mark.spec("A7", "D2")
async def test_a_request_that_cannot_be_read_keeps_no_other_from_its_dialog(
    bench: Bench,
) -> None:
    bad = await bench.ask()
    other = await bench.ask(Call("Bash", {"command": "pwd"}), hook="k2")
    await bench.context.database.write(
        lambda db: db.execute("update requests set input = '{' where id = ?", (bad,))
    )

    async with bench.checking():
        await bench.pass_time(TOO_LONG)

    handed = await bench.context.database.read(
        lambda db: [dialogs.is_handed(db, each) for each in (bad, other)]
    )
    assert handed == [False, True]


@pytest.mark.spec("A7", "D2")
async def test_a_request_whose_hook_does_not_come_back_is_left_to_its_dialog(
    bench: Bench,
) -> None:
    request = await bench.ask()

    async with bench.checking():
        await bench.pass_time(TOO_LONG - 4)
        before = (await bench.get(request)).by_keys
        await bench.pass_time(4)

    after = await bench.get(request)
    assert (before, after.by_keys, after.outcome) == (False, True, "open")


@pytest.mark.spec("D2")
async def test_a_request_whose_hook_waits_is_not_handed_over(bench: Bench) -> None:
    request = await bench.ask()

    with bench.permissions.waits.waiting(request):
        async with bench.checking():
            await bench.pass_time(TOO_LONG)

    assert not (await bench.get(request)).by_keys


@pytest.mark.spec("D2")
async def test_a_request_whose_hook_returns_before_the_hand_over_is_written_stays_with_it(
    bench: Bench,
) -> None:
    request = await bench.ask()
    hand_over = partial(leave, permissions=bench.permissions, request=request)

    with bench.permissions.waits.waiting(request):
        await bench.context.database.write(hand_over)

    found = await bench.get(request)
    assert (found.outcome, found.by_keys) == ("open", False)


@pytest.mark.spec("D2", "K3")
async def test_time_asleep_does_not_count_for_the_return_of_a_hook(bench: Bench) -> None:
    request = await bench.ask()

    async with bench.checking():
        await bench.pass_time(2)
        await bench.context.pass_time(3_600)
        await bench.pass_time(2)

    assert not (await bench.get(request)).by_keys


@pytest.mark.spec("A7", "D2", "K3")
async def test_an_answer_that_no_hook_fetched_is_pressed_in_the_dialog(bench: Bench) -> None:
    request = await bench.ask()
    bench.draw()
    await bench.answer(request)

    async with bench.checking():
        await bench.pass_time(TOO_LONG)
    asking = (await bench.context.session(bench.session)).activity
    await bench.press()

    found = await bench.get(request)
    assert bench.pressed == ["1"]
    assert (found.outcome, found.delivery) == ("allowed", "pressed")
    assert asking == "permission"
    assert (await bench.context.session(bench.session)).activity == "working"
    assert await bench.decisions() == ["allowed"]


@pytest.mark.spec("D2", "K3")
@pytest.mark.parametrize("has_gone_on", [True, False])
async def test_an_answer_that_a_hook_may_have_been_told_is_not_pressed_elsewhere(
    bench: Bench, *, has_gone_on: bool
) -> None:
    request = await bench.ask()
    with bench.permissions.waits.waiting(request):
        await bench.answer(request)
    if has_gone_on:  # the daemon died before it could note that the hook was told
        await bench.happen(ToolUsed(bench.session, "Bash", digest("Bash", LIST.input)))
        bench.draw()  # the same is asked again

    async with bench.checking():
        await bench.pass_time(TOO_LONG)
    await bench.press()

    found = await bench.get(request)
    assert bench.pressed == []
    assert found.outcome == "allowed"
    assert found.delivery == ("none" if has_gone_on else "pressed")
    assert await bench.decisions() == ["allowed"]


@pytest.mark.spec("D2")
async def test_an_answer_that_its_hook_was_told_is_done(bench: Bench) -> None:
    request = await bench.ask()
    await bench.answer(request)
    due = (await bench.get(request)).delivery

    told = partial(bench.permissions.note_delivered, request=request)
    is_new = [await bench.context.database.write(told) for _ in range(2)]
    async with bench.checking():
        await bench.pass_time(TOO_LONG)

    found = await bench.get(request)
    assert (due, found.delivery, found.by_keys) == ("due", "none", False)
    assert is_new == [True, False]
    assert (await bench.context.database.read(kinds)).count("answer-taken") == 1


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("verdict", "outcome"), [(YES, "allowed"), (Verdict(Outcome.DENIED, "anna"), "gone")]
)
async def test_an_answer_to_what_has_no_dialog_yet_is_said_to_be_undelivered(
    bench: Bench, verdict: Verdict, outcome: str
) -> None:
    def ask(db: Connection) -> RequestId:
        call = Call("Write", {"file_path": "/a"}, is_asked=False)
        deadline = bench.context.journal.clock.now() + HOOK_RETURN_TIMEOUT * 9
        asking = Asking(bench.context.journal.clock.now(), deadline, "k1")
        return requests.add(db, bench.session, call, asking)

    request = await bench.context.database.write(ask)
    await bench.answer(request, verdict)

    async with bench.checking():
        await bench.pass_time(TOO_LONG)

    found = await bench.get(request)
    assert (found.outcome, found.delivery) == (outcome, "none")
    assert await bench.decisions() == [verdict.outcome, "undelivered"]


@pytest.mark.spec("D6")
async def test_an_agent_whose_stop_hook_is_gone_has_stopped(bench: Bench) -> None:
    request = await bench.ask_about_stop()
    hang = partial(hang_up, permissions=bench.permissions, request=request)

    await bench.context.database.write(hang)

    assert (await bench.get(request)).outcome == "gone"
    assert (await bench.context.session(bench.session)).activity == "idle"
