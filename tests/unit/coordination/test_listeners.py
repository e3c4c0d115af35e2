from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from sqlite3 import Connection

import anyio
import pytest

from rookery.coordination import relays
from rookery.coordination.listener_deadlines import ListenerDeadlines
from rookery.coordination.listeners import listen_to_several, stop_listening
from rookery.model import facts
from rookery.model.errors import BadInput, SessionOver
from rookery.model.facts import Fact, SessionId
from rookery.model.listeners import Listener, Until
from rookery.model.messages import MessageId, Step
from rookery.model.permissions import Call, Question, RequestId
from rookery.model.relays import RelayId, RelayLimits
from rookery.store import (
    dialogs,
    flags,
    listeners,
    message_batches,
    messages,
    requests,
    session_families,
)
from rookery.store.journal import Journal
from rookery.store.requests import Asking
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import ANNA, BERT, WORKER
from tests.support.team import Office

READ = "Use rookery__get_session_data(computer='here', session_id='worker')"
FINISHED = f'Session worker on here "worker\'s work" finished its turn. {READ}'


@pytest.fixture
def office(db: Connection, journal: Journal) -> Office:
    return Office(db, journal)


@pytest.fixture
def supervisor(office: Office) -> ListenerDeadlines:
    return ListenerDeadlines(office.journal, timedelta(seconds=60), timedelta(minutes=10))


@pytest.mark.spec("E1", "E2")
def test_every_caller_is_told_of_the_stop_once(office: Office) -> None:
    office.listen(ANNA, WORKER)
    office.listen(BERT, WORKER)

    office.happen(facts.TurnEnded(WORKER), facts.TurnEnded(WORKER))

    assert office.told() == [(ANNA, FINISHED), (BERT, FINISHED)]


@pytest.mark.spec("E1")
def test_listening_twice_is_listening_once(office: Office) -> None:
    assert office.listen(ANNA, WORKER)
    assert not office.listen(ANNA, WORKER, Until.END)

    office.happen(facts.TurnEnded(WORKER))

    assert office.told() == [(ANNA, FINISHED)]


@pytest.mark.spec("E2")
def test_an_input_request_tells_once_and_leaves_the_caller_waiting(office: Office) -> None:
    office.listen(ANNA, WORKER)

    asked = facts.InputAsked(WORKER, "question", "Which colour?", "r1")
    office.happen(asked, asked, facts.TurnEnded(WORKER))

    told, stopped = office.told()
    person = "A person must answer it."
    assert told == (ANNA, f"Session worker on here needs input: Which colour? {person}")
    assert stopped == (ANNA, FINISHED)


@pytest.mark.spec("E2")
def test_another_request_is_told_as_well(office: Office) -> None:
    office.listen(ANNA, WORKER)

    for request in ("r1", "r2"):
        office.happen(facts.InputAsked(WORKER, "permission", "May it?", request))

    assert len(office.told()) == 2


@pytest.mark.spec("E2")
def test_with_two_open_requests_each_is_told_once_however_often_it_is_reported(
    office: Office,
) -> None:
    office.listen(ANNA, WORKER)
    office.listen(BERT, WORKER, repeat=True)

    for request in ("r1", "r2", "r1", "r2", "r1"):
        office.happen(facts.InputAsked(WORKER, "permission", f"May it {request}?", request))

    told = [(caller, words.split("?")[0].split()[-1]) for caller, words in office.told()]
    assert sorted(told) == [(ANNA, "r1"), (ANNA, "r2"), (BERT, "r1"), (BERT, "r2")]


@pytest.mark.spec("E2")
@pytest.mark.parametrize(
    ("ending", "how"),
    [
        ([facts.SessionEnded(WORKER, "exit")], "completed: exit"),
        ([facts.SessionEnded(WORKER, "signal 9", "failed")], "failed: signal 9"),
        (
            [facts.SessionEnded(WORKER, "lost while the daemon was away", "failed")],
            "failed: lost while the daemon was away",
        ),
        (
            [facts.EndRequested(WORKER, "bert"), facts.SessionEnded(WORKER, "exit")],
            "killed: asked to end by bert",
        ),
    ],
)
def test_the_end_of_the_target_is_told_with_its_reason(
    office: Office, ending: list[Fact], how: str
) -> None:
    office.ask(ANNA, WORKER, "Build it.")

    office.happen(*ending)

    assert office.told() == [(ANNA, f'Session worker on here "worker\'s work" {how}. {READ}')]


@pytest.mark.spec("E2")
@pytest.mark.parametrize(
    ("ended", "how"),
    [
        (facts.TurnEnded(WORKER, how="interrupted"), "was interrupted."),
        (facts.TurnEnded(WORKER, "API error", "failed"), "failed in its turn: API error"),
    ],
)
def test_a_turn_that_did_not_finish_is_told_as_such(
    office: Office, ended: Fact, how: str
) -> None:
    office.listen(ANNA, WORKER)

    office.happen(ended)

    assert office.told() == [(ANNA, f'Session worker on here "worker\'s work" {how} {READ}')]


@pytest.mark.spec("E2")
@pytest.mark.parametrize(
    ("pressed", "how"),
    [
        ([facts.KeysPressed(WORKER, "Escape", "person")], " by a person."),
        ([facts.KeysPressed(WORKER, "Escape", "session bert")], " by session bert."),
        ([facts.KeysPressed(WORKER, "1", "person", "request")], "."),
        ([facts.KeysPressed(BERT, "Escape", "person")], "."),
    ],
)
def test_an_interruption_is_told_with_the_one_that_asked_for_it(
    office: Office, pressed: list[Fact], how: str
) -> None:
    office.listen(ANNA, WORKER)
    earlier = facts.KeysPressed(WORKER, "Escape", "person")

    office.happen(earlier, facts.TurnStarted(WORKER, "go"), *pressed)
    office.happen(facts.TurnEnded(WORKER, "Half an answer", "interrupted"))

    said = f'Session worker on here "worker\'s work" was interrupted{how} {READ}'
    assert office.told() == [(ANNA, said)]


@pytest.mark.spec("E3")
def test_a_caller_that_ended_waits_for_nothing(office: Office) -> None:
    office.listen(ANNA, WORKER)

    office.happen(facts.SessionEnded(ANNA, "exit"), facts.TurnEnded(WORKER))

    assert office.told() == []


@pytest.mark.spec("E3")
def test_a_caller_may_stop_listening(office: Office) -> None:
    office.listen(ANNA, WORKER)

    listener = Listener(caller=ANNA, target=WORKER)
    assert stop_listening(office.db, office.journal, listener)
    assert not stop_listening(office.db, office.journal, listener)
    office.happen(facts.TurnEnded(WORKER))
    assert office.told() == []


@pytest.mark.spec("E5")
def test_who_wants_to_wait_for_one_that_is_over_hears_why_it_is(office: Office) -> None:
    office.happen(facts.SessionEnded(WORKER, "exit code 3", "failed"))

    with pytest.raises(SessionOver, match="failed: exit code 3"):
        office.listen(ANNA, WORKER)


def test_nobody_waits_for_itself(office: Office) -> None:
    with pytest.raises(BadInput):
        office.listen(ANNA, ANNA)


@pytest.mark.spec("E7")
def test_who_asked_is_told_of_the_turn_that_took_the_words_up(office: Office) -> None:
    office.happen(facts.TurnStarted(WORKER, "its person's words"))
    office.ask(ANNA, WORKER, "Build it.")

    office.happen(facts.TurnEnded(WORKER))
    early = office.told()
    parcel = office.paste(WORKER)
    office.happen(facts.TurnStarted(WORKER, parcel.words), facts.TurnEnded(WORKER))

    assert early == []
    assert office.told() == [(ANNA, FINISHED)]


@pytest.mark.spec("E7")
def test_words_that_came_during_a_turn_are_answered_by_the_turn_that_they_become(
    office: Office,
) -> None:
    office.ask(ANNA, WORKER, "Build it.")
    parcel = office.paste(WORKER)
    office.happen(facts.TurnStarted(WORKER, "its person's words", "t1"))
    office.happen(facts.TurnStarted(WORKER, parcel.words, "t1"))

    office.happen(facts.TurnEnded(WORKER, "First.", turn="t1"), facts.QueueTaken(WORKER))
    early = office.told()
    office.happen(facts.TurnEnded(WORKER, "Built."))

    assert early == []
    assert office.told() == [(ANNA, FINISHED)]


@pytest.mark.spec("E6")
def test_who_asked_is_told_when_nobody_knows_whether_the_words_arrived(office: Office) -> None:
    office.ask(ANNA, WORKER, "Build it.")
    office.listen(BERT, WORKER)
    parcel = office.paste(WORKER)

    message_batches.move(office.db, parcel, Step.UNSURE)
    office.happen(facts.DeliveryDoubted(WORKER, parcel.id))

    words = f'Session worker on here "worker\'s work" may not have got your words. {READ}'
    assert office.told() == [(ANNA, words)]


@pytest.mark.spec("E6")
def test_who_asked_is_told_when_the_words_were_refused(office: Office) -> None:
    office.ask(ANNA, WORKER, "Build it.")
    parcel = office.paste(WORKER)

    message_batches.fail(office.db, parcel, reason="two lines")
    office.happen(facts.DeliveryWaited(WORKER, "two lines"))

    assert [caller for caller, _ in office.told()] == [ANNA]


@pytest.mark.spec("E1", "I2")
def test_who_gave_a_command_is_told_when_the_program_took_it(office: Office) -> None:
    office.ask(ANNA, WORKER, "Build it.")
    office.listen(BERT, WORKER)
    parcel = office.paste(WORKER)

    office.happen(facts.CommandTaken(WORKER, parcel.id))

    words = f'Session worker on here "worker\'s work" has taken your command. {READ}'
    assert office.told() == [(ANNA, words)]
    message = messages.get(office.db, MessageId(parcel.id))
    assert message
    assert message.step is Step.ACKNOWLEDGED


@pytest.mark.spec("E7")
@pytest.mark.parametrize(
    ("until", "told"),
    [
        (Until.STOP, ["needs input", "finished"]),
        (Until.INPUT, ["needs input"]),
        (Until.END, ["completed"]),
        (Until.ANY, ["needs input"]),
    ],
)
def test_a_caller_says_what_it_waits_for(office: Office, until: Until, told: list[str]) -> None:
    office.listen(ANNA, WORKER, until)

    office.happen(
        facts.InputAsked(WORKER, "permission", "May it?", "r1"),
        facts.TurnEnded(WORKER),
        facts.SessionEnded(WORKER, "exit"),
    )

    assert len(office.told()) == len(told)
    assert all(how in words for how, (_, words) in zip(told, office.told(), strict=True))


@pytest.mark.spec("E7")
def test_one_that_lasts_is_told_again_and_again_and_of_the_end_once(office: Office) -> None:
    office.listen(ANNA, WORKER, repeat=True)

    office.happen(facts.TurnEnded(WORKER), facts.TurnEnded(WORKER))
    office.happen(facts.SessionEnded(WORKER, "exit"))

    assert [words == FINISHED for _, words in office.told()] == [True, True, False]


@pytest.mark.spec("E7")
@pytest.mark.parametrize(("needed", "stops"), [(1, 1), (2, 2)])
def test_several_are_told_of_at_once_when_enough_are_there(
    office: Office, needed: int, stops: int
) -> None:
    office.ask(ANNA, WORKER, "Build it.")
    wanted = [Listener(caller=ANNA, target=each) for each in (WORKER, BERT)]
    listen_to_several(office.db, office.journal, wanted, needed=needed, deadline=None)

    quiet = []
    for stopped in (BERT, WORKER)[:stops]:
        quiet.append(office.told())
        parcel = office.paste(stopped) if stopped == WORKER else None
        office.happen(facts.TurnStarted(stopped, parcel.words if parcel else "Hi."))
        office.happen(facts.TurnEnded(stopped))

    assert quiet == [[]] * stops
    ((caller, words),) = office.told()
    assert caller == ANNA
    assert len(words.splitlines()) == stops
    assert listeners.known(office.db) == []


@pytest.mark.spec("E7")
def test_at_the_deadline_it_is_said_who_is_not_there(
    office: Office, supervisor: ListenerDeadlines, clock: FakeClock
) -> None:
    wanted = [Listener(caller=ANNA, target=each) for each in (WORKER, BERT)]
    soon = timedelta(seconds=30)
    listen_to_several(office.db, office.journal, wanted, needed=2, deadline=soon)
    office.happen(facts.TurnEnded(BERT))

    early = supervisor.expire(office.db)
    clock.advance(31)
    late = supervisor.expire(office.db)
    office.happen(facts.TurnEnded(WORKER))

    assert (early, late) == (0, 1)
    ((_, words),) = office.told()
    heard, missing = words.splitlines()
    assert "Session bert" in heard
    assert missing.startswith("worker did not get there in time.")


@pytest.mark.spec("E7")
def test_a_wait_that_loses_a_listener_needs_one_less(office: Office) -> None:
    wanted = [Listener(caller=ANNA, target=each) for each in (WORKER, BERT)]
    listen_to_several(office.db, office.journal, wanted, needed=2, deadline=None)

    listeners.remove(office.db, caller=ANNA, target=BERT)
    office.happen(facts.TurnEnded(WORKER))

    assert office.told() == [(ANNA, FINISHED)]


@pytest.mark.spec("E7")
@pytest.mark.parametrize("how", ["stopped listening", "another wait"])
def test_what_a_wait_has_heard_is_told_when_nothing_is_left_in_it_to_wait_for(
    office: Office, how: str
) -> None:
    wanted = [Listener(caller=ANNA, target=each) for each in (WORKER, BERT)]
    listen_to_several(office.db, office.journal, wanted, needed=2, deadline=None)
    office.happen(facts.TurnEnded(WORKER))
    left = Listener(caller=ANNA, target=BERT)

    if how == "stopped listening":
        stop_listening(office.db, office.journal, left)
    else:
        listen_to_several(office.db, office.journal, [left], needed=1, deadline=None)

    assert office.told() == [(ANNA, FINISHED)]


@pytest.mark.spec("E7")
def test_a_ring_is_said_to_all_in_it_when_it_closes(office: Office) -> None:
    office.listen(ANNA, BERT)
    office.listen(BERT, WORKER)
    assert office.told() == []

    office.listen(WORKER, ANNA)

    told = office.told()
    assert {caller for caller, _ in told} == {ANNA, BERT, WORKER}
    assert all("worker → anna → bert → worker" in words for _, words in told)
    kinds = [row["kind"] for row in office.db.execute("select kind from entries")]
    assert kinds.count("ring-closed") == 1


@pytest.mark.spec("E7")
def test_a_ring_with_words_under_way_is_noted_and_wakes_nobody(office: Office) -> None:
    office.ask(ANNA, BERT, "Do it.")
    office.ask(BERT, ANNA, "Done?")

    assert office.told() == []
    rows = office.db.execute("select kind from entries where kind = 'ring-closed'").fetchall()
    assert len(rows) == 1


@pytest.mark.spec("E5")
def test_who_waits_long_for_one_that_lives_waits_on(
    office: Office, supervisor: ListenerDeadlines, clock: FakeClock
) -> None:
    office.listen(ANNA, WORKER)
    clock.advance(601)

    supervisor.look_after(office.db)
    again = listeners.stale(office.db, before=clock.now() - timedelta(minutes=10))
    office.happen(facts.TurnEnded(WORKER))

    assert again == []
    assert office.told() == [(ANNA, FINISHED)]


@pytest.mark.spec("E5")
def test_who_waits_for_the_dead_is_told_at_the_next_look(
    office: Office, supervisor: ListenerDeadlines, clock: FakeClock
) -> None:
    office.listen(ANNA, WORKER)
    office.db.execute(
        "update sessions set status = 'failed', activity = null,"
        " ended_at = since, reason = 'lost' where id = 'worker'"
    )
    clock.advance(601)

    supervisor.look_after(office.db)
    supervisor.look_after(office.db)

    assert [caller for caller, _ in office.told()] == [ANNA]
    assert listeners.known(office.db) == []


@pytest.mark.anyio
@pytest.mark.spec("E5")
async def test_those_who_wait_long_are_looked_after_at_every_check(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    def wait_for_one_that_died_untold(db: Connection) -> Office:
        office = Office(db, Journal("here", clock, readers={}))
        office.listen(ANNA, WORKER)
        db.execute(
            "update sessions set status = 'failed', activity = null,"
            " ended_at = since, reason = 'lost' where id = 'worker'"
        )
        return office

    office = await database.write(wait_for_one_that_died_untold)
    supervisor = ListenerDeadlines(office.journal, timedelta(seconds=60), timedelta(minutes=10))
    clock.advance(601)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.keep_time, database)
        await database.rest()
        clock.advance(59)
        await database.rest()
        early = await database.read(listeners.known)
        rung = database.bells.of_work()
        clock.advance(1)
        await database.rest()
        late = await database.read(listeners.known)
        tasks.cancel_scope.cancel()

    assert (len(early), late) == (1, [])
    assert rung.is_set(), "the message is delivered at once"


def test_a_listener_hears_nothing_older_than_itself(office: Office) -> None:
    seq = office.happen(facts.TurnEnded(WORKER))
    office.listen(ANNA, WORKER)
    # The reader has fallen behind, and comes to that stop only now.
    office.db.execute("update bookmarks set seq = ? where reader = 'listeners'", (seq - 1,))

    while office.journal.show_page("listeners", office.db):
        pass

    assert office.told() == []


@pytest.mark.spec("E2", "E6")
def test_all_that_waits_comes_under_one_envelope_each_text_on_its_line(office: Office) -> None:
    office.listen(ANNA, WORKER)
    office.listen(ANNA, BERT)

    office.happen(facts.TurnEnded(WORKER), facts.TurnEnded(BERT))

    above, first, second = office.paste(ANNA).words.splitlines()
    assert above == "[rookery] Rookery to anna: what you wait for"
    assert first == FINISHED
    assert second.startswith("Session bert on here")


@pytest.mark.spec("E1", "I5")
def test_since_when_somebody_waits_is_known_also_when_the_journal_has_forgotten(
    office: Office, clock: FakeClock
) -> None:
    office.happen(facts.TurnEnded(WORKER))
    began = clock.now()
    office.listen(ANNA, WORKER)
    clock.advance(60)

    (before,) = listeners.known(office.db)
    office.db.execute("delete from entries")
    (after,) = listeners.known(office.db)

    assert before.since == after.since == began


def asked_by_hook(
    office: Office, *questions: Question, by_keys: bool = False, tool: str = "AskUserQuestion"
) -> str:
    """Have the worker ask something that can be answered from elsewhere."""
    call, now = Call(tool, {"command": "ls"}, questions), office.journal.clock.now()
    hook = None if by_keys else "k1"
    request = requests.add(office.db, WORKER, call, Asking(now, None, hook))
    office.happen(facts.InputAsked(WORKER, call.kind, call.summary, request))
    return request


COLOUR = Question("Which colour?", ("Red", "Blue"))


@pytest.mark.spec("E2")
@pytest.mark.parametrize("by_keys", [False, True])
def test_a_question_is_told_with_its_options_and_how_to_answer_it(
    office: Office, *, by_keys: bool
) -> None:
    office.listen(ANNA, WORKER)
    request = asked_by_hook(office, COLOUR, by_keys=by_keys)

    ((_, words),) = office.told()
    hint = (
        "Use rookery__send_message(computer='here', session_id='worker',"
        f" answer_to='{request}', ...)"
    )
    asked = "Which colour? (1. Red, 2. Blue)"
    assert words == f"Session worker on here needs input: {asked} {hint}"
    assert dialogs.was_told(office.db, RequestId(request), ANNA)
    assert not dialogs.was_told(office.db, RequestId(request), BERT)


@pytest.mark.spec("E2")
def test_what_would_be_refused_is_not_named(office: Office) -> None:
    office.listen(ANNA, WORKER)
    asked_by_hook(office, Question("Which colour?"), by_keys=True)

    ((_, words),) = office.told()
    assert words.endswith("needs input: Which colour? A person must answer it.")


@pytest.mark.spec("E2", "D3")
@pytest.mark.parametrize("may", [False, True])
@pytest.mark.parametrize("is_parent", [False, True])
def test_a_permission_is_for_a_person_unless_parents_may_answer(
    office: Office, *, may: bool, is_parent: bool
) -> None:
    flags.let_parents_answer(office.db, on=may)
    if is_parent:
        office.db.execute("update sessions set parent = ? where id = ?", (ANNA, WORKER))
    office.listen(ANNA, WORKER)
    request = asked_by_hook(office, tool="Bash")

    ((_, words),) = office.told()
    tool = f"Use rookery__answer_permission(computer='here', permission='{request}', ...)"
    how = tool if may and is_parent else "A person must allow or deny it."
    assert words == f"Session worker on here needs input: May it use Bash? ls {how}"


@pytest.mark.spec("E2", "K5")
@pytest.mark.parametrize(
    "happened",
    [
        facts.TurnEnded(WORKER, "Done."),
        facts.TurnEnded(WORKER, "It failed.", "failed"),
        facts.TurnEnded(WORKER, "", "interrupted"),
        facts.SessionEnded(WORKER, "it exited with status 0"),
    ],
)
def test_who_may_not_read_a_session_is_told_of_it_without_a_tool_to_do_so(
    db: Connection, journal: Journal, happened: facts.Fact
) -> None:
    office = Office(db, journal)
    session_families.trust_all(db, on=False)
    office.listen(ANNA, WORKER)
    office.listen(BERT, WORKER)
    db.execute("update sessions set parent = ? where id = ?", (BERT, WORKER))

    office.happen(happened)

    told = dict(office.told())
    assert told[BERT].startswith(told[ANNA])
    assert "rookery__" not in told[ANNA]
    assert "Use rookery__get_session_data(" in told[BERT]


@pytest.mark.spec("E2", "K5")
@pytest.mark.parametrize("how", ["relay", "trust"])
def test_who_may_read_a_session_otherwise_is_told_how(
    db: Connection, journal: Journal, how: str
) -> None:
    office = Office(db, journal)
    office.listen(ANNA, WORKER)
    if how == "relay":
        session_families.trust_all(db, on=False)
        limits = RelayLimits(hops=8, a_minute=20, length=12_000)
        relays.join_pair(db, office.journal, (ANNA, WORKER), limits=limits)

    office.happen(facts.TurnEnded(WORKER, "Done."))

    assert "Use rookery__get_session_data(" in dict(office.told())[ANNA]


def talk_of_strangers(db: Connection, journal: Journal) -> tuple[Office, RelayId]:
    office = Office(db, journal)
    session_families.trust_all(db, on=False)
    limits = RelayLimits(hops=8, a_minute=20, length=12_000)
    members = [(each, "") for each in (ANNA, BERT, WORKER)]
    made = relays.create(db, office.journal, members, by="person", limits=limits)
    return office, made.id


def close(office: Office, relay: RelayId) -> None:
    relays.close(office.db, office.journal, relay, by="person", reason="closed")


def leave(office: Office, relay: RelayId, *, who: SessionId) -> None:
    relays.leave(office.db, office.journal, relay, who, reason="it left")


@pytest.mark.spec("F1", "E7")
@pytest.mark.parametrize(
    "part",
    [close, partial(leave, who=ANNA), partial(leave, who=WORKER)],
    ids=["closed", "caller left", "target left"],
)
def test_a_lasting_listener_ends_with_the_relay_that_gave_reach_and_says_so(
    db: Connection, journal: Journal, part: Callable[[Office, RelayId], None]
) -> None:
    office, relay = talk_of_strangers(db, journal)
    office.listen(ANNA, WORKER, repeat=True)

    part(office, relay)
    office.happen(facts.TurnStarted(WORKER, "go"), facts.TurnEnded(WORKER, "Secret."))

    ((to, words),) = office.told()
    ended = "is not your relay peer any more: you are told of it no longer."
    assert (to, words) == (ANNA, f'Session worker on here "worker\'s work" {ended}')
    assert not listeners.known(db)


@pytest.mark.spec("F1", "E7")
def test_all_lasting_listeners_of_a_session_that_leaves_a_relay_end_in_one_message(
    db: Connection, journal: Journal
) -> None:
    office, relay = talk_of_strangers(db, journal)
    for target in (BERT, WORKER):
        office.listen(ANNA, target, repeat=True)

    leave(office, relay, who=ANNA)

    ((to, words),) = office.told()
    assert to == ANNA
    assert [line.split('"')[0] for line in words.splitlines()] == [
        "Session bert on here ",
        "Session worker on here ",
    ]
    assert not listeners.known(db)


@pytest.mark.spec("F1", "E7")
def test_a_lasting_listener_ends_with_the_last_relay_that_gave_reach(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    office, first = talk_of_strangers(db, journal)
    office.listen(ANNA, WORKER, repeat=True)
    clock.advance(60)
    limits = RelayLimits(hops=8, a_minute=20, length=12_000)
    last = relays.join_pair(db, office.journal, (ANNA, WORKER), limits=limits)

    close(office, first)
    between = listeners.known(db)
    close(office, last.id)

    assert [(each.caller, each.target) for each in between] == [(ANNA, WORKER)]
    assert not listeners.known(db)


@pytest.mark.spec("F1", "E7")
@pytest.mark.parametrize("how", ["family", "another relay", "made before", "told once"])
def test_a_listener_that_did_not_need_the_relay_outlives_it(
    db: Connection, journal: Journal, clock: FakeClock, how: str
) -> None:
    if how == "made before":
        office = Office(db, journal)
        office.listen(ANNA, WORKER, repeat=True)
        clock.advance(60)
        limits = RelayLimits(hops=8, a_minute=20, length=12_000)
        relay = relays.join_pair(db, office.journal, (ANNA, WORKER), limits=limits).id
        session_families.trust_all(db, on=False)
    else:
        office, relay = talk_of_strangers(db, journal)
        office.listen(ANNA, WORKER, repeat=how != "told once")
    if how == "family":
        db.execute("update sessions set parent = ? where id = ?", (ANNA, WORKER))
    if how == "another relay":
        limits = RelayLimits(hops=8, a_minute=20, length=12_000)
        relays.join_pair(db, office.journal, (ANNA, WORKER), limits=limits)

    close(office, relay)

    assert [(each.caller, each.target) for each in listeners.known(db)] == [(ANNA, WORKER)]
    assert office.told() == []


@pytest.mark.spec("E7")
def test_a_stop_that_is_read_late_fires_no_listener_of_a_message_taken_up_after_it(
    office: Office,
) -> None:
    office.happen(facts.TurnStarted(WORKER, "its person's words"))
    office.ask(ANNA, WORKER, "Build it.")
    # A journal without readers: theirs finds both stops in the store.
    unread = Journal(office.journal.computer, office.journal.clock, {})
    early = unread.append(office.db, facts.TurnEnded(WORKER, how="interrupted"))
    parcel = office.paste(WORKER)
    started = facts.TurnStarted(WORKER, parcel.words)
    late = unread.append(office.db, started, facts.TurnEnded(WORKER))

    fired = [listeners.of_stop(office.db, WORKER, seq=seq) for seq in (early, late)]

    assert [[each.caller for each in found] for found in fired] == [[], [ANNA]]
