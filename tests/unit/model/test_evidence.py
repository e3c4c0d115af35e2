from __future__ import annotations

import json

import pytest

from rookery.agents.claude import session_files as registry
from rookery.model.lifecycle import Activity
from tests.support.paths import RECORDINGS

RECORDED = RECORDINGS / "claude-2.1.325" / "registry"
WORKING, IDLE = Activity.WORKING, Activity.IDLE
PERMISSION, QUESTION = Activity.PERMISSION, Activity.QUESTION


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
