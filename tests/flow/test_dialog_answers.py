from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.agents.catalog import AGENTS
from rookery.agents.demo import DEMO
from rookery.agents.shared.claude_style_hooks import ClaudeStyleHooks
from rookery.delivery.dialog_answers import DialogAnswers, NotPressed
from rookery.model.facts import InputAsked, KeysWithheld, SessionId, TurnEnded
from rookery.model.facts import Outcome as SessionOutcome
from rookery.model.lifecycle import Activity
from rookery.model.permissions import (
    DIALOG,
    Call,
    Outcome,
    Question,
    Request,
    RequestId,
    Verdict,
)
from rookery.model.screens import Dialog, Press, View
from rookery.operations.request_answers import with_end_note
from rookery.permissions import lost_hooks
from rookery.permissions.decisions import Permissions
from rookery.permissions.screen_dialogs import (
    DRAWN_SECONDS,
    LINGERING_SECONDS,
    SETTLE_SECONDS,
    DialogWatch,
)
from rookery.ports.agent import HookTraits
from rookery.ports.sightings import FellQuiet, Sighting
from rookery.sessions import record_end
from rookery.store import audit, dialogs, request_keys, requests, sessions
from rookery.store.journal import read_entry
from tests.support.daemon import House, World, passing_time, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import Program
from tests.support.waiting import kinds

pytestmark = pytest.mark.anyio

YES = Verdict(Outcome.ALLOWED, "anna", for_session=True)
NO = Verdict(Outcome.DENIED, "anna")


def asks_for(command: str) -> Dialog:
    return Dialog(
        "permission",
        f"Bash {command} Do you want to proceed?",
        ("Yes", "No, and tell demo what to do differently (esc)"),
        0,
        subjects=(command,),
    )


@dataclass
class Bench:
    """A session in whose dialog answers are pressed."""

    context: House
    session: SessionId
    permissions: Permissions

    @property
    def program(self) -> Program:
        return self.context.world.runtime.program(self.session)

    @property
    def pressed(self) -> list[str]:
        return [" ".join(named) for _, named in self.context.world.runtime.pressed]

    async def ask(self, command: str = "ls", *, subagent: str = "") -> RequestId:
        """Have its agent tell of a call; its dialog is drawn by the test."""

        def ask(db: Connection) -> RequestId:
            session = sessions.get(db, self.session)
            call = Call("Bash", {"command": command}, subagent=subagent)
            self.permissions.note(db, session, call)
            return requests.open_of(db, self.session)[-1].id

        return await self.context.database.write(ask)

    async def answer(self, request: RequestId, verdict: Verdict = YES) -> None:
        def answer(db: Connection) -> None:
            self.permissions.answer(db, requests.get(db, request), verdict)

        await self.context.database.write(answer)

    async def get(self, request: RequestId) -> Request:
        return await self.context.database.read(partial(requests.get, request=request))

    async def audit(self) -> list[tuple[str, str]]:
        kept = await self.context.database.read(partial(audit.decided, limit=99))
        return [(each.decision, each.reason) for each in kept]

    async def withheld(self) -> list[str]:
        """Return why keys were withheld, in order."""

        def read(db: Connection) -> list[str]:
            rows = db.execute("select * from entries order by seq")
            facts = [read_entry(row).fact for row in rows]
            return [each.reason for each in facts if isinstance(each, KeysWithheld)]

        return await self.context.database.read(read)

    async def grants(self) -> int:
        def count(db: Connection) -> int:
            return int(db.execute("select count(*) from grants").fetchone()[0])

        return await self.context.database.read(count)

    @asynccontextmanager
    async def pressing(self) -> AsyncIterator[None]:
        """Have answers pressed while the block lasts, and time pass."""
        context, database = self.context, self.context.database
        given = (database, context.journal, context.world.runtime, AGENTS, self.permissions)
        async with context.beside(DialogAnswers(*given).press):
            yield

    async def settle(self) -> None:
        """Let time pass until nothing is to be pressed any more."""
        async with (
            self.pressing(),
            passing_time(self.context.database, self.context.world.clock),
        ):
            while await self.context.database.read(request_keys.to_press):
                bell = self.context.database.bell()
                if await self.context.database.read(request_keys.to_press):
                    await bell.wait()


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.agents.answers_at_once = False
    return world


@pytest.fixture
async def bench(database: ObservedDatabase, world: World) -> AsyncIterator[Bench]:
    async with running(database, world) as context:
        session = await context.start("go")
        permissions = world.permissions(context.journal)
        yield Bench(context, session, permissions)


def close_dialog(program: Program, press: Press) -> None:
    if press.is_last:
        program.asks = None


@pytest.mark.spec("D2")
async def test_an_answer_is_pressed_once_and_seen_to_take_effect(bench: Bench) -> None:
    bench.context.world.runtime.on_give = close_dialog
    request = await bench.ask()
    bench.program.asks = asks_for("ls")
    await bench.answer(request)

    await bench.settle()

    found = await bench.get(request)
    assert bench.pressed == ["1"]
    assert (found.outcome, found.delivery) == ("allowed", "pressed")
    assert [decision for decision, _ in await bench.audit()] == ["allowed"]


@pytest.mark.spec("D2", "B0")
@pytest.mark.parametrize("shown", ["ls -l", "rm -rf ls", "echo ls"])
async def test_nothing_is_pressed_into_a_dialog_that_merely_contains_the_words(
    bench: Bench, shown: str
) -> None:
    request = await bench.ask("ls")
    bench.program.asks = asks_for(shown)
    await bench.answer(request)

    await bench.settle()

    found = await bench.get(request)
    assert bench.pressed == []
    assert (found.outcome, found.reason) == ("open", NotPressed.OTHER_DIALOG)
    assert ("undelivered", NotPressed.OTHER_DIALOG) in await bench.audit()
    assert await bench.grants() == 0


@pytest.mark.spec("D2", "B0")
async def test_nothing_is_pressed_if_the_dialog_changes_while_the_intent_is_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = await bench.ask("ls")
    bench.program.asks = asks_for("ls")
    view, database = bench.context.world.runtime.view, bench.context.database

    async def view_another_dialog_once_intended(session: SessionId) -> View:
        if "keys-pressed" in await database.read(kinds):
            bench.program.asks = asks_for("rm -rf build")
        return await view(session)

    monkeypatch.setattr(bench.context.world.runtime, "view", view_another_dialog_once_intended)
    await bench.answer(request)

    await bench.settle()

    assert bench.pressed == []
    assert (await bench.withheld())[0] == NotPressed.CHANGED
    assert (await bench.get(request)).outcome == "open"
    assert await database.read(partial(dialogs.was_pressed, request=request)) == 0


@pytest.mark.spec("D2", "B0")
async def test_nothing_is_pressed_where_two_requests_fit_the_same_dialog(bench: Bench) -> None:
    first, second = await bench.ask(), await bench.ask()
    bench.program.asks = asks_for("ls")
    await bench.answer(first)

    await bench.settle()

    assert bench.pressed == []
    assert (await bench.get(first)).reason == NotPressed.UNCLEAR
    assert (await bench.get(second)).outcome == "open"


@pytest.mark.spec("D2", "K3")
async def test_a_key_that_was_meant_but_never_sent_is_pressed_after_a_crash(
    bench: Bench,
) -> None:
    bench.context.world.runtime.on_give = close_dialog
    request = await bench.ask()
    bench.program.asks = asks_for("ls")
    await bench.answer(request)
    note = partial(dialogs.note_press, request=request, seq=10**9, is_last=True)
    await bench.context.database.write(note)

    await bench.settle()

    assert bench.pressed == ["1"]
    assert (await bench.get(request)).delivery == "pressed"


@pytest.mark.spec("D2", "K3")
async def test_a_key_that_was_sent_before_a_crash_is_not_sent_again(bench: Bench) -> None:
    request = await bench.ask()
    await bench.answer(request)
    note = partial(dialogs.note_press, request=request, seq=10**9, is_last=True)
    await bench.context.database.write(note)
    bench.program.given = f"{request}.1"

    await bench.settle()

    found = await bench.get(request)
    assert bench.pressed == []
    assert (found.outcome, found.delivery) == ("allowed", "pressed")
    assert [decision for decision, _ in await bench.audit()] == ["allowed"]


@pytest.mark.spec("D2")
async def test_a_key_that_is_ignored_is_pressed_again_a_few_times_and_then_no_more(
    bench: Bench,
) -> None:
    request = await bench.ask()
    bench.program.asks = asks_for("ls")
    await bench.answer(request, NO)

    await bench.settle()

    found = await bench.get(request)
    assert bench.pressed == ["escape"] * 3
    assert (found.outcome, found.reason) == ("open", NotPressed.NOT_TAKEN)
    assert ("unsure", NotPressed.NOT_TAKEN) in await bench.audit()


@pytest.mark.spec("D2")
async def test_the_next_dialog_that_looks_the_same_is_left_alone(bench: Bench) -> None:
    request = await bench.ask()
    bench.program.asks = asks_for("ls")

    def run(program: Program, press: Press) -> None:
        bench.context.world.agents.hook(
            bench.session, "PostToolUse", tool_name="Bash", tool_input={"command": "ls"}
        )

    bench.context.world.runtime.on_give = run
    await bench.answer(request)

    await bench.settle()

    assert bench.pressed == ["1"]
    assert (await bench.get(request)).delivery == "pressed"


@pytest.mark.spec("D2", "A5")
async def test_an_answer_for_a_session_that_is_over_is_settled_as_gone(bench: Bench) -> None:
    request = await bench.ask()
    await bench.answer(request)
    await bench.context.database.write(
        lambda db: record_end.end(
            db, bench.context.journal, bench.session, outcome="failed", reason="killed"
        )
    )

    await bench.settle()

    found = await bench.get(request)
    assert (found.outcome, found.reason) == ("gone", NotPressed.OVER)
    assert await bench.grants() == 0


@pytest.mark.spec("D2", "A5")
@pytest.mark.parametrize(
    ("outcome", "lost", "settled"),
    [
        ("completed", False, ("denied", "pressed")),
        ("failed", False, ("denied", "pressed")),
        ("killed", False, ("gone", "pressed")),
        ("failed", True, ("gone", "pressed")),
    ],
)
async def test_an_answer_after_which_its_program_exits_has_taken_effect(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    *,
    outcome: SessionOutcome,
    lost: bool,
    settled: tuple[str, str],
) -> None:
    request = await bench.ask()
    bench.program.asks = asks_for("ls")
    give, journal = bench.context.world.runtime.give, bench.context.journal

    def end(db: Connection) -> None:
        how = partial(record_end.end, outcome=outcome, lost=lost, reason="it exited")
        how(db, journal, bench.session)

    async def exit_at_the_key(session: SessionId, press: Press, *, receipt: str) -> None:
        await give(session, press, receipt=receipt)
        await bench.context.database.write(end)

    monkeypatch.setattr(bench.context.world.runtime, "give", exit_at_the_key)
    await bench.answer(request, NO)

    await bench.settle()

    found = await bench.get(request)
    assert (found.outcome, found.delivery) == settled
    assert found.reason == ("" if found.outcome == "denied" else NotPressed.UNSEEN)
    noted = await bench.context.database.read(partial(with_end_note, request=found))
    assert "ended after this answer" in noted.note


@pytest.mark.spec("D2")
async def test_an_answer_whose_dialog_is_gone_is_said_not_to_have_been_given(
    bench: Bench,
) -> None:
    request = await bench.ask()
    await bench.answer(request)

    await bench.settle()

    assert bench.pressed == []
    assert (await bench.get(request)).outcome == "gone"
    assert ("undelivered", NotPressed.NO_DIALOG) in await bench.audit()


@pytest.mark.spec("D5")
async def test_a_request_stays_open_while_its_screen_cannot_be_read(bench: Bench) -> None:
    request = await bench.ask()
    bench.program.manner.comes_up = False  # it shows neither its box nor that it works
    await bench.answer(request)

    await bench.settle()

    assert bench.pressed == []
    found = await bench.get(request)
    assert (found.outcome, found.reason) == ("open", NotPressed.UNREADABLE)
    assert (await bench.context.session(bench.session)).activity == "permission"


def shows_part_of(command: str) -> Dialog:
    return replace(asks_for(command), subjects=(command[:4],), is_cut=True)


@pytest.mark.spec("D5")
async def test_a_dialog_that_shows_a_part_of_the_only_request_is_answered(bench: Bench) -> None:
    bench.context.world.runtime.on_give = close_dialog
    request = await bench.ask("make clean")
    bench.program.asks = shows_part_of("make clean")
    await bench.answer(request)

    await bench.settle()

    assert bench.pressed == ["1"]
    assert (await bench.get(request)).delivery == "pressed"


@pytest.mark.spec("D5", "B0")
async def test_a_dialog_that_shows_a_part_is_left_alone_while_two_requests_are_open(
    bench: Bench,
) -> None:
    first = await bench.ask("make clean")
    await bench.ask("rm -rf build")
    bench.program.asks = shows_part_of("make clean")
    await bench.answer(first)

    await bench.settle()

    assert bench.pressed == []
    assert (await bench.get(first)).reason == NotPressed.UNCLEAR


@pytest.mark.spec("D5", "B0")
async def test_no_second_key_goes_into_a_dialog_that_shows_the_answer_and_closes(
    bench: Bench,
) -> None:
    asked = Question("Which colour?", ("Red", "Blue"))
    options = ("Red", "Blue", "Type your own answer")
    standing = Dialog("question", "Which colour?", options, subjects=("Which colour?",))

    def mark(program: Program, press: Press) -> None:
        program.asks = replace(standing, options=("Red", "Blue ✓", options[2]))

    def ask(db: Connection) -> RequestId:
        session = sessions.get(db, bench.session)
        call = Call("question", {"questions": []}, (asked,))
        bench.permissions.note(db, session, call)
        return requests.open_of(db, bench.session)[-1].id

    bench.context.world.runtime.on_give = mark
    request = await bench.context.database.write(ask)
    bench.program.asks = standing

    blue = Verdict(Outcome.ANSWERED, "anna", answers={"Which colour?": ("Blue",)})
    await bench.answer(request, blue)
    await bench.settle()

    assert bench.pressed == ["2"]


@pytest.mark.spec("D5", "C8")
async def test_a_dialog_that_only_the_screen_shows_is_a_request(bench: Bench) -> None:
    bench.program.asks = Dialog("question", "Trust it?", ("No", "Yes"), 0, is_numbered=False)
    bench.context.world.runtime.see_again(FellQuiet(bench.session))
    await bench.context.rest()

    (found,) = await bench.context.database.read(
        partial(requests.open_of, session=bench.session)
    )
    assert (found.tool, found.source, found.kind) == (DIALOG, "screen", "question")
    assert (found.questions[0].text, found.questions[0].options) == ("Trust it?", ("No", "Yes"))
    assert (await bench.context.session(bench.session)).activity == "question"


@pytest.mark.spec("D5")
async def test_an_option_without_a_number_is_chosen_by_arrows_and_enter(bench: Bench) -> None:
    def react(program: Program, press: Press) -> None:
        assert program.asks is not None
        moved = Dialog("question", "Trust it?", ("No", "Yes"), 1, is_numbered=False)
        program.asks = moved if press.keys == ("down",) else None

    bench.context.world.runtime.on_give = react
    bench.program.asks = Dialog("question", "Trust it?", ("No", "Yes"), 0, is_numbered=False)
    bench.context.world.runtime.see_again(FellQuiet(bench.session))
    await bench.context.rest()
    (found,) = await bench.context.database.read(
        partial(requests.open_of, session=bench.session)
    )

    answer = Verdict(Outcome.ANSWERED, "anna", answers={"Trust it?": ("Yes",)})
    await bench.answer(found.id, answer)
    await bench.settle()

    assert bench.pressed == ["down", "enter"]
    assert (await bench.get(found.id)).delivery == "pressed"


@pytest.mark.spec("D4", "D5")
async def test_a_dialog_that_is_answered_in_its_terminal_is_no_request_any_more(
    bench: Bench,
) -> None:
    bench.program.asks = Dialog("question", "Trust it?", ("No", "Yes"), 0, is_numbered=False)
    bench.context.world.runtime.see_again(FellQuiet(bench.session))
    await bench.context.rest()
    (found,) = await bench.context.database.read(
        partial(requests.open_of, session=bench.session)
    )
    world, database = bench.context.world, bench.context.database
    watcher = DialogWatch(database, world.runtime, AGENTS, bench.permissions)

    async with bench.context.beside(watcher.watch), passing_time(database, world.clock):
        bench.program.asks = None
        while (await bench.get(found.id)).outcome == "open":
            await database.bell().wait()

    assert [decision for decision, _ in await bench.audit()] == ["answered"]
    assert (await bench.context.session(bench.session)).activity == "working"


@pytest.mark.spec("D5")
async def test_a_dialog_is_not_taken_for_gone_while_its_screen_cannot_be_read(
    bench: Bench,
) -> None:
    bench.program.asks = asks_for("ls")
    bench.context.world.runtime.see_again(FellQuiet(bench.session))
    await bench.context.rest()
    world, database = bench.context.world, bench.context.database
    watcher = DialogWatch(database, world.runtime, AGENTS, bench.permissions)

    async with bench.context.beside(watcher.watch):
        await bench.context.rest()
        bench.program.asks, bench.program.manner.comes_up = None, False
        world.runtime.changed.set()
        await bench.context.rest()
        for _ in range(2):
            await bench.context.pass_time(SETTLE_SECONDS)

    assert len(await database.read(partial(requests.open_of, session=bench.session))) == 1


@pytest.mark.spec("D5")
async def test_that_a_dialog_is_gone_is_noticed_as_soon_as_its_screen_changes(
    bench: Bench,
) -> None:
    bench.program.asks = asks_for("ls")
    bench.context.world.runtime.see_again(FellQuiet(bench.session))
    await bench.context.rest()
    world, database = bench.context.world, bench.context.database
    watcher = DialogWatch(database, world.runtime, AGENTS, bench.permissions)

    async with bench.context.beside(watcher.watch):
        await bench.context.rest()
        bench.program.asks = None
        world.runtime.changed.set()
        await bench.context.rest()
        for _ in range(2):
            await bench.context.pass_time(SETTLE_SECONDS)

    assert await database.read(partial(requests.open_of, session=bench.session)) == []


@pytest.mark.spec("D5")
async def test_a_dialog_that_an_agents_own_file_tells_of_becomes_a_request(
    bench: Bench,
) -> None:
    world, database = bench.context.world, bench.context.database
    asked = InputAsked(bench.session, "permission", "approve Bash")
    await database.write(lambda db: bench.context.journal.append(db, asked))
    bench.program.asks = asks_for("ls")
    watcher = DialogWatch(database, world.runtime, AGENTS, bench.permissions)

    async with bench.context.beside(watcher.watch):
        await bench.context.rest()

    (found,) = await database.read(partial(requests.open_of, session=bench.session))
    assert (found.source, found.kind) == ("screen", "permission")
    assert (await bench.context.session(bench.session)).reason == "approve Bash"


@pytest.mark.spec("D5")
async def test_a_dialog_whose_hook_was_killed_stays_a_request(bench: Bench) -> None:
    request = await bench.ask()
    bench.program.asks = asks_for("ls")
    hang_up = partial(lost_hooks.hang_up, permissions=bench.permissions, request=request)
    await bench.context.database.write(hang_up)
    world, database = bench.context.world, bench.context.database
    watcher = DialogWatch(database, world.runtime, AGENTS, bench.permissions)

    async with bench.context.beside(watcher.watch):
        for _ in range(5):
            await bench.context.pass_time(1.0)

    found = await bench.get(request)
    assert (found.outcome, found.by_keys) == ("open", True)


#: An agent whose hooks tell of a dialog, but not of its end.
UNTOLD = replace(DEMO, hooks=ClaudeStyleHooks("demo", HookTraits(before_tool="PreToolUse")))


@pytest.mark.spec("C8", "D5")
@pytest.mark.parametrize(
    ("works_on", "activity"), [(False, Activity.IDLE), (True, Activity.WORKING)]
)
async def test_a_dialog_whose_end_no_hook_tells_is_over_once_its_screen_shows_none(
    bench: Bench, *, works_on: bool, activity: Activity
) -> None:
    request = await bench.ask()
    bench.program.asks = asks_for("ls")
    world, database = bench.context.world, bench.context.database
    watcher = DialogWatch(database, world.runtime, {"demo": UNTOLD}, bench.permissions)

    async with bench.context.beside(watcher.watch):
        await bench.context.rest()
        bench.program.asks, bench.program.is_working = None, works_on
        world.runtime.changed.set()
        await bench.context.rest()
        for _ in range(2):
            await bench.context.pass_time(SETTLE_SECONDS)

    assert (await bench.get(request)).outcome == "gone"
    assert (await bench.context.session(bench.session)).activity == activity


@pytest.mark.spec("A2", "C8")
async def test_a_list_that_is_closed_while_no_turn_runs_interrupts_nothing(
    bench: Bench,
) -> None:
    world, database = bench.context.world, bench.context.database
    ended = TurnEnded(bench.session, "done")
    await database.write(lambda db: bench.context.journal.append(db, ended))
    bench.program.asks = Dialog("question", "Select Model", ("Fast", "Thorough"), 0)
    world.runtime.see_again(FellQuiet(bench.session))
    await bench.context.rest()
    listed = await bench.context.session(bench.session)
    watcher = DialogWatch(database, world.runtime, {"demo": UNTOLD}, bench.permissions)

    async with bench.context.beside(watcher.watch):
        await bench.context.rest()
        bench.program.asks = None
        world.runtime.changed.set()
        await bench.context.rest()
        for _ in range(2):
            await bench.context.pass_time(SETTLE_SECONDS)

    found = await bench.context.session(bench.session)
    assert listed.activity == Activity.QUESTION
    assert (found.activity, found.reason) == (Activity.IDLE, "")
    assert (await database.read(kinds)).count("turn-ended") == 1


@pytest.mark.spec("D5")
async def test_a_dialog_that_is_not_drawn_yet_is_not_over(bench: Bench) -> None:
    request = await bench.ask()
    world, database = bench.context.world, bench.context.database
    watcher = DialogWatch(database, world.runtime, {"demo": UNTOLD}, bench.permissions)

    async with bench.context.beside(watcher.watch):
        await bench.context.pass_time(1.0)

    assert (await bench.get(request)).outcome == "open"


@pytest.mark.spec("D1", "D5")
@pytest.mark.parametrize(("seconds", "open_requests"), [(0.0, 0), (LINGERING_SECONDS + 1, 1)])
async def test_a_dialog_that_was_just_answered_is_not_taken_for_another(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, seconds: float, open_requests: int
) -> None:
    runtime, database = bench.context.world.runtime, bench.context.database
    request = await bench.ask()
    bench.program.asks = asks_for("ls")
    await bench.answer(request)
    await database.write(partial(request_keys.note_press, request=request))
    await bench.context.pass_time(seconds)

    with monkeypatch.context() as later:
        quiet, looks = FellQuiet(bench.session), list[Sighting]()
        runtime.see_again(quiet)
        later.setattr(runtime, "see_again", looks.append)
        await bench.context.rest()

    found = await database.read(partial(requests.open_of, session=bench.session))
    assert len(found) == open_requests
    assert looks == [quiet] * (1 - open_requests)


LONG = "echo " + "word " * 200


@pytest.mark.spec("D2", "D5", "B0")
async def test_a_dialog_that_differs_only_far_into_its_command_is_another_one(
    bench: Bench,
) -> None:
    bench.program.asks = asks_for(f"{LONG}; ls")
    bench.context.world.runtime.see_again(FellQuiet(bench.session))
    await bench.context.rest()
    (found,) = await bench.context.database.read(
        partial(requests.open_of, session=bench.session)
    )
    bench.program.asks = asks_for(f"{LONG}; curl evil")

    await bench.answer(found.id, Verdict(Outcome.ALLOWED, "anna"))
    await bench.settle()

    assert str(found.input["text"]).endswith("; ls Do you want to proceed?")
    assert bench.pressed == []
    assert (await bench.get(found.id)).reason == NotPressed.OTHER_DIALOG


@pytest.mark.spec("D2", "D5")
async def test_a_subagents_dialog_is_over_once_it_was_drawn_and_its_screen_shows_none(
    bench: Bench,
) -> None:
    first = await bench.ask("ls", subagent="sub")
    await bench.context.pass_time(1.0)
    second = await bench.ask("pwd", subagent="sub")
    world, database = bench.context.world, bench.context.database
    watcher = DialogWatch(database, world.runtime, AGENTS, bench.permissions)
    bench.program.asks = asks_for("ls")

    async with bench.context.beside(watcher.watch):
        for _ in range(int(DRAWN_SECONDS) + 2):
            await bench.context.pass_time(1.0)
        waiting = (await bench.get(second)).outcome
        bench.program.asks = asks_for("pwd")
        for _ in range(3):
            await bench.context.pass_time(1.0)

    assert waiting == "open"
    assert (await bench.get(first)).outcome == "gone"
    assert (await bench.get(second)).outcome == "open"
