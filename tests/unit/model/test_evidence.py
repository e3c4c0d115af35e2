from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from rookery.agents.claude import session_files as registry
from rookery.model import facts
from rookery.model.evidence import (
    Claim,
    Confidence,
    Evidence,
    KnownState,
    Source,
    confidence,
    correct,
    is_outdated,
)
from rookery.model.facts import Fact, SessionId
from rookery.model.lifecycle import Activity, SessionState, Status
from tests.support.paths import RECORDINGS

S = SessionId("s1")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
RECORDED = RECORDINGS / "claude-2.1.325" / "registry"
WORKING, IDLE = Activity.WORKING, Activity.IDLE
PERMISSION, QUESTION = Activity.PERMISSION, Activity.QUESTION


def known(
    activity: Activity, *, said_before: Activity | None = None, is_hooked: bool = True
) -> KnownState:
    return KnownState(SessionState(Status.RUNNING, activity), said_before, is_hooked)


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("believed", "claim", "happened"),
    [
        (known(WORKING), IDLE, facts.TurnEnded(S, "", "interrupted")),
        (known(WORKING, is_hooked=False), IDLE, facts.TurnEnded(S)),
        (known(PERMISSION), IDLE, facts.TurnEnded(S, "", "interrupted")),
        (known(PERMISSION, is_hooked=False), IDLE, facts.TurnEnded(S, "", "interrupted")),
        (known(PERMISSION, said_before=PERMISSION), WORKING, facts.InputSettled(S, "terminal")),
        (known(PERMISSION, said_before=WORKING), WORKING, None),
        (known(PERMISSION), WORKING, None),
        (known(IDLE), WORKING, facts.TurnStarted(S, "")),
        (known(WORKING), PERMISSION, facts.InputAsked(S, "permission", "why")),
        (known(IDLE), QUESTION, facts.InputAsked(S, "question", "why")),
        (known(IDLE), IDLE, None),
        (known(WORKING), WORKING, None),
    ],
)
def test_an_agents_own_file_tells_what_no_hook_does(
    believed: KnownState, claim: Activity, happened: Fact | None
) -> None:
    assert correct(S, believed, Claim(claim, NOW, "why")) == happened


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("since", "hooked", "outdated"),
    [
        (1, 1, True),  # a hook has moved it
        (1, -1, False),  # the same file has, which was believed a moment late
        (-1, 1, False),  # a hook that moved nothing, such as of a compaction
        (1, None, False),
    ],
)
def test_only_what_a_hook_told_since_outdates_an_agents_own_file(
    since: int, hooked: int | None, outdated: bool
) -> None:
    told = None if hooked is None else NOW + timedelta(seconds=hooked)

    found = is_outdated(Claim(IDLE, NOW), since=NOW + timedelta(seconds=since), hooked=told)

    assert found is outdated


@pytest.mark.spec("C8", "A2")
@pytest.mark.parametrize("status", [each for each in Status if each is not Status.RUNNING])
def test_of_one_that_does_not_run_no_file_tells(status: Status) -> None:
    believed = KnownState(SessionState(status), None, is_hooked=False)

    assert correct(S, believed, Claim(WORKING, NOW)) is None


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("said", "sure"),
    [
        ({}, "unsure"),
        ({"process": "running"}, "unsure"),
        ({"screen": "idle"}, "likely"),
        ({"hook": "idle"}, "sure"),
        ({"hook": "idle", "registry": "idle"}, "sure"),
        ({"hook": "idle", "registry": "working"}, "likely"),
        ({"registry": "idle"}, "sure"),
    ],
)
def test_a_state_is_as_sure_as_those_who_tell_it(
    said: dict[Source, str], sure: Confidence
) -> None:
    evidence = [Evidence(source, claim, NOW) for source, claim in said.items()]

    assert confidence(SessionState(Status.RUNNING, IDLE), evidence) == sure


@pytest.mark.spec("C8", "B6")
@pytest.mark.parametrize(
    ("name", "activity", "detail"),
    [
        ("busy", WORKING, ""),
        ("idle", IDLE, ""),
        ("shell", IDLE, ""),
        ("waiting-permission-prompt", PERMISSION, "permission prompt"),
        ("waiting-input-needed", QUESTION, "input needed"),
        ("waiting-dialog-open", QUESTION, "dialog open"),
    ],
)
def test_claudes_own_file_says_what_it_does(name: str, activity: Activity, detail: str) -> None:
    entry = registry.read((RECORDED / f"{name}.json").read_text())

    assert entry is not None
    assert entry.cwd == "/code/project"
    assert entry.claim is not None
    assert (entry.claim.activity, entry.claim.detail) == (activity, detail)


@pytest.mark.spec("C8")
def test_one_that_has_just_started_says_only_who_it_is() -> None:
    entry = registry.read((RECORDED / "starting.json").read_text())

    assert entry is not None
    assert entry.claim is None


@pytest.mark.spec("C8", "K4")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"pid": 1}}30,"waitingFor":"permission prompt"}',
        "[]",
        "7",
        json.dumps({"pid": "1", "procStart": "1", "sessionId": "n", "cwd": "/"}),
        "[" * 100_000,
    ],
    ids=range(7),
)
def test_a_file_that_is_half_written_says_nothing(text: str) -> None:
    assert registry.read(text) is None
