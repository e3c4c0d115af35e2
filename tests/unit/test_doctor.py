"""What the doctor makes of what the store tells."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rookery.config import Settings
from rookery.doctor import Check, Hold, Trouble, examine
from rookery.home import Home

WELL = Trouble(entries=0, parked=0, hooks=0, doubts=())
THEN = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def looked_at(folder: Path, trouble: Trouble) -> Check:
    home = Home(folder, folder, folder / "run")
    home.prepare()
    checks = examine(home, Settings(), {}, agents={}, trouble=trouble)
    (check,) = (each for each in checks if each.name == "hold")
    return check


@pytest.mark.spec("F4", "I5")
@pytest.mark.parametrize(
    ("since", "said"),
    [(THEN, f" since {THEN.astimezone():%Y-%m-%d %H:%M:%S}"), (None, "")],
)
def test_the_doctor_says_that_words_are_held(
    tmp_path: Path, since: datetime | None, said: str
) -> None:
    check = looked_at(tmp_path, replace(WELL, hold=Hold(since)))

    assert (check.ok, check.advice) == (False, "rookery release")
    assert check.detail == f"words are held{said}: none are delivered, to anybody"


@pytest.mark.spec("F4", "I5")
def test_the_doctor_says_that_no_words_are_held(tmp_path: Path) -> None:
    assert looked_at(tmp_path, WELL).ok
