from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from json import JSONDecodeError
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import anyio
import pytest

from rookery.model import facts
from rookery.model.errors import RequestClosed
from rookery.model.facts import (
    Fact,
    InputSettled,
    SessionEnded,
    SessionId,
    TurnEnded,
    TurnStarted,
)
from rookery.model.permissions import Call, Outcome, Question, RequestId, Verdict, digest
from rookery.permissions import answered_in_terminal, lost_hooks
from rookery.permissions.decisions import Ask, Pass, Permissions, Ruling, WaitForAnswer
from rookery.permissions.request_deadlines import RequestDeadlines
from rookery.permissions.rules_file import RulesFile
from rookery.sessions import record_end
from rookery.store import (
    audit,
    dialogs,
    flags,
    missed_requests,
    request_keys,
    requests,
    sessions,
)
from rookery.store.flags import Mode
from rookery.store.journal import Journal, Reader
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import ANNA, WORKER, settle_in
from tests.support.waiting import kinds

RULES = """
[[deny]]
name = "no rm"
tool = "Bash"
input.command = { regex = "\\\\brm\\\\b" }
reason = "Use git clean."

[[allow]]
tool = "Read"

[[ask]]
tool = "Write"
"""

REMOVE, LIST = Call("Bash", {"command": "rm -r x"}), Call("Bash", {"command": "ls"})
WRITE = Call("Write", {"file_path": "/a"}, is_asked=False)
QUESTION = Call("AskUserQuestion", {}, (Question("Which?", ("A", "B")),))
YES, NO = Verdict(Outcome.ALLOWED, "anna"), Verdict(Outcome.DENIED, "bert", "No.")


def written(rules: str, folder: Path) -> RulesFile:
    """Write rules to a file of which a daemon has taken note."""
    file = folder / "rules.toml"
    file.write_text(rules)
    rules_file = RulesFile(file)
    adopt(rules_file)
    return rules_file


def adopt(rules_file: RulesFile) -> None:
    if reading := rules_file.look():
        rules_file.adopt(reading)


class Bench:
    """Where calls are judged: a session that works, and the rules."""

    def __init__(self, db: Connection, clock: FakeClock, rules_file: RulesFile) -> None:
        heard: frozenset[type[Fact]] = frozenset(
            {InputSettled, TurnStarted, TurnEnded, SessionEnded}
        )
        readers = {"permissions": Reader(heard, answered_in_terminal.close)}
        self.db, self.clock = db, clock
        self.journal = Journal("here", clock, readers, {"permissions"})
        self.permissions = Permissions(self.journal, rules_file, timedelta(seconds=300))
        settle_in(db, self.journal)
        self.journal.append(db, facts.TurnStarted(WORKER, "go"))
        self._keys = 0

    def at(self, db: Connection) -> Bench:
        """Work on another connection from now on."""
        self.db = db
        return self

    def use(self, rules: str) -> None:
        """Have other rules hold from now on."""
        rules_file = self.permissions.rules_file
        rules_file.path.write_text(rules)
        adopt(rules_file)

    def consider(
        self, call: Call, session_id: SessionId = WORKER, *, can_ask: bool = True
    ) -> Ruling:
        self._keys += 1
        session = sessions.get(self.db, session_id)
        hook = f"k{self._keys}"
        return self.permissions.consider(self.db, session, call, hook=hook, can_ask=can_ask)

    def ask(self, call: Call = LIST, session: SessionId = WORKER) -> RequestId:
        ruling = self.consider(call, session)
        assert isinstance(ruling, WaitForAnswer)
        return ruling.request

    def answer(self, request: RequestId, verdict: Verdict) -> None:
        self.permissions.answer(self.db, requests.get(self.db, request), verdict)

    def expire(self) -> int:
        """Expire all requests past their deadline, and return how many there were."""
        deadlines = RequestDeadlines(self.permissions)
        overdue = deadlines.overdue(self.db)
        for each in overdue:
            deadlines.expire(self.db, each)
        return len(overdue)

    def outcome(self, request: RequestId) -> tuple[str, str]:
        found = requests.get(self.db, request)
        return found.outcome, found.answered_by

    @property
    def activity(self) -> str | None:
        return sessions.get(self.db, WORKER).activity


@pytest.fixture
def bench(db: Connection, clock: FakeClock, tmp_path: Path) -> Bench:
    return Bench(db, clock, written(RULES, tmp_path))


@pytest.fixture
def remote(bench: Bench) -> Bench:
    flags.set_mode(bench.db, "remote")
    return bench


@pytest.mark.spec("D1", "D4")
@pytest.mark.parametrize("is_asked", [True, False])
def test_a_rule_denies_whether_its_agent_would_have_asked_or_not(
    bench: Bench, *, is_asked: bool
) -> None:
    ruling = bench.consider(Call("Bash", {"command": "rm -r x"}, is_asked=is_asked))

    assert ruling == Verdict(Outcome.DENIED, "rule", "Use git clean.")
    (kept,) = audit.decided(bench.db, limit=10)
    assert (kept.decision, kept.by, kept.rule) == ("denied", "rule", "no rm")
    assert kept.input == {"command": "rm -r x"}
    assert sessions.get(bench.db, WORKER).denial_count == 1
    assert bench.activity == "working"


@pytest.mark.spec("D1")
def test_a_rule_allows(bench: Bench) -> None:
    assert bench.consider(Call("Read", {})) == Verdict(Outcome.ALLOWED, "rule")
    assert sessions.get(bench.db, WORKER).denial_count == 0


@pytest.mark.spec("D3")
def test_what_no_rule_names_is_the_agents_own_affair(remote: Bench) -> None:
    assert remote.consider(Call("Bash", {"command": "ls"}, is_asked=False)) == Pass()


@pytest.mark.spec("D1", "D3")
def test_locally_an_agent_that_must_ask_asks_in_its_own_terminal(bench: Bench) -> None:
    assert bench.consider(WRITE) == Ask()
    assert bench.consider(LIST) == Pass()

    (request,) = requests.open_of(bench.db, WORKER)
    assert (request.message, request.deadline) == ("May it use Bash? ls", None)
    assert bench.activity == "permission"


@pytest.mark.spec("D1")
def test_where_an_agent_cannot_be_made_to_ask_we_do(bench: Bench) -> None:
    assert isinstance(bench.consider(WRITE, can_ask=False), WaitForAnswer)


@pytest.mark.spec("D2", "D3")
def test_remotely_a_person_is_asked_and_the_first_answer_is_the_one(remote: Bench) -> None:
    request = remote.ask()
    asked = remote.activity
    remote.answer(request, YES)

    with pytest.raises(RequestClosed, match="allowed by anna"):
        remote.answer(request, NO)

    assert asked == "permission"
    assert requests.verdict_of(remote.db, request) == YES
    assert remote.activity == "working"
    (kept,) = audit.decided(remote.db, limit=10)
    assert (kept.decision, kept.by, kept.request) == ("allowed", "anna", request)


@pytest.mark.spec("D2")
def test_two_that_ask_at_once_are_settled_one_by_one(remote: Bench) -> None:
    first, second = remote.ask(), remote.ask(Call("Bash", {"command": "pwd"}))

    remote.answer(second, NO)
    still = remote.activity
    remote.answer(first, YES)

    assert still == "permission"
    assert remote.activity == "working"


@pytest.mark.spec("D2")
def test_what_is_allowed_for_the_session_is_not_asked_again(remote: Bench) -> None:
    remote.answer(remote.ask(), Verdict(Outcome.ALLOWED, "anna", for_session=True))

    assert remote.consider(LIST) == Verdict(Outcome.ALLOWED, "grant")
    assert isinstance(remote.consider(Call("Bash", {"command": "pwd"})), WaitForAnswer)


@pytest.mark.spec("D2")
def test_what_is_allowed_in_one_folder_is_asked_about_in_another(remote: Bench) -> None:
    here, there = replace(LIST, folder="/code"), replace(LIST, folder="/etc")
    remote.answer(remote.ask(here), Verdict(Outcome.ALLOWED, "anna", for_session=True))
    about_to = replace(WRITE, folder="/code")
    remote.answer(remote.ask(about_to), YES)

    assert remote.consider(here) == Verdict(Outcome.ALLOWED, "grant")
    assert isinstance(remote.consider(there), WaitForAnswer)
    assert isinstance(
        remote.consider(replace(about_to, is_asked=True, folder="/etc")), WaitForAnswer
    )


@pytest.mark.spec("D1", "D2")
@pytest.mark.parametrize("is_asked", [True, False])
def test_what_could_not_be_read_exactly_is_allowed_once_at_a_time(
    remote: Bench, *, is_asked: bool
) -> None:
    """Other calls look the same: of bytes that are no text, and of values nested too deep."""
    rule = '[[ask]]\ntool = "Bash"\n'
    remote.use(rule)
    call = Call("Bash", {"command": "cat \ufffd"}, is_asked=is_asked, is_exact=False)
    remote.answer(remote.ask(call), Verdict(Outcome.ALLOWED, "anna", for_session=True))

    again = remote.consider(replace(call, is_asked=True))

    assert isinstance(again, WaitForAnswer)
    assert remote.db.execute("select count(*) from grants").fetchone()[0] == 0
    digest_of_used = digest("Bash", call.input)
    remote.permissions.note_use(remote.db, facts.ToolUsed(WORKER, "Bash", digest_of_used))
    assert requests.get(remote.db, again.request).answered_by == "terminal"


@pytest.mark.spec("D1")
def test_a_rule_that_denies_beats_what_was_allowed_for_the_session(remote: Bench) -> None:
    remote.answer(remote.ask(), Verdict(Outcome.ALLOWED, "anna", for_session=True))
    remote.use('[[deny]]\ntool = "Bash"\n')

    ruling = remote.consider(LIST)

    assert isinstance(ruling, Verdict)
    assert ruling.outcome is Outcome.DENIED


@pytest.mark.spec("D2")
def test_an_agent_that_asks_again_about_what_was_just_allowed_is_told_once(
    remote: Bench,
) -> None:
    remote.answer(remote.ask(WRITE), YES)
    asked = Call(WRITE.tool, WRITE.input)

    again, third = remote.consider(asked), remote.consider(asked)

    assert again == Verdict(Outcome.ALLOWED, "the answer just given")
    assert isinstance(third, WaitForAnswer)


@pytest.mark.spec("D3")
def test_an_answer_to_what_an_agent_asked_is_not_good_for_the_next_time(remote: Bench) -> None:
    remote.answer(remote.ask(), YES)

    assert isinstance(remote.consider(LIST), WaitForAnswer)


@pytest.mark.spec("D3")
def test_silence_is_a_no_and_comes_too_late_for_any_yes(
    remote: Bench, clock: FakeClock
) -> None:
    remote.permissions = replace(remote.permissions, on_timeout="deny")
    request = remote.ask()
    clock.advance(299)
    early = remote.expire()
    clock.advance(2)

    assert (early, remote.expire()) == (0, 1)
    with pytest.raises(RequestClosed, match="denied by the clock"):
        remote.answer(request, YES)
    assert remote.activity == "working"
    assert missed_requests.listed(remote.db) == [request]


@pytest.mark.spec("D3")
def test_what_nobody_answers_in_time_is_left_to_its_own_dialog(
    remote: Bench, clock: FakeClock
) -> None:
    request = remote.ask()
    clock.advance(301)
    expired = remote.expire()

    found = requests.get(remote.db, request)
    assert (expired, found.outcome, found.deadline) == (1, "open", None)
    assert (found.by_keys, found.missed) == (True, True)
    assert remote.activity == "permission"
    assert audit.decided(remote.db, limit=9) == []
    assert missed_requests.see(remote.db, (request,)) == 1
    assert missed_requests.listed(remote.db) == []
    remote.answer(request, YES)  # and can still be answered, by keys
    assert request_keys.to_press(remote.db) == [WORKER]


@pytest.mark.spec("D3", "C3")
def test_what_was_not_answered_before_its_dialog_came_is_asked_there_and_not_twice(
    remote: Bench, clock: FakeClock
) -> None:
    before = remote.ask(WRITE)
    clock.advance(301)
    remote.expire()

    assert remote.outcome(before) == ("gone", "terminal")
    assert dialogs.is_handed(remote.db, before)
    assert remote.consider(replace(WRITE, is_asked=True)) == Pass()
    (asked,) = requests.open_of(remote.db, WORKER)
    assert (asked.by_keys, asked.deadline) == (True, None)


@pytest.mark.spec("D3")
@pytest.mark.parametrize("has_terminal", [True, False])
def test_what_cannot_be_asked_in_a_terminal_is_denied_at_the_deadline(
    remote: Bench, clock: FakeClock, *, has_terminal: bool
) -> None:
    if not has_terminal:
        remote.db.execute("update sessions set runtime = 'headless'")
    ruling = remote.consider(LIST if not has_terminal else WRITE, can_ask=not has_terminal)
    assert isinstance(ruling, WaitForAnswer)
    clock.advance(301)
    remote.expire()

    assert remote.outcome(ruling.request) == ("denied", "the clock")


@pytest.mark.anyio
@pytest.mark.spec("D3")
async def test_a_request_that_cannot_be_read_delays_the_deadline_of_no_other(
    database: ObservedDatabase, clock: FakeClock, tmp_path: Path
) -> None:
    rules = written(RULES, tmp_path)
    bench = await database.write(lambda db: Bench(db, clock, rules))
    await database.write(lambda db: flags.set_mode(db, "remote"))
    bad = await database.write(lambda db: bench.at(db).ask())
    good = await database.write(lambda db: bench.at(db).ask(WRITE, ANNA))
    await database.write(
        lambda db: db.execute("update requests set input = '{' where id = ?", (bad,))
    )
    clock.advance(301)

    with pytest.raises(JSONDecodeError):
        await RequestDeadlines(bench.permissions).expire_all(database)

    assert await database.read(lambda db: bench.at(db).outcome(good)) == ("gone", "terminal")


@pytest.mark.anyio
@pytest.mark.spec("D3")
async def test_a_deadline_does_not_count_time_asleep(
    database: ObservedDatabase, clock: FakeClock, tmp_path: Path
) -> None:
    rules = written(RULES, tmp_path)
    bench = await database.write(lambda db: Bench(db, clock, rules))
    await database.write(lambda db: flags.set_mode(db, "remote"))
    request = await database.write(lambda db: bench.at(db).ask())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(RequestDeadlines(bench.permissions).keep, database)
        await database.rest()
        clock.advance(3600)
        await database.rest()
        deadline = await database.read(lambda db: requests.get(db, request).deadline)
        tasks.cancel_scope.cancel()

    assert deadline is not None
    assert timedelta(seconds=290) < deadline - clock.now() < timedelta(seconds=310)


@pytest.mark.spec("D2", "D4")
def test_a_request_with_deeply_nested_input_can_be_answered(remote: Bench) -> None:
    value: object = 1
    for _ in range(500):
        value = [value]
    request = remote.ask(Call("Bash", {"command": "ls", "x": value}))

    remote.answer(request, NO)

    assert remote.outcome(request) == ("denied", "bert")


@pytest.mark.spec("D4")
def test_a_session_without_a_terminal_is_not_answered_in_one(remote: Bench) -> None:
    remote.db.execute("update sessions set runtime = 'acp'")
    request = remote.ask()

    remote.journal.append(remote.db, TurnEnded(WORKER, "done"))

    (kept,) = audit.decided(remote.db, limit=9)
    assert (kept.request, kept.decision, kept.by) == (request, "gone", "no answer")


@pytest.mark.spec("D4")
def test_an_answer_at_the_keyboard_is_in_the_audit(remote: Bench) -> None:
    request = remote.ask()
    used = facts.ToolUsed(WORKER, "Bash", LIST.digest)
    remote.permissions.note_use(remote.db, used)

    (kept,) = audit.decided(remote.db, limit=9)
    assert (kept.decision, kept.by, kept.request) == ("allowed", "terminal", request)
    assert kept.reason == "answered in the terminal"


@pytest.mark.spec("D4")
def test_what_was_chosen_at_the_keyboard_is_learnt_later(remote: Bench) -> None:
    request = remote.ask()
    remote.permissions.withdraw(remote.db, request)
    before = audit.decided(remote.db, limit=9)
    remote.permissions.note_use(remote.db, facts.ToolUsed(WORKER, "Bash", LIST.digest))

    assert [each.decision for each in before] == ["answered"]
    assert [each.decision for each in audit.decided(remote.db, limit=9)] == ["allowed"]


@pytest.mark.spec("D4")
def test_a_refusal_at_the_keyboard_is_in_the_audit(remote: Bench) -> None:
    remote.ask()
    remote.journal.append(remote.db, TurnEnded(WORKER, "", "interrupted"))

    (kept,) = audit.decided(remote.db, limit=9)
    assert (kept.decision, kept.by) == ("denied", "terminal")


@pytest.mark.spec("D4")
def test_a_request_that_ended_with_an_interruption_says_so(remote: Bench) -> None:
    request = remote.ask()
    dialogs.mark_interrupted(remote.db, WORKER, "anna")
    remote.journal.append(remote.db, TurnEnded(WORKER, "", "interrupted"))

    (kept,) = audit.decided(remote.db, limit=9)
    assert (kept.decision, kept.by, kept.reason) == ("gone", "anna", "interrupted by anna")
    assert requests.get(remote.db, request).reason == "interrupted by anna"


@pytest.mark.spec("D5")
def test_a_hook_that_is_gone_leaves_the_request_to_its_dialog(remote: Bench) -> None:
    request = remote.ask()
    lost_hooks.hang_up(remote.db, remote.permissions, request)

    assert requests.get(remote.db, request).by_keys
    assert dialogs.watched(remote.db) == [WORKER]
    assert remote.activity == "permission"


@pytest.mark.spec("D5")
def test_all_questions_are_told_with_what_the_options_mean(remote: Bench) -> None:
    asked = (Question("Which?", ("A", "B"), descriptions=("first", "")), Question("Why?"))
    request = remote.ask(Call("AskUserQuestion", {}, asked))

    found = requests.get(remote.db, request)
    assert found.questions == asked
    assert found.message == "1. Which? 2. Why?"


@pytest.mark.spec("D5")
def test_a_session_that_asks_says_that_its_reason_is_cut(remote: Bench) -> None:
    request = remote.ask(Call("Bash", {"command": "echo " + "a" * 3_000 + "\nmv x y"}))

    found = requests.get(remote.db, request)
    assert found.message.endswith(" more characters)")
    assert found.input["command"].endswith("\nmv x y")


@pytest.mark.spec("D5")
def test_a_request_that_is_too_long_to_keep_says_how_much_is_missing(remote: Bench) -> None:
    given = {"file_path": "/x", "content": "a" * 100_000}
    request = remote.ask(Call("Write", given))

    kept = requests.get(remote.db, request).input
    assert kept["file_path"] == "/x"
    assert kept["content"].endswith("a… (93,600 more characters)")


@pytest.mark.spec("D5")
def test_a_plan_is_told_with_its_text(remote: Bench) -> None:
    request = remote.ask(Call("ExitPlanMode", {"plan": "# Plan\n\nDo it."}))

    found = requests.get(remote.db, request)
    assert found.message == "May it carry out its plan? # Plan Do it."
    assert found.input["plan"] == "# Plan\n\nDo it."


@pytest.mark.spec("D2")
def test_a_call_that_runs_was_allowed_at_the_terminal(remote: Bench) -> None:
    request = remote.ask()
    used = facts.ToolUsed(WORKER, "Bash", LIST.digest)
    remote.journal.append(remote.db, used)

    remote.permissions.note_use(remote.db, used)

    assert remote.outcome(request) == ("gone", "terminal")
    assert remote.activity == "working"


@pytest.mark.spec("C8", "D2")
def test_another_call_that_runs_meanwhile_settles_nothing(remote: Bench) -> None:
    request = remote.ask()
    used = facts.ToolUsed(WORKER, "Bash", REMOVE.digest)
    remote.journal.append(remote.db, used)

    remote.permissions.note_use(remote.db, used)

    assert remote.outcome(request) == ("open", "")
    assert remote.activity == "permission"


@pytest.mark.spec("D2", "D4")
@pytest.mark.parametrize("other", [{"call_id": "b"}, {"folder": "/b"}, {"subagent": "b"}])
@pytest.mark.parametrize("is_asked", [True, False])
def test_of_two_calls_with_the_same_input_one_that_runs_settles_only_itself(
    remote: Bench, other: dict[str, Any], *, is_asked: bool
) -> None:
    call = replace(WRITE, is_asked=is_asked)
    own: dict[str, Any] = dict.fromkeys(other, "a")
    first = remote.ask(replace(call, **own))
    second = remote.ask(replace(call, **other))
    remote.answer(first, YES)

    used = facts.ToolUsed(WORKER, "Write", WRITE.digest, **own)
    remote.permissions.note_use(remote.db, used)

    assert remote.outcome(second) == ("open", "")
    assert [each.request for each in audit.decided(remote.db, limit=9)] == [first]


@pytest.mark.spec("D2")
def test_a_call_whose_hook_still_waits_cannot_have_run(remote: Bench) -> None:
    request = remote.ask(WRITE)

    remote.permissions.note_use(remote.db, facts.ToolUsed(WORKER, "Write", WRITE.digest))

    assert remote.outcome(request) == ("open", "")


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    "fact",
    [InputSettled(WORKER), TurnEnded(WORKER, "", "interrupted")],
    ids=["settled", "over"],
)
def test_what_its_agent_asks_no_more_nobody_can_answer(remote: Bench, fact: facts.Fact) -> None:
    request = remote.ask()

    remote.journal.append(remote.db, fact)

    assert remote.outcome(request) == ("gone", "terminal")
    with pytest.raises(RequestClosed):
        remote.answer(request, YES)


@pytest.mark.spec("D4")
def test_a_request_that_ends_while_its_hook_waits_was_not_answered_in_the_terminal(
    remote: Bench,
) -> None:
    request = remote.ask(WRITE)

    remote.journal.append(remote.db, TurnEnded(WORKER))

    (kept,) = audit.decided(remote.db, limit=9)
    assert (kept.decision, kept.by) == ("gone", "no answer")
    assert kept.reason == "it ended before it was answered"
    assert remote.outcome(request) == ("gone", "no answer")
    remote.permissions.note_use(remote.db, facts.ToolUsed(WORKER, "Write", WRITE.digest))
    assert [each.decision for each in audit.decided(remote.db, limit=9)] == ["gone"]


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize("is_asked", [True, False])
@pytest.mark.parametrize(
    "fact",
    [
        TurnStarted(WORKER, "beside it"),
        TurnEnded(WORKER),
        TurnEnded(WORKER, "", "failed"),
        TurnEnded(WORKER, "", "interrupted"),
    ],
    ids=["prompt", "stop", "failure", "interruption"],
)
def test_what_a_subagent_asks_is_asked_whatever_turn_of_the_main_agent_begins_or_ends(
    remote: Bench, fact: facts.Fact, *, is_asked: bool
) -> None:
    call = Call("Write", {"file_path": "/a"}, is_asked=is_asked, subagent="sub")
    request = remote.ask(call)

    remote.journal.append(remote.db, fact)
    remote.permissions.ask_again(remote.db, WORKER)

    assert remote.outcome(request) == ("open", "")
    assert remote.activity == "permission"


@pytest.mark.spec("D2", "D3")
def test_a_subagent_that_is_gone_asks_no_more(remote: Bench) -> None:
    request = remote.ask(replace(WRITE, subagent="sub"))

    lost_hooks.hang_up(remote.db, remote.permissions, request)

    assert remote.outcome(request) == ("gone", "no answer")
    assert remote.activity == "working"


@pytest.mark.spec("D2", "D3")
def test_a_dialog_that_is_settled_tells_nothing_of_a_call_that_has_shown_none(
    remote: Bench,
) -> None:
    request = remote.ask(WRITE)

    remote.journal.append(remote.db, InputSettled(WORKER))
    remote.permissions.ask_again(remote.db, WORKER)

    assert remote.outcome(request) == ("open", "")
    assert remote.activity == "permission"


@pytest.mark.spec("D2", "A5")
def test_the_dead_ask_for_nothing(remote: Bench) -> None:
    request = remote.ask()

    record_end.end(remote.db, remote.journal, WORKER, outcome="failed", reason="x")

    assert remote.outcome(request) == ("gone", "the end of its session")


@pytest.mark.spec("D5")
def test_a_question_is_answered_in_words(remote: Bench) -> None:
    request = remote.ask(QUESTION)
    asked = remote.activity

    remote.answer(request, Verdict(Outcome.ANSWERED, "anna", answers={"Which?": ("A",)}))

    assert asked == "question"
    verdict = requests.verdict_of(remote.db, request)
    assert verdict is not None
    assert verdict.answers == {"Which?": ("A",)}
    assert "call-decided" in kinds(remote.db)
    assert sessions.get(remote.db, WORKER).denial_count == 0


@pytest.mark.spec("C3", "D2")
def test_what_was_asked_while_nobody_listened_can_be_seen(bench: Bench) -> None:
    session = sessions.get(bench.db, WORKER)

    bench.permissions.note(bench.db, session, LIST)
    bench.permissions.note(bench.db, session, WRITE)

    (request,) = requests.open_of(bench.db, WORKER)
    assert (request.tool, request.deadline) == ("Bash", None)


@pytest.mark.spec("D1", "D3")
@pytest.mark.parametrize(
    ("call", "is_granted"),
    [
        (Call("Read", {}), True),
        (WRITE, True),  # the session may do what it would ask about
        (REMOVE, False),
        (Call("Bash", {"command": "ls"}, uncertain=frozenset({"command"})), False),
        (Call("Read", {}, commands=None), False),
    ],
    ids=["allowed", "asked about", "denied", "uncertain input", "unknown commands"],
)
def test_a_granted_call_runs_unless_a_rule_denies_it_or_could_not_be_checked(
    bench: Bench, call: Call, *, is_granted: bool
) -> None:
    session = sessions.get(bench.db, WORKER)

    assert bench.permissions.is_granted(bench.db, session, call) is is_granted


@pytest.mark.spec("D1", "D3")
def test_no_call_is_granted_while_no_rules_could_be_read(bench: Bench, tmp_path: Path) -> None:
    broken = written("[[deny", tmp_path)
    permissions = Permissions(bench.journal, broken, timedelta(seconds=300))
    session = sessions.get(bench.db, WORKER)

    assert not permissions.is_granted(bench.db, session, LIST)


@pytest.mark.spec("D2", "D5")
@pytest.mark.parametrize("mode", ["remote", "local"])
def test_a_form_that_was_filled_in_settles_no_other_request(bench: Bench, mode: Mode) -> None:
    flags.set_mode(bench.db, mode)
    form = Call("Elicitation", {}, (Question("Which colour?"),))
    bench.consider(replace(LIST, subagent="sub"))
    bench.consider(form)

    bench.journal.append(bench.db, InputSettled(WORKER, "terminal", tool="Elicitation"))
    bench.permissions.ask_again(bench.db, WORKER)

    assert [each.tool for each in requests.open_of(bench.db, WORKER)] == ["Bash"]
    assert bench.activity == "permission"


@pytest.mark.spec("D2", "D3")
def test_a_prompt_that_is_typed_ahead_ends_no_call_that_has_shown_no_dialog(
    remote: Bench,
) -> None:
    request = remote.ask(WRITE)

    remote.journal.append(remote.db, TurnStarted(WORKER, "And then?"))
    remote.permissions.ask_again(remote.db, WORKER)

    assert remote.outcome(request) == ("open", "")
    assert remote.activity == "permission"


@pytest.mark.spec("D2", "D5")
@pytest.mark.parametrize("mode", ["remote", "local"])
def test_the_dialog_of_a_background_subagent_outlives_a_turn_that_fails(
    bench: Bench, mode: Mode
) -> None:
    flags.set_mode(bench.db, mode)
    bench.consider(replace(LIST, subagent="sub"))

    bench.journal.append(bench.db, TurnEnded(WORKER, "", "failed"))
    bench.permissions.ask_again(bench.db, WORKER)

    (request,) = requests.open_of(bench.db, WORKER)
    assert bench.activity == "permission"
    assert (dialogs.watched(bench.db) == [WORKER]) is (mode == "local")
    bench.answer(request.id, YES)
    if mode == "local":
        bench.permissions.note_press(bench.db, requests.get(bench.db, request.id))
    assert bench.activity == "idle"


@pytest.mark.spec("D2")
def test_a_subagent_without_a_terminal_whose_hook_does_not_wait_asks_no_more_after_the_turn(
    bench: Bench,
) -> None:
    bench.db.execute("update sessions set runtime = 'headless'")
    bench.consider(replace(LIST, subagent="sub"))

    bench.journal.append(bench.db, TurnEnded(WORKER, "", "failed"))

    assert requests.open_of(bench.db, WORKER) == []


PLAN_CALL = Call("ExitPlanMode", {"plan": "Delete all."})
BY_TERMS = '[[allow]]\nproject = "*"\n'


@pytest.mark.spec("D1", "D5")
@pytest.mark.parametrize(
    ("call", "rules"),
    [
        (QUESTION, BY_TERMS),
        (QUESTION, '[[allow]]\ntool = "AskUserQuestion"\n'),
        (PLAN_CALL, BY_TERMS),
        (PLAN_CALL, '[[allow]]\ntool = "Exit*"\n'),
    ],
)
def test_no_rule_answers_a_question_or_allows_a_plan_that_it_does_not_name(
    remote: Bench, call: Call, rules: str
) -> None:
    remote.use(rules)

    request = remote.ask(call)

    assert remote.outcome(request) == ("open", "")
    assert isinstance(
        remote.permissions.consider_driven(
            remote.db, sessions.get(remote.db, WORKER), call, key="driven"
        ),
        WaitForAnswer,
    )


@pytest.mark.spec("D1", "D5")
def test_a_plan_is_allowed_by_a_rule_that_names_its_tool(bench: Bench) -> None:
    bench.use('[[allow]]\ntool = { regex = "^(Read|ExitPlanMode)$" }\n')

    assert bench.consider(PLAN_CALL) == Verdict(Outcome.ALLOWED, "rule")


@pytest.mark.spec("D1", "D5")
@pytest.mark.parametrize("call", [QUESTION, PLAN_CALL])
def test_a_question_and_a_plan_can_be_denied_by_any_rule(bench: Bench, call: Call) -> None:
    bench.use('[[deny]]\nproject = "*"\n')

    ruling = bench.consider(call)

    assert isinstance(ruling, Verdict)
    assert ruling.outcome is Outcome.DENIED
