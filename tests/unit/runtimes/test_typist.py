"""When Enter is pressed, and when a box is emptied: only of words that Rookery typed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from rookery.agents.claude.agent import CLAUDE
from rookery.agents.claude.screen import read
from rookery.model.errors import Occupied
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.model.obstacles import BlockedReason
from rookery.model.screens import Screen, read_styled
from rookery.runtimes.tmux import captures
from rookery.runtimes.tmux.captures import PaneSnapshot
from rookery.runtimes.tmux.panes import Pane
from rookery.runtimes.tmux.places import Place
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import AnyServer, ServerSite
from rookery.runtimes.tmux.typist import Typist
from tests.support.fakes.clock import FakeClock
from tests.support.paths import RECORDINGS

pytestmark = [pytest.mark.anyio, pytest.mark.spec("B0", "B2")]

RECORDED = RECORDINGS / "claude-2.1.325"


def screen(name: str) -> Screen:
    return read_styled((RECORDED / f"{name}.txt").read_text())


class FakeServer:
    """Shows one screen until a key is pressed, and an empty box from then on."""

    site = ServerSite("tmux", Path("/t.sock"), Path("/"), lines=1)
    tells_apart = True

    def __init__(self, around: PaneSnapshot) -> None:
        self.around = around
        self.pressed: list[bytes] = []

    async def ask(self, *commands: bytes) -> list[tuple[bytes, ...]]:
        self.pressed += [each for each in commands if each.startswith(b"send-keys")]
        self.around = replace(self.around, screen=screen("idle"))
        return [() for _ in commands]

    async def look_around(self, server: AnyServer, pane: str) -> PaneSnapshot:
        return self.around


def typist_at(
    monkeypatch: pytest.MonkeyPatch, clock: FakeClock, around: PaneSnapshot
) -> tuple[Typist, FakeServer]:
    """Return a typist for a pane that looks like this, and the keys that it presses."""
    server = FakeServer(around)
    monkeypatch.setattr(captures, "look_around", server.look_around)
    pane = Pane(SessionId("s"), CLAUDE, Place("rk_1", "%1", 1))
    return Typist(server, pane, clock, typing=2.0, note_enter=lambda: None), server


def after_one_enter(parcel: Parcel) -> PaneSnapshot:
    """Return a pane with a draft in its box, after Enter was pressed once on a message."""
    return PaneSnapshot(
        screen("draft"),
        in_mode=False,
        is_synchronized=False,
        typed_at=0,
        pasted=parcel.receipt,
        entered=parcel.receipt,
        enters=1,
    )


async def test_enter_is_not_pressed_while_the_box_has_other_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FakeClock()
    parcel = Parcel(1, SessionId("s"), "what was pasted", Step.PASTED, clock.now())
    typist, server = typist_at(monkeypatch, clock, after_one_enter(parcel))

    with pytest.raises(Occupied) as refused:
        await typist.submit(parcel)

    assert refused.value.obstacle.code is BlockedReason.OTHER_TEXT
    assert server.pressed == []


@pytest.mark.parametrize(("unread", "presses"), [(3, 0), (0, 1), (None, 1)])
async def test_enter_is_pressed_again_only_if_the_program_has_read_the_first_one(
    monkeypatch: pytest.MonkeyPatch, unread: int | None, presses: int
) -> None:
    clock = FakeClock()
    words = read(screen("draft")).box or ""
    parcel = Parcel(1, SessionId("s"), words, Step.PASTED, clock.now())
    typist, server = typist_at(monkeypatch, clock, after_one_enter(parcel))
    monkeypatch.setattr(captures, "unread_bytes", lambda tty: unread)

    if presses:
        await typist.submit(parcel)
    else:
        with pytest.raises(Occupied) as refused:
            await typist.submit(parcel)
        assert refused.value.obstacle.code is BlockedReason.NOT_TAKEN

    assert server.pressed == [line("send-keys", "-t", "%1", "Enter")] * presses


@pytest.mark.parametrize(
    ("shown", "typed_after_s", "is_last_pasted", "is_cleared"),
    [
        ("pasted-long", None, True, True),
        ("pasted-long", -60, True, True),
        ("pasted-long", 60, True, False),  # "[Pasted text #1]" may be the person's own by now
        ("pasted-long", None, False, False),
        ("draft", None, True, True),
        ("draft", 60, True, True),  # exactly these words, whoever pressed a key
        ("draft", None, False, False),
    ],
)
async def test_only_words_that_we_typed_and_no_person_touched_are_cleared(
    monkeypatch: pytest.MonkeyPatch,
    *,
    shown: str,
    typed_after_s: int | None,
    is_last_pasted: bool,
    is_cleared: bool,
) -> None:
    clock = FakeClock()
    taken_up = clock.now()
    clock.advance(600)
    words = read(screen("draft")).box or ""
    parcel = Parcel(1, SessionId("s"), words, Step.SENDING, taken_up)
    typed_at = None if typed_after_s is None else taken_up + timedelta(seconds=typed_after_s)
    around = PaneSnapshot(
        screen(shown),
        in_mode=False,
        is_synchronized=False,
        typed_at=int(typed_at.timestamp()) if typed_at else 0,
        pasted=parcel.receipt if is_last_pasted else "of other words",
        entered="",
    )
    typist, server = typist_at(monkeypatch, clock, around)

    cleared = await typist.clear(parcel)

    assert cleared is is_cleared
    assert server.pressed == ([line("send-keys", "-t", "%1", "C-c")] if is_cleared else [])
