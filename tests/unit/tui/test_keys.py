from __future__ import annotations

import re

import pytest

from rookery.tui.keys import KEYS
from rookery.tui.main_screen import MainScreen
from tests.support.paths import ROOT

pytestmark = pytest.mark.spec("I7")

PAGE = ROOT / "docs" / "how-to" / "use-the-tui.md"


def test_the_documentation_names_exactly_the_keys_that_are_bound() -> None:
    documented = re.findall(
        r"^\| `(.+?)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )

    assert documented == [(each.shown, each.purpose) for each in KEYS if each.shown]


def test_no_key_has_two_meanings() -> None:
    keys = [key for each in KEYS for key in each.key.split(",")]

    assert sorted(keys) == sorted({*keys})


@pytest.mark.parametrize(
    "key", [each for each in KEYS if each.action], ids=lambda each: each.key
)
def test_every_key_has_an_action(key: object) -> None:
    action = getattr(key, "action", "").partition("(")[0]

    assert callable(getattr(MainScreen, f"action_{action}"))


def test_no_purpose_needs_the_one_before_it_to_be_understood() -> None:
    purposes = [each.purpose for each in KEYS]

    assert not [each for each in purposes if re.search(r"\b(it|this)\b", each.split(",")[0])]
