"""Who may withdraw, edit, resend and clear messages, and what becomes of those who wait."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from sqlite3 import Connection
from typing import Any

import anyio
import pytest

from rookery.model.errors import CommandRefused, Forbidden, MessageUnknown, SessionOver
from rookery.model.facts import (
    DeliveryDoubted,
    EndRequested,
    Fact,
    InputAsked,
    SessionEnded,
    SessionId,
    TurnStarted,
)
from rookery.model.messages import Parcel, Step
from rookery.startup.readers import READERS
from rookery.store import backlog, message_batches
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller
from tests.support.waiting import kinds

pytestmark = pytest.mark.anyio

API, WEB, KID = (SessionId(each) for each in ("api", "web", "kid"))


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock) -> Desk:
    journal = Journal("here", clock, READERS)
    await journal.catch_up(database)
    desk = Desk(database, journal)
    for name in (API, WEB):
        await desk.settle(name)
    await desk.settle(KID, parent=API)
    await desk.database.write(lambda db: desk.journal.append(db, TurnStarted(KID, "Work.")))
    return desk


async def send(desk: Desk, words: str = "Hello.", **more: Any) -> int:  # noqa: ANN401 - as in Desk
    return int((await desk.ask("send", session=KID, words=words, **more)).id)


async def claim(desk: Desk, to: SessionId = WEB) -> Parcel:
    """Have a message to an idle session taken up for delivery."""
    await desk.ask("send", session=to, words="Typed.")
    take = partial(message_batches.claim, recipient=to, at=desk.journal.clock.now())
    parcel = await desk.database.write(take)
    assert parcel
    return parcel


async def listed(desk: Desk, **more: Any) -> list[tuple[int, str]]:  # noqa: ANN401 - as in Desk
    letters = (await desk.ask("inbox", **more)).letters
    return [(each.message, each.step) for each in letters]


@pytest.mark.spec("E6", "I5")
async def test_a_withdrawn_message_is_only_in_the_whole_list(desk: Desk) -> None:
    number = await send(desk)

    withdrawn = await desk.ask("withdraw", message=number)

    assert (withdrawn.step, withdrawn.withdrawn_by) == (Step.WITHDRAWN, "person")
    assert await listed(desk) == []
    assert await listed(desk, all=True) == [(number, "withdrawn")]
    with pytest.raises(CommandRefused, match="is withdrawn already"):
        await desk.ask("withdraw", message=number)


@pytest.mark.spec("E6")
async def test_a_message_that_is_being_typed_can_be_neither_withdrawn_nor_changed(
    desk: Desk,
) -> None:
    parcel = await claim(desk)
    await desk.database.write(partial(message_batches.move, parcel=parcel, step=Step.PASTED))

    for ask in (
        partial(desk.ask, "withdraw", message=parcel.id),
        partial(desk.ask, "edit_message", message=parcel.id, words="Other."),
        partial(desk.ask, "resend", message=parcel.id),
    ):
        with pytest.raises(CommandRefused, match="is being typed"):
            await ask()


@pytest.mark.spec("F1", "I5")
async def test_a_session_withdraws_its_own_messages_only(desk: Desk) -> None:
    persons = await send(desk)
    own = await send(desk, by=session_caller(API))

    withdrawn = await desk.ask("withdraw", by=session_caller(API), message=own)

    assert withdrawn.withdrawn_by == "session api"
    for number in (persons, 999):
        with pytest.raises(Forbidden, match="does not exist, or another session"):
            await desk.ask("withdraw", by=session_caller(API), message=number)
    for ask in (
        partial(desk.ask, "edit_message", message=own, words="x"),
        partial(desk.ask, "resend", message=own),
        partial(desk.ask, "clear_inbox"),
    ):
        with pytest.raises(Forbidden):
            await ask(by=session_caller(API))
    with pytest.raises(MessageUnknown):
        await desk.ask("withdraw", message=999)


@pytest.mark.spec("E6", "I5")
async def test_an_edited_message_is_sent_with_its_new_text(desk: Desk) -> None:
    number = await send(desk, "Old.")

    await desk.ask("edit_message", message=number, words="New.\x07")

    (letter,) = (await desk.ask("inbox")).letters
    assert (letter.message, letter.words) == (number, "New.")
    assert "message-edited" in await desk.database.read(kinds)


async def test_the_words_of_a_session_are_not_changed(desk: Desk) -> None:
    number = await send(desk, by=session_caller(API))

    with pytest.raises(CommandRefused, match="Only a person's messages can be changed"):
        await desk.ask("edit_message", message=number, words="I never said that.")


@pytest.mark.spec("E6", "I5")
async def test_what_may_have_arrived_is_sent_again_only_on_demand(desk: Desk) -> None:
    parcel = await claim(desk)

    def doubt(db: Connection) -> None:
        message_batches.move(db, parcel, Step.UNSURE)
        desk.journal.append(db, DeliveryDoubted(WEB, parcel.id))

    await desk.database.write(doubt)
    with pytest.raises(CommandRefused, match="may have arrived"):
        await desk.ask("resend", message=parcel.id)

    again = await desk.ask("resend", message=parcel.id, sure=True)

    assert (again.repeats, again.step) == (parcel.id, Step.PENDING)
    (letter,) = (await desk.ask("inbox")).letters
    assert (letter.message, letter.repeats, letter.words) == (again.id, parcel.id, "Typed.")


@pytest.mark.spec("E6")
async def test_a_message_is_sent_again_only_once_unless_its_copy_was_withdrawn(
    desk: Desk,
) -> None:
    number = await send(desk)
    await desk.database.write(lambda db: desk.journal.append(db, SessionEnded(KID, "exit")))
    await desk.settle("later", launch={"resumes": True}, continues=KID)
    copy = (await desk.ask("resend", message=number)).id

    with pytest.raises(CommandRefused, match=f"sent again as message {copy}, .* still waits"):
        await desk.ask("resend", message=number)

    await desk.ask("withdraw", message=copy)
    assert (await desk.ask("resend", message=number)).id > copy


@pytest.mark.spec("E6")
async def test_the_answers_of_a_relay_are_not_sent_again(desk: Desk) -> None:
    number = await send(desk)
    relayed = "update messages set author = 'relay r1', kind = 'relay' where id = ?"
    await desk.database.write(lambda db: db.execute(relayed, (number,)))
    await desk.database.write(lambda db: desk.journal.append(db, SessionEnded(KID, "exit")))

    with pytest.raises(CommandRefused, match="is from a relay"):
        await desk.ask("resend", message=number)


@pytest.mark.spec("E6", "K5")
async def test_the_messages_of_others_hide_none_of_a_sessions_own(desk: Desk) -> None:
    own = await send(desk)
    for _ in range(3):
        await desk.ask("send", session=WEB, words="Hello.")

    def newest(db: Connection) -> list[int]:
        return [each.message for each in backlog.letters(db, {KID}, last=1)]

    assert await desk.database.read(newest) == [own]


@pytest.mark.parametrize("fact", [SessionEnded(KID, "exit"), EndRequested(KID, "person")])
async def test_nothing_is_sent_again_to_a_session_that_ends_or_has_ended(
    desk: Desk, fact: Fact
) -> None:
    number = await send(desk)
    await desk.ask("withdraw", message=number)
    await desk.database.write(lambda db: desk.journal.append(db, fact))

    with pytest.raises(SessionOver, match=r"kid\. Resume it, .* rookery resume kid"):
        await desk.ask("resend", message=number)


@pytest.mark.spec("E6", "A10")
async def test_a_message_is_sent_again_to_the_session_that_continues_its_recipient(
    desk: Desk,
) -> None:
    number = await send(desk)
    await desk.database.write(lambda db: desk.journal.append(db, SessionEnded(KID, "exit")))
    later = SessionId("later")
    for name, launch in (("branch", {"forks": "x"}), (later, {"resumes": True})):
        await desk.settle(name, launch=launch, continues=KID)

    again = await desk.ask("resend", message=number)

    assert again.recipient == later
    assert await listed(desk, session=later) == [(again.id, "pending")]


@pytest.mark.spec("E6", "I5")
async def test_clearing_spares_what_waits_unless_that_is_asked_for(desk: Desk) -> None:
    waits = await send(desk)
    gone = (await desk.ask("send", session=WEB, words="Late.", expire=5.0)).id
    await desk.database.write(lambda db: desk.journal.append(db, SessionEnded(WEB, "exit")))

    first = await desk.ask("clear_inbox")
    second = await desk.ask("clear_inbox", session=KID, waiting=True)

    assert (first.cleared, first.withdrawn) == ([gone], [])
    assert (second.cleared, second.withdrawn) == ([], [waits])
    assert await listed(desk) == []


async def test_a_message_that_failed_can_be_removed_from_the_list(desk: Desk) -> None:
    number = await send(desk)
    await desk.database.write(lambda db: desk.journal.append(db, SessionEnded(KID, "exit")))

    removed = await desk.ask("withdraw", message=number)

    assert removed.step is Step.FAILED
    assert await listed(desk) == []


@pytest.mark.spec("E6", "I5")
async def test_a_caller_that_waits_for_the_answer_is_told_of_the_withdrawal(desk: Desk) -> None:
    number = await send(desk)
    told: list[str] = []

    async def wait() -> None:
        with pytest.raises(CommandRefused) as refused:
            await desk.ask("answer", message=number, timeout=600.0)
        told.append(str(refused.value))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await desk.ask("withdraw", message=number)

    assert "withdrawn by person" in told[0]


@pytest.mark.spec("E6", "K4")
async def test_a_caller_that_waits_for_the_answer_is_told_why_the_session_ended(
    desk: Desk,
) -> None:
    parcel = await claim(desk)
    await desk.database.write(partial(message_batches.move, parcel=parcel, step=Step.PASTED))
    ended = SessionEnded(WEB, "it does not speak ACP", "failed")
    await desk.database.write(lambda db: desk.journal.append(db, ended))

    with pytest.raises(SessionOver, match="failed: it does not speak ACP"):
        await desk.ask("answer", message=parcel.id, timeout=600.0)


@pytest.mark.spec("E6", "E7")
async def test_a_session_that_listens_for_the_answer_is_told_of_the_withdrawal(
    desk: Desk,
) -> None:
    number = await send(desk, by=session_caller(API), listen=True)

    await desk.ask("withdraw", message=number)

    (letter,) = (await desk.ask("inbox", session=API)).letters
    assert "will not get your words: withdrawn by person" in letter.words
    assert (await desk.ask("listeners")).listeners == []


async def test_a_session_that_withdraws_its_message_listens_no_longer(desk: Desk) -> None:
    number = await send(desk, by=session_caller(API), listen=True)

    await desk.ask("withdraw", by=session_caller(API), message=number)

    assert (await desk.ask("inbox", session=API)).letters == []
    assert (await desk.ask("listeners")).listeners == []


@pytest.mark.spec("I5")
async def test_a_message_says_when_it_expires(desk: Desk) -> None:
    sent = await desk.ask("send", session=KID, words="Soon.", expire=60.0)

    (letter,) = (await desk.ask("inbox")).letters
    assert letter.expires_at == sent.expires_at
    assert sent.expires_at == desk.journal.clock.now() + timedelta(seconds=60)


@pytest.mark.spec("B0", "I2")
async def test_an_urgent_message_is_refused_while_the_session_asks(desk: Desk) -> None:
    await desk.settle("asks", agent="claude")
    await desk.database.write(
        lambda db: desk.journal.append(
            db, InputAsked(SessionId("asks"), "permission", "May it?")
        )
    )

    with pytest.raises(CommandRefused, match="the message would answer it"):
        await desk.ask("send", session="asks", words="Now.", now=True)


@pytest.mark.parametrize(
    ("agent", "options", "urgency"),
    [
        ("claude", {"now": True}, "steer"),
        ("claude", {"interrupt": True}, "interrupt"),
        ("codex", {"now": True}, "interrupt"),
        ("claude", {}, ""),
    ],
)
async def test_how_a_message_reaches_a_turn_depends_on_the_agent(
    desk: Desk, agent: str, options: dict[str, Any], urgency: str
) -> None:
    await desk.settle("it", agent=agent)

    sent = await desk.ask("send", session="it", words="Now.", **options)

    assert sent.urgency == urgency


@pytest.mark.spec("F1")
async def test_a_session_sends_urgent_messages_to_its_descendants_only(desk: Desk) -> None:
    with pytest.raises(Forbidden):
        await desk.ask("send", by=session_caller(KID), session=API, words="Now.", now=True)
