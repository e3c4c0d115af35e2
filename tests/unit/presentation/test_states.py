from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rookery.presentation.ages import age, time_left
from rookery.presentation.evidence import headline
from rookery.presentation.states import (
    Standing,
    does,
    ending,
    is_left_out,
    standing,
    state_note,
    state_with_reason,
    state_word,
)
from tests.support.cli import session

pytestmark = pytest.mark.spec("I5", "A2")

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
OVER: dict[str, Any] = {"activity": None, "ended_at": NOW.isoformat()}


@pytest.mark.parametrize(
    ("known", "word", "leaves_out"),
    [
        ({}, "idle", False),
        ({"reason": "failed"}, "turn failed", False),
        ({**OVER, "status": "killed"}, "ended", True),
        ({**OVER, "status": "completed"}, "ended", True),
        ({**OVER, "status": "failed"}, "failed", False),
        ({**OVER, "status": "failed", "is_resumed": True}, "failed", True),
        ({**OVER, "status": "failed", "seen_at": NOW.isoformat()}, "failed", True),
        (
            {**OVER, "status": "failed", "seen_at": (NOW - timedelta(1)).isoformat()},
            "failed",
            False,
        ),
    ],
)
def test_ended_sessions_are_left_out_unless_they_failed_unseen(
    known: dict[str, Any], word: str, *, leaves_out: bool
) -> None:
    one = session("a", **known)

    assert (state_word(one), is_left_out(one)) == (word, leaves_out)


def test_a_failure_that_was_dealt_with_is_one_of_the_ended() -> None:
    failed = session("a", status="failed", **OVER)

    assert standing(failed) is Standing.FAILED
    assert standing(failed.with_changes(is_resumed=True)) is Standing.ENDED


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(-5, "0s"), (59, "59s"), (60, "1m"), (3_600, "1h"), (200_000, "2d")],
)
def test_an_age_has_its_largest_unit(seconds: int, told: str) -> None:
    assert age((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == told


def test_the_time_left_has_minutes_and_seconds() -> None:
    assert time_left((NOW + timedelta(seconds=250)).isoformat(), NOW) == "4m10s"
    assert time_left((NOW - timedelta(seconds=1)).isoformat(), NOW) == "0s"


@pytest.mark.parametrize(
    ("known", "word", "with_reason"),
    [
        ({}, "idle", "idle"),
        ({"reason": "finished"}, "idle", "idle: finished"),
        ({"reason": "failed"}, "turn failed", "turn failed"),
        ({"activity": "permission", "reason": "May it?"}, "permission", "permission"),
        ({"status": "starting", "activity": None}, "starting", "starting"),
        ({**OVER, "status": "completed", "reason": "exit 0"}, "ended", "ended: exit 0"),
        ({**OVER, "status": "killed", "ended_by": "person"}, "ended", "ended by you"),
        (
            {**OVER, "status": "killed", "ended_by": "run"},
            "ended",
            "ended when its run was done",
        ),
    ],
)
def test_a_state_has_the_same_word_everywhere(
    known: dict[str, Any], word: str, with_reason: str
) -> None:
    one = session("a", since=(NOW - timedelta(minutes=5)).isoformat(), **known)

    assert state_word(one) == word
    assert state_with_reason(one) == with_reason
    assert headline(one, "", NOW).startswith(f"a: {word} for 5m")


@pytest.mark.parametrize(
    ("known", "phrase"),
    [
        ({"status": "killed", "ended_by": "person"}, "was ended by you"),
        ({"status": "killed"}, "was ended"),
        ({"status": "completed", "reason": "it left."}, "has ended: it left"),
        ({"status": "completed"}, "has ended"),
        ({"status": "failed", "reason": "exit 1; it said:\nx"}, "has failed: exit 1"),
    ],
)
def test_how_a_session_ended_is_a_phrase_without_the_words_of_records(
    known: dict[str, Any], phrase: str
) -> None:
    assert ending(session("a", **OVER, **known)) == phrase


@pytest.mark.parametrize(
    ("state", "phrase", "note"),
    [
        ("permission", "asks for permission", "asks for permission"),
        ("question", "asks a question", "asks a question"),
        ("working", "is working", "working"),
        ("killed", "is ended", "ended"),
    ],
)
def test_a_state_within_a_sentence_has_no_word_of_records(
    state: str, phrase: str, note: str
) -> None:
    assert (does(state), state_note(state)) == (phrase, note)
