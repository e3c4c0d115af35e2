from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any
from uuid import UUID

import pytest

from rookery.agents.catalog import AGENTS
from rookery.model import facts
from rookery.model.errors import (
    AgentUnknown,
    BadInput,
    CommandRefused,
    LimitReached,
    NameTaken,
    ProgramMissing,
    ProjectUnknown,
    RookeryError,
    SessionOver,
    WordsRefused,
)
from rookery.model.lifecycle import Status
from rookery.model.messages import Handling, Urgency, Words
from rookery.model.sessions import Session
from rookery.sessions import commands, starts
from rookery.sessions.commands import MessageSender
from rookery.sessions.start_plans import StartPlan, StartRequest, plan
from rookery.sessions.starts import accept
from rookery.store import session_lookup
from rookery.store import sessions as known
from rookery.store.journal import Journal
from tests.support.rows import WORKER, make, settle_in
from tests.support.waiting import kinds, steps

WORDS = Words("Build it.", 0)

#: How three ids begin and end; the first eight characters are the name in tmux.
IDS = (("0f8a3c1e", "000000000001"), ("0f8a3c1e", "000000000002"), ("1f8a3c1e", "000000000003"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path


def planned(
    project: Path,
    /,
    *,
    limit: int = 100,
    path: str = "/bin",
    **start: Any,  # noqa: ANN401 - its fields
) -> StartPlan:
    wanted = StartRequest(**{"agent": "demo", "project": str(project), **start})
    command = () if wanted.command else ("sh", "-x")
    return plan(wanted, AGENTS, command=command, path=path, limit=limit)


def accepted(db: Connection, journal: Journal, plan: StartPlan) -> Session:
    return accept(db, journal, plan, speaker=MessageSender("anna"))


@pytest.mark.spec("G1")
@pytest.mark.parametrize(
    ("agent", "runtime"),
    [(agent.name, runtime) for agent in AGENTS.values() for runtime in agent.driven],
)
def test_each_agent_starts_in_each_runtime_that_it_offers(
    project: Path, agent: str, runtime: str
) -> None:
    assert planned(project, agent=agent, runtime=runtime).start.runtime == runtime


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("wrong", "error", "told"),
    [
        ({"agent": "nobody"}, AgentUnknown, "There are: .*demo.*shell"),
        ({"project": "/no/such/folder"}, ProjectUnknown, "Create it"),
        ({"project": "/etc/passwd"}, ProjectUnknown, "/etc/passwd"),
        ({"project": "relative"}, ProjectUnknown, "absolute path"),
        ({"project": "/nul\0"}, ProjectUnknown, "nul"),
        ({"runtime": "sdk"}, BadInput, "tmux"),
        ({"name": "two words"}, BadInput, "A name has"),
        ({"command": ("ls",)}, BadInput, "only the agent 'shell'"),
        (
            {"agent": "shell", "command": ("no-such-program",)},
            ProgramMissing,
            "no-such-program",
        ),
        ({"prompt": "nul\0"}, WordsRefused, "NUL"),
        ({"prompt": " "}, WordsRefused, "it is empty"),
    ],
)
def test_a_start_that_cannot_be_is_refused_and_says_what_to_do(
    project: Path, wrong: dict[str, Any], error: type[RookeryError], told: str
) -> None:
    with pytest.raises(error, match=told):
        planned(project, **wrong)


@pytest.mark.spec("A3")
def test_a_missing_program_is_named_with_the_key_that_says_where_it_is(
    project: Path,
) -> None:
    with pytest.raises(ProgramMissing, match=r"\[agents\.demo\] command"):
        planned(project, path=str(project))


def test_a_program_is_found_before_it_is_run_and_keeps_its_arguments(project: Path) -> None:
    assert planned(project).command == ("/bin/sh", "-x")


def test_a_folder_is_known_by_its_real_path(project: Path) -> None:
    (project / "real").mkdir()
    (project / "link").symlink_to("real")

    assert planned(project / "link").project == (project / "real").resolve()


@pytest.mark.spec("A1", "A3")
def test_an_accepted_session_is_a_row_and_its_prompt_waits_for_it(
    db: Connection, journal: Journal, project: Path
) -> None:
    session = accepted(db, journal, planned(project, prompt="Fix the parser, please"))

    assert session.status is Status.STARTING
    assert (session.name, session.title) == ("fix-parser", "Fix the parser, please")
    assert (session.owner, session.origin, session.computer) == ("anna", "anna", "here")
    assert str(session.native_id) == session.id == str(UUID(session.id))
    assert session.tmux_session == f"rk_{session.id[:8]}"
    assert session.project_path == str(project)
    assert steps(db) == ["pending"]
    assert kinds(db) == ["session-requested", "message-written"]
    assert known.launch_of(db, session.id)["command"] == ["/bin/sh", "-x"]


@pytest.mark.spec("B1")
def test_an_id_that_begins_like_another_sessions_is_not_taken(
    db: Connection, journal: Journal
) -> None:
    one, like_it, other = (f"{begins}-0000-4000-8000-{end}" for begins, end in IDS)
    known.add(db, make(journal, one))
    ids = iter([one, like_it, other])

    assert starts._new_id(db, lambda: next(ids)) == other  # noqa: SLF001 - by chance only


@pytest.mark.spec("A1")
def test_a_native_id_is_left_to_the_agent_that_chooses_it(
    db: Connection, journal: Journal, project: Path
) -> None:
    assert accepted(db, journal, planned(project, agent="shell")).native_id is None


@pytest.mark.spec("A1")
def test_names_of_the_living_are_counted_up_and_those_of_the_dead_are_free(
    db: Connection, journal: Journal, project: Path
) -> None:
    wanted = planned(project, prompt="Fix it")

    first, second = accepted(db, journal, wanted), accepted(db, journal, wanted)
    journal.append(db, facts.SessionEnded(first.id, "exit"))
    third = accepted(db, journal, wanted)

    assert [each.name for each in (first, second, third)] == ["fix", "fix-2", "fix"]


@pytest.mark.spec("A1", "A3")
def test_a_name_that_was_asked_for_is_given_or_refused_never_changed(
    db: Connection, journal: Journal, project: Path
) -> None:
    wanted = planned(project, name="builder")
    assert accepted(db, journal, wanted).name == "builder"

    with pytest.raises(NameTaken, match="builder"):
        accepted(db, journal, wanted)


@pytest.mark.spec("A3")
def test_there_are_never_more_sessions_than_allowed(
    db: Connection, journal: Journal, project: Path
) -> None:
    wanted = planned(project, limit=2)
    first, _ = accepted(db, journal, wanted), accepted(db, journal, wanted)
    with pytest.raises(LimitReached, match=r"limits\.tmux_sessions"):
        accepted(db, journal, wanted)

    journal.append(db, facts.SessionEnded(first.id, "exit"))

    assert accepted(db, journal, wanted).status is Status.STARTING


@pytest.mark.spec("A8")
def test_sessions_that_nobody_started_do_not_count(
    db: Connection, journal: Journal, project: Path
) -> None:
    settle_in(db, journal)
    db.execute("update sessions set runtime = 'headless'")

    assert accepted(db, journal, planned(project, limit=1))


@pytest.mark.spec("A1")
def test_who_spoke_last_is_remembered(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)

    commands.send(db, journal, speaker=MessageSender("bert"), recipient=WORKER, words=WORDS)

    assert known.get(db, WORKER).last_input_origin == "bert"


@pytest.mark.parametrize(
    "fact", [facts.SessionEnded(WORKER, "exit"), facts.EndRequested(WORKER, "a")]
)
def test_nobody_can_speak_to_one_who_is_over_or_about_to_be(
    db: Connection, journal: Journal, fact: facts.Fact
) -> None:
    settle_in(db, journal)
    journal.append(db, fact)

    with pytest.raises(SessionOver, match="worker"):
        commands.send(db, journal, speaker=MessageSender("anna"), recipient=WORKER, words=WORDS)


@pytest.mark.spec("G3")
def test_a_session_of_one_turn_takes_only_messages_that_steer_its_turn(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)
    launch = {"driving": {"single_turn": True}}
    db.execute("update sessions set launch = ?", (json.dumps(launch),))
    send = partial(
        commands.send,
        *(db, journal),
        speaker=MessageSender("anna"),
        recipient=WORKER,
        words=WORDS,
    )

    with pytest.raises(CommandRefused, match="ends after its first turn"):
        send()
    send(handling=Handling(urgency=Urgency.STEER))

    assert steps(db) == ["pending"]


@pytest.mark.spec("A8")
def test_a_headless_session_can_be_neither_spoken_to_nor_ended(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)
    db.execute("update sessions set runtime = 'headless'")

    with pytest.raises(CommandRefused, match="no pane"):
        commands.send(db, journal, speaker=MessageSender("anna"), recipient=WORKER, words=WORDS)
    with pytest.raises(CommandRefused, match="where it runs"):
        commands.end(db, journal, WORKER, by="anna")


@pytest.mark.spec("A1")
def test_a_session_can_be_called_otherwise(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)

    commands.rename(db, journal, WORKER, name="builder")
    commands.rename(db, journal, WORKER, name="builder")

    assert session_lookup.resolve(db, "builder").id == WORKER
    assert kinds(db).count("session-renamed") == 1


@pytest.mark.spec("A1")
def test_no_session_is_called_as_another_or_once_it_is_over(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)
    with pytest.raises(NameTaken, match="anna"):
        commands.rename(db, journal, WORKER, name="anna")
    journal.append(db, facts.SessionEnded(WORKER, "exit"))

    with pytest.raises(SessionOver, match="keeps its name"):
        commands.rename(db, journal, WORKER, name="late")


@pytest.mark.spec("A4")
def test_ending_twice_is_a_success_that_does_nothing(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)

    commands.end(db, journal, WORKER, by="anna")
    closing = known.get(db, WORKER)
    commands.end(db, journal, WORKER, by="bert")
    journal.append(db, facts.SessionEnded(WORKER, "exit"))
    commands.end(db, journal, WORKER, by="bert")

    assert closing.status is Status.CLOSING
    assert kinds(db).count("end-requested") == 1
    assert known.get(db, WORKER).ended_by == "anna"
