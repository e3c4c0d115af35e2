from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from sqlite3 import Connection, IntegrityError
from typing import Any

import pytest

from rookery.model import facts
from rookery.model.errors import SessionAmbiguous, SessionUnknown
from rookery.model.facts import SessionId
from rookery.model.lifecycle import SessionState, Status
from rookery.model.sessions import NativeId, Sender, Session
from rookery.ports.runtime import HeldProgram, RuntimeHandle
from rookery.ports.terminal import TerminalAddress
from rookery.store import session_bindings, session_lookup, sessions, tokens
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.rows import make

Add = Callable[..., Session]


@pytest.fixture
def add(db: Connection, journal: Journal, clock: FakeClock) -> Add:
    """Add a session that runs, each a second younger than the one before."""

    def add(session: str, **known: Any) -> Session:  # noqa: ANN401 - its fields
        clock.advance(1)
        sessions.add(db, make(journal, session, **known))
        journal.append(db, facts.SessionStarted(SessionId(session)))
        return sessions.get(db, SessionId(session))

    return add


@pytest.fixture
def end(db: Connection, journal: Journal) -> Callable[[Session], None]:
    def end(session: Session) -> None:
        journal.append(db, facts.SessionEnded(session.id, "exit"))

    return end


End = Callable[[Session], None]

HANDLE = RuntimeHandle("any", '{"of": "its runtime: alone"}')


def test_a_session_comes_back_as_it_was_added(db: Connection, journal: Journal) -> None:
    whole = make(
        journal,
        "0123",
        name="builder",
        title="Build it",
        label="left pane",
        native_id=NativeId("n1"),
        project_path="/repo",
        subdir="api",
        tmux_session="rk_0123",
        tmux_pane="%1",
        owner="anna",
        origin="cli",
        first_prompt="Build it",
        model="dream-1",
        permission_mode="plan",
        budget=5_000_000,
        transcript_path="/t",
    )

    sessions.add(db, whole)

    assert sessions.get(db, whole.id) == whole


def test_an_id_that_nobody_has_is_unknown(db: Connection) -> None:
    with pytest.raises(SessionUnknown, match="nobody"):
        sessions.get(db, SessionId("nobody"))


@pytest.mark.spec("A10")
def test_a_session_is_found_by_id_then_name_then_native_id(
    db: Connection, add: Add, end: End
) -> None:
    by_id = add("same", name="first")
    by_name = add("2222", name="same2", native_id="n2")
    by_native_id = add("3333", name="third", native_id="same2")
    named_as_an_id = add("4444", name="same")

    assert session_lookup.resolve(db, "same") == by_id
    assert session_lookup.resolve(db, "same2") == by_name
    assert session_lookup.resolve(db, "4444") == named_as_an_id
    end(by_name)
    assert session_lookup.resolve(db, "same2") == by_native_id


@pytest.mark.spec("A10")
@pytest.mark.parametrize("word", ["builder", "n1"])
def test_the_living_are_meant_before_the_dead(
    db: Connection, add: Add, end: End, word: str
) -> None:
    alive = add("1111", name="builder", native_id="n1")
    end(alive)
    again = add("2222", name="builder", native_id="n1")
    end(again)
    newest = add("3333", name="builder", native_id="n1")

    assert session_lookup.resolve(db, word) == newest
    end(newest)
    assert session_lookup.resolve(db, word).id == newest.id


@pytest.mark.spec("A10")
def test_the_beginning_of_an_id_or_a_name_is_enough_if_it_is_the_only_one(
    db: Connection, add: Add
) -> None:
    one = add("0c41aaaa", name="parser")
    other = add("0c42bbbb", name="painter")

    assert session_lookup.resolve(db, "0c41") == one
    assert session_lookup.resolve(db, "pain") == other
    assert session_lookup.resolve(db, "pai") == other


@pytest.mark.spec("A10")
def test_the_beginning_of_a_native_id_or_of_an_ended_sessions_name_is_enough(
    db: Connection, add: Add, end: End
) -> None:
    one = add("1111aaaa", name="parser", native_id="01a1e546-fc98-77d3")
    other = add("2222bbbb", name="painter", native_id="01a1e546-0000-77d3")

    assert session_lookup.resolve(db, "01a1e546-fc98") == one
    with pytest.raises(SessionAmbiguous):
        session_lookup.resolve(db, "01a1e546")
    end(other)
    assert session_lookup.resolve(db, "01a1e546-0").id == other.id
    assert session_lookup.resolve(db, "pai").id == other.id


@pytest.mark.spec("A10")
def test_a_part_of_a_name_is_enough_where_a_mistake_does_no_harm(
    db: Connection, add: Add
) -> None:
    api = add("1111aaaa", name="web-api")
    add("2222bbbb", name="docs")

    assert session_lookup.resolve(db, "api", by_part=True) == api
    with pytest.raises(
        SessionUnknown, match=r"There is no session 'api'. Did you mean web-api"
    ):
        session_lookup.resolve(db, "api")


@pytest.mark.spec("A10")
def test_a_prefix_is_preferred_to_a_part_and_a_live_session_to_an_ended_one(
    db: Connection, add: Add, end: End
) -> None:
    end(add("1111aaaa", name="api-old"))
    live = add("2222bbbb", name="web-api")
    assert session_lookup.resolve(db, "api", by_part=True) == live

    first = add("3333cccc", name="api-new")
    assert session_lookup.resolve(db, "api", by_part=True) == first
    assert session_lookup.resolve(db, "api-o", by_part=True).name == "api-old"


@pytest.mark.spec("A10")
def test_an_ambiguous_part_lists_whom_it_could_mean(db: Connection, add: Add) -> None:
    add("1111aaaa", name="web-api")
    add("2222bbbb", name="old-api")

    with pytest.raises(SessionAmbiguous, match=r"old-api \(2222bbbb\), web-api \(1111aaaa\)"):
        session_lookup.resolve(db, "api", by_part=True)


@pytest.mark.spec("A10")
def test_parts_and_suggestions_come_only_from_the_sessions_that_may_be_reached(
    db: Connection, add: Add
) -> None:
    near, far = add("1111aaaa", name="web-api"), add("2222bbbb", name="api-far")

    assert session_lookup.resolve(db, "api", among={near.id}, by_part=True) == near
    with pytest.raises(SessionUnknown) as told:
        session_lookup.resolve(db, "api-fax", among={near.id}, by_part=True)
    assert far.name not in str(told.value)


@pytest.mark.spec("A10")
@pytest.mark.parametrize(("word", "name"), [("ap", "pia"), ("aip", "api"), ("API", "api")])
def test_an_unknown_name_is_told_the_nearest_one(
    db: Connection, add: Add, word: str, name: str
) -> None:
    add("1111aaaa", name=name)

    with pytest.raises(SessionUnknown) as told:
        session_lookup.resolve(db, word)

    said = f"There is no session '{word}'"
    assert str(told.value).startswith(said)
    assert (f". Did you mean {name}?" in str(told.value)) is (word != "ap")


@pytest.mark.spec("A10")
def test_that_an_abbreviated_id_is_too_short_is_said(db: Connection, add: Add) -> None:
    add("0c41aaaa", name="parser")

    with pytest.raises(SessionUnknown, match="an abbreviated id needs 4 characters"):
        session_lookup.resolve(db, "0c4")
    with pytest.raises(SessionUnknown) as told:
        session_lookup.resolve(db, "0c43")
    assert "4 characters" not in str(told.value)


@pytest.mark.spec("A10")
def test_an_ambiguous_beginning_lists_whom_it_could_mean(db: Connection, add: Add) -> None:
    add("0c41aaaa", name="parser")
    add("0c41bbbb", name="painter")
    add("ffff0c41", name="other")

    with pytest.raises(SessionAmbiguous) as told:
        session_lookup.resolve(db, "0c41")

    assert "parser (0c41aaaa)" in str(told.value)
    assert "painter (0c41bbbb)" in str(told.value)
    assert "other" not in str(told.value)


@pytest.mark.spec("A10")
def test_the_dead_do_not_make_a_beginning_ambiguous(db: Connection, add: Add, end: End) -> None:
    end(add("0c41aaaa"))
    alive = add("0c41bbbb")

    assert session_lookup.resolve(db, "0c41") == alive
    end(alive)
    with pytest.raises(SessionAmbiguous):
        session_lookup.resolve(db, "0c41")


@pytest.mark.spec("A10")
@pytest.mark.parametrize("word", ["", "0c4", "nobody", "0c4%", "____", "0c41aaaab", "'--"])
def test_who_cannot_be_meant_is_unknown(db: Connection, add: Add, word: str) -> None:
    add("0c41aaaa", name="parser")

    with pytest.raises(SessionUnknown, match="rookery ls"):
        session_lookup.resolve(db, word)


@pytest.mark.spec("A1")
def test_two_live_sessions_never_share_a_name(db: Connection, add: Add, end: End) -> None:
    end(add("1111", name="builder"))
    add("2222", name="builder")

    with pytest.raises(IntegrityError, match="name"):
        add("3333", name="builder")


@pytest.mark.spec("A1", "A10")
def test_two_live_sessions_of_an_agent_never_share_a_native_id(
    db: Connection, add: Add, end: End
) -> None:
    end(add("1111", native_id="n1"))
    add("2222", native_id="n1")
    add("3333", native_id="n1", agent="shell")

    with pytest.raises(IntegrityError, match="native_id"):
        add("4444", native_id="n1")


@pytest.mark.spec("A2")
def test_since_when_and_why_are_known_of_every_state(
    db: Connection, journal: Journal, clock: FakeClock, add: Add
) -> None:
    session = add("1111")
    clock.advance(5)
    journal.append(db, facts.InputAsked(session.id, "permission", "May it?"))
    asked = sessions.get(db, session.id)
    clock.advance(5)
    journal.append(db, facts.MessageWritten(session.id, "anna"))
    written = sessions.get(db, session.id)

    five = timedelta(seconds=5)
    assert (asked.activity, asked.reason) == ("permission", "May it?")
    assert asked.since == session.since + five
    assert (written.since, written.last_activity_at) == (asked.since, asked.since + five)


@pytest.mark.spec("A2", "A4")
def test_the_record_of_the_dead_does_not_change(
    db: Connection, journal: Journal, clock: FakeClock, add: Add, end: End
) -> None:
    session = add("1111")
    end(session)
    over = sessions.get(db, session.id)
    clock.advance(5)

    journal.append(
        db,
        facts.SessionStarted(session.id, model="other"),
        facts.TurnStarted(session.id, "go"),
        facts.EndRequested(session.id, "bert"),
        facts.SessionEnded(session.id, "again", "failed"),
        facts.ConversationLeft(session.id, "clear"),
    )

    assert sessions.get(db, session.id) == over
    assert over.state == SessionState(Status.COMPLETED, None, "exit")
    assert (over.ended_by, over.ended_at) == ("itself", over.since)


@pytest.mark.spec("A4")
def test_who_asked_for_an_end_is_remembered(db: Connection, journal: Journal, add: Add) -> None:
    session = add("1111")

    journal.append(db, facts.EndRequested(session.id, "anna"))
    journal.append(db, facts.SessionEnded(session.id, "exit"))

    over = sessions.get(db, session.id)
    assert (over.status, over.ended_by) == (Status.KILLED, "anna")


def test_what_an_agent_tells_of_itself_at_its_start_is_kept(
    db: Connection, journal: Journal, clock: FakeClock, add: Add
) -> None:
    session = add("1111", model="asked-for", transcript_path="/old")
    clock.advance(60)

    journal.append(db, facts.SessionStarted(session.id, "dream-1", "/new"))
    journal.append(db, facts.SessionStarted(session.id))

    now = sessions.get(db, session.id)
    assert (now.model, now.transcript_path) == ("dream-1", "/new")
    assert now.started_at == session.started_at


@pytest.mark.spec("A1")
def test_a_session_stays_one_when_its_conversation_is_left(
    db: Connection, journal: Journal, add: Add
) -> None:
    session = add("1111", native_id="n1")
    badge = tokens.give_badge(db, session.id, at=journal.clock.now())

    journal.append(db, facts.ConversationLeft(session.id, "clear"))
    left = sessions.get(db, session.id).native_id
    bound = session_bindings.bind(
        db, badge, Sender("demo", NativeId("n2"), "/", "SessionStart", is_new=True)
    )

    assert left is None
    assert bound == session.id
    assert sessions.get(db, session.id).native_id == "n2"


@pytest.mark.spec("A10")
def test_the_ended_leave_the_list_after_a_while(
    db: Connection, clock: FakeClock, add: Add, end: End
) -> None:
    alive, long_ago = add("1111"), add("2222")
    end(long_ago)
    clock.advance(3600)
    just_now = add("3333")
    end(just_now)

    listed = sessions.listed(db, ended_after=clock.now() - timedelta(hours=1))

    assert [each.id for each in listed] == [alive.id, just_now.id]
    assert [each.id for each in sessions.live(db)] == [alive.id]


def test_those_to_be_started_ended_or_cleared_away_are_in_care(
    db: Connection, journal: Journal, add: Add, end: End
) -> None:
    sessions.add(db, make(journal, "starting"))
    closing, held, gone = add("closing"), add("held"), add("gone")
    add("running")
    journal.append(db, facts.EndRequested(closing.id, "anna"))
    for over in (held, gone):
        sessions.hold(db, over.id)
        end(over)
    sessions.let_go(db, gone.id)

    assert sorted(sessions.needing_supervision(db)) == ["closing", "held", "starting"]


@pytest.mark.spec("A8")
def test_a_headless_session_is_in_nobodys_care(db: Connection, journal: Journal) -> None:
    sessions.add(db, make(journal, "1111", runtime="headless"))

    assert sessions.needing_supervision(db) == []


def test_where_a_session_is_held_is_remembered(db: Connection, add: Add) -> None:
    session = add("1111")

    before = sessions.handle_of(db, session.id)
    address = TerminalAddress("rk_1111", "%7")

    sessions.record_held(db, session.id, HeldProgram(HANDLE, address))

    now = sessions.get(db, session.id)
    assert (before, sessions.handle_of(db, session.id)) == (None, HANDLE)
    assert (now.tmux_session, now.tmux_pane, now.tmux_server) == ("rk_1111", "%7", None)
    assert sessions.program_names(db) == {"rk_1111"}


def test_a_program_without_a_terminal_has_a_handle_only(db: Connection, add: Add) -> None:
    session = add("1111", tmux_session=None, tmux_pane=None)

    sessions.record_held(db, session.id, HeldProgram(HANDLE))

    now = sessions.get(db, session.id)
    assert sessions.handle_of(db, session.id) == HANDLE
    assert (now.tmux_session, now.tmux_pane) == (None, None)


@pytest.mark.spec("K5")
def test_a_badge_cannot_be_read_from_the_file(
    db: Connection, journal: Journal, add: Add
) -> None:
    badge = tokens.give_badge(db, add("1111").id, at=journal.clock.now())

    rows = [*db.execute("select * from sessions"), *db.execute("select * from tokens")]

    assert not any(badge in str(value) for row in rows for value in tuple(row))
