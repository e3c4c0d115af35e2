from __future__ import annotations

from dataclasses import replace

import pytest

from rookery.config import Settings
from rookery.model import facts
from rookery.model.errors import Forbidden
from rookery.model.facts import SessionId
from rookery.model.notifications import NotificationKind
from rookery.notification_settings import BellChannelSettings, NotificationSettings
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.notifier import FakeNotifier
from tests.support.operations import Desk, session_caller

pytestmark = [pytest.mark.anyio, pytest.mark.spec("H4")]

API, WEB = SessionId("api"), SessionId("web")


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock) -> Desk:
    """Give two sessions, and a bell that carries failures only."""
    bell = BellChannelSettings(enabled=True, kinds=(NotificationKind.FAILED,))
    settings = Settings(notifications=NotificationSettings(bell=bell))
    desk = Desk(database, Journal("here", clock, readers={}), settings)
    desk.context = replace(desk.context, notifiers=(FakeNotifier("bell"),))
    for each in (API, WEB):
        await desk.settle(each)
    return desk


async def test_a_mute_ends_by_itself_or_when_it_is_undone(desk: Desk, clock: FakeClock) -> None:
    await desk.ask("mute", session="api", seconds=60)
    await desk.ask("mute", session="web")
    both = {each.name for each in (await desk.ask("muted")).sessions}
    clock.advance(61)
    later = {each.name for each in (await desk.ask("muted")).sessions}
    await desk.ask("unmute", session="web")

    assert (both, later) == ({"api", "web"}, {"web"})
    assert (await desk.ask("muted")).sessions == []


async def test_the_numbers_are_those_of_the_sessions_that_the_caller_may_see(
    desk: Desk,
) -> None:
    asked = facts.InputAsked(API, "permission", "May it?")
    await desk.database.write(lambda db: desk.journal.append(db, asked))

    mine, of_web = await desk.ask("counts"), await desk.ask("counts", by=session_caller(WEB))

    assert (mine.line, mine.waiting, mine.idle) == ("1 wait", 1, 1)
    assert (of_web.line, of_web.idle) == ("", 1)


@pytest.mark.parametrize("kind", NotificationKind)
async def test_every_kind_of_notification_can_be_tried_out(
    desk: Desk, kind: NotificationKind
) -> None:
    tried = await desk.ask("test_notification", kind=kind)

    assert tried.channels


@pytest.mark.spec("K5")
@pytest.mark.parametrize("name", ["mute", "unmute", "muted", "notifications"])
async def test_a_session_neither_mutes_nor_reads_notifications(desk: Desk, name: str) -> None:
    given = {"session": "api"} if name in {"mute", "unmute"} else {}

    with pytest.raises(Forbidden):
        await desk.ask(name, by=session_caller(API), **given)


async def test_a_test_sends_nothing_unless_it_is_asked_to(desk: Desk) -> None:
    (bell,) = desk.context.notifiers
    assert isinstance(bell, FakeNotifier)

    dry = await desk.ask("test_notification", kind="failed")
    shown = list(bell.given)
    wet = await desk.ask("test_notification", kind="failed", send=True)
    other = await desk.ask("test_notification", kind="finished", send=True)

    on = {each.channel: each for each in dry.channels}
    assert {name: each.enabled for name, each in on.items()} == {
        "command": False,
        "desktop": False,
        "bell": True,
    }
    assert on["desktop"].switch == "[notifications.desktop]\nenabled = true"
    assert (shown, bell.titles) == ([], ["example failed"])
    assert [each.sent for each in wet.channels] == [False, False, True]
    assert other.channels[-1].hindrance == "it does not carry finished"


async def test_a_test_says_why_a_session_is_quiet(desk: Desk) -> None:
    await desk.ask("mute", session="api")

    muted = await desk.ask("test_notification", session="api")
    loud = await desk.ask("test_notification", session="web")

    assert (muted.quiet, loud.quiet) == ("the session is muted", "")
    assert loud.title == "web needs you"
