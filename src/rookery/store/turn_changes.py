"""Apply facts to turns: open, pause and close them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection, Row

from rookery.model import attribution, facts
from rookery.model.attribution import OpenTurn
from rookery.model.facts import Fact, SessionId
from rookery.store import session_changes, session_days
from rookery.store.timestamps import stamp
from rookery.store.turns import MAX_TEXT_CHARACTERS

#: Maximum delay from seeing the end of a turn to the agent's own report of it.
AMENDED = timedelta(seconds=30)

#: Maximum delay from seeing the start of a turn to the report of its prompt.
COMPLETED = timedelta(seconds=20)

#: Latest turns that are searched for the turn with an agent's id.
RECENT_TURNS = 8


@dataclass(frozen=True, slots=True)
class FactContext:
    """What is known about a fact besides its content."""

    seq: int  #: the number of its entry
    at: datetime
    was_idle: bool = False  #: no turn ran before it
    parcel: int | None = None  #: the parcel whose arrival it proves


#: The facts that change turns; most other facts are far more frequent.
PROJECTED: frozenset[type[Fact]] = frozenset(
    {
        *(facts.TurnStarted, facts.TurnPaused, facts.TurnEnded),
        *(facts.ToolUsed, facts.PromptFound, facts.SessionEnded),
    }
)


def project(db: Connection, fact: Fact, known: FactContext) -> bool:
    """Open, pause or close turns according to ``fact``.

    Returns whether a turn took its prompt or its answer, which was not known before.
    """
    match fact:
        case facts.TurnStarted():
            return _begin(db, fact, known)
        case facts.ToolUsed(session, subagent=""):
            # With a tool's result, the agent passes its model the prompts typed meanwhile.
            db.execute(
                "update turns indexed by turns_open set queued = 'taken_in'"
                " where session = ? and ended_at is null and queued = 'waiting'",
                (session,),
            )
        case facts.PromptFound(session, prompt):
            found = db.execute(
                "update turns set prompt = ? where session = ? and prompt = ''"
                " and started_by = (select max(started_by) from turns where session = ?)",
                (prompt[:MAX_TEXT_CHARACTERS], session, session),
            )
            session_changes.note_first_prompt(db, session, prompt)
            return found.rowcount > 0
        case facts.TurnPaused(session, last_words, native_id):
            return _pause(db, session, native_id, answer=last_words)
        case facts.TurnEnded():
            return _end(db, fact, at=known.at)
        case facts.SessionEnded(session):
            _close(db, session, _numbers(db, session), Closing("failed", "", known.at))
        case _:
            pass
    return False


def _begin(db: Connection, fact: facts.TurnStarted, known: FactContext) -> bool:
    """Open a turn, unless the prompt is part of an open one. Return whether it is new."""
    is_unprompted = not (fact.resumes or known.was_idle) and _is_unprompted(db, fact.session)
    if _joins_open_turn(db, fact, known):
        return is_unprompted
    if fact.is_only_one:
        # A refusal at the keyboard may have ended earlier turns without a hook.
        unanswered = _numbers(db, fact.session)
        _close(db, fact.session, unanswered, Closing("interrupted", "", known.at))
    queued = ""
    if fact.turn and attribution.is_queued(open_turns(db, fact.session), fact.turn):
        queued = "taken_in" if fact.is_taken_in else "waiting"
    db.execute(
        "insert into turns (session, started_by, prompt, started_at, parcel, native_id, queued)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        (
            fact.session,
            known.seq,
            fact.prompt[:MAX_TEXT_CHARACTERS],
            stamp(known.at),
            known.parcel,
            fact.turn,
            queued,
        ),
    )
    session_days.add_turn(db, fact.session, at=known.at)
    return not fact.resumes


def _is_unprompted(db: Connection, session: SessionId) -> bool:
    """Return whether the start of the latest turn was seen and its prompt is not known yet."""
    latest = db.execute(
        "select prompt from turns where session = ? order by started_by desc limit 1",
        (session,),
    ).fetchone()
    return latest is not None and not latest["prompt"]


def _joins_open_turn(db: Connection, fact: facts.TurnStarted, known: FactContext) -> bool:
    """Return whether a prompt is part of an open turn, and update that turn."""
    if not fact.resumes:
        return not known.was_idle and _complete(db, fact, known)
    running = open_turns(db, fact.session)
    if attribution.is_queued(running, fact.turn):
        return True
    if (paused := attribution.resumed(running)) is None:
        return False
    db.execute(
        "update turns set native_id = ?, is_paused = 0 where session = ? and started_by = ?",
        (fact.turn, fact.session, paused.number),
    )
    return True


def _complete(db: Connection, fact: facts.TurnStarted, known: FactContext) -> bool:
    """Add the prompt to a turn whose start was seen shortly before the prompt was reported."""
    if not fact.prompt:
        return False
    completed = db.execute(
        "update turns indexed by turns_open set prompt = ?1, parcel = ?2, native_id = ?3"
        " where session = ?4 and ended_at is null and prompt in ('', ?1) and native_id = ''"
        " and started_at >= ?5 and parcel is null"
        " and started_by = (select max(started_by) from turns where session = ?4)",
        (
            *(fact.prompt[:MAX_TEXT_CHARACTERS], known.parcel, fact.turn, fact.session),
            (known.at - COMPLETED).isoformat(),
        ),
    )
    return completed.rowcount > 0


def open_turns(db: Connection, session: SessionId) -> list[OpenTurn]:
    """Return the open turns, oldest first."""
    rows = db.execute(
        "select started_by, native_id, queued, is_paused from turns indexed by turns_open"
        " where session = ? and ended_at is null order by started_by",
        (session,),
    )
    return [
        OpenTurn(row["started_by"], row["native_id"], row["queued"], bool(row["is_paused"]))
        for row in rows
    ]


def _numbers(db: Connection, session: SessionId) -> list[int]:
    return [each.number for each in open_turns(db, session)]


@dataclass(frozen=True, slots=True)
class Closing:
    """How and when turns end, and with which answer."""

    how: facts.How
    answer: str
    at: datetime


def _pause(db: Connection, session: SessionId, native_id: str, *, answer: str) -> bool:
    """Store the answer of turns whose background subagents continue; false without one."""
    shared = attribution.share(open_turns(db, session), native_id)
    for number in shared.answered:
        db.execute(
            "update turns set answer = ?, is_paused = 1 where session = ? and started_by = ?",
            (answer[:MAX_TEXT_CHARACTERS], session, number),
        )
    return bool(shared.answered)


def _end(db: Connection, fact: facts.TurnEnded, *, at: datetime) -> bool:
    """Close the turns that end. Return whether one of them took the answer."""
    running = [] if is_late(db, fact) else open_turns(db, fact.session)
    if not running:
        return amend(db, fact, at=at)
    shared = attribution.share(running, fact.turn)
    # A paused turn has its answer; it ends when its last subagent has ended.
    paused = [each.number for each in running if each.is_paused]
    again = [
        number for number in paused if number not in shared.answered or not fact.last_words
    ]
    _close_as_answered(db, fact.session, again, at=at)
    answered = [number for number in shared.answered if number not in again]
    _close(db, fact.session, answered, Closing(fact.how, fact.last_words, at))
    _close(db, fact.session, shared.interrupted, Closing("interrupted", "", at))
    return bool(answered)


def _close(
    db: Connection, session: SessionId, numbers: Iterable[int], closing: Closing
) -> None:
    for number in numbers:
        db.execute(
            "update turns set how = ?, answer = ?, ended_at = ?, is_paused = 0"
            " where session = ? and started_by = ? and ended_at is null",
            (
                closing.how,
                closing.answer[:MAX_TEXT_CHARACTERS],
                stamp(closing.at),
                session,
                number,
            ),
        )


def _close_as_answered(
    db: Connection, session: SessionId, numbers: Iterable[int], *, at: datetime
) -> None:
    """Close turns that already have their answers."""
    for number in numbers:
        db.execute(
            "update turns set how = 'finished', ended_at = ?, is_paused = 0"
            " where session = ? and started_by = ?",
            (stamp(at), session, number),
        )


def is_late(db: Connection, fact: facts.TurnEnded) -> bool:
    """Return whether the turn whose end an agent reports had already ended."""
    rows = _latest(db, fact.session) if fact.turn else []
    same_turn = [row for row in rows if row["native_id"] == fact.turn]
    # The start of a turn without an id was seen, not reported: the end may be of this turn.
    unnamed = any(row["ended_at"] is None and not row["native_id"] for row in rows)
    return bool(same_turn) and all(row["ended_at"] for row in same_turn) and not unnamed


def amend(db: Connection, fact: facts.TurnEnded, *, at: datetime) -> bool:
    """Add the answer to a turn whose end was seen before the agent reported it."""
    rows = _latest(db, fact.session) if fact.last_words else []
    same_turn = [row for row in rows if fact.turn and row["native_id"] == fact.turn] or rows[:1]
    since = stamp(at - AMENDED)
    found = [
        row["started_by"]
        for row in same_turn
        if row["how"] == "interrupted" and not row["answer"] and row["ended_at"] >= since
    ]
    for number in found:
        db.execute(
            "update turns set how = ?, answer = ? where session = ? and started_by = ?",
            (fact.how, fact.last_words[:MAX_TEXT_CHARACTERS], fact.session, number),
        )
    return bool(found)


def _latest(db: Connection, session: SessionId) -> list[Row]:
    """Return the latest turns, newest first."""
    return db.execute(
        "select started_by, native_id, how, answer, ended_at from turns"
        " where session = ? order by started_by desc limit ?",
        (session, RECENT_TURNS),
    ).fetchall()


def may_go_on(db: Connection, session: SessionId) -> bool:
    """Return whether an idle agent will continue by itself."""
    running = open_turns(db, session)
    return bool(running) and all(each.queued or each.is_paused for each in running)


def is_paused(db: Connection, session: SessionId) -> bool:
    """Return whether the agent has stopped and waits for its background subagents."""
    return any(each.is_paused for each in open_turns(db, session))


def goes_on(db: Connection, session: SessionId) -> bool:
    """Return whether prompts that were typed during an ended turn have no answer yet."""
    return any(not each.is_paused for each in open_turns(db, session))
