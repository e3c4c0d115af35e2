"""What every channel of notifications must do, the fake included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.model.errors import NotificationFailed
from rookery.model.notifications import safe_text
from tests.support.contract.notifiers import CASES, NotifierCase, item, notification

pytestmark = [pytest.mark.anyio, pytest.mark.spec("H4")]

#: What a session may write to make a terminal, a shell, a desktop or a program obey.
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m --help -- $(touch /tmp/x) `id` <b>bold</b>\n\u202egnp"


@pytest.fixture(params=[*CASES])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NotifierCase]:
    with CASES[request.param](tmp_path) as case:
        yield case


async def test_a_notification_arrives_once_with_its_session_its_folder_and_its_text(
    case: NotifierCase,
) -> None:
    assert await case.notifier.why_not() == ""

    await case.notifier.send(notification(item("api", "rm -rf build")))

    (received,) = case.received()
    for part in ("api needs you", "/code/api", "rm -rf build"):
        assert part in received


async def test_no_text_of_a_session_controls_what_it_reaches(case: NotifierCase) -> None:
    evil = item("api", safe_text(EVIL), folder="/code/\x1b]0;x\x07")

    await case.notifier.send(notification(evil))

    (received,) = case.received()
    texts = re.split("\x1b\\]9;|\x1b\\]777;notify;|\x1b\\\\|\a$", received)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", "".join(texts))
    assert "owned" in received


async def test_several_outcomes_arrive_together(case: NotifierCase) -> None:
    await case.notifier.send(notification(item("one"), item("two"), item("three")))

    (received,) = case.received()
    assert "3 sessions wait" in received
    assert all(name in received for name in ("one", "two", "three"))


async def test_a_channel_that_cannot_send_says_why_and_fails(case: NotifierCase) -> None:
    assert await case.unavailable.why_not() != ""

    with pytest.raises(NotificationFailed):
        await case.unavailable.send(notification())

    assert case.received() == []
