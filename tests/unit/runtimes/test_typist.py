"""When a box is emptied: only of words that were typed by Rookery and that nobody touched."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from rookery.agents.claude.agent import CLAUDE
from rookery.agents.claude.screen import read
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
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
    server = FakeServer(
        PaneSnapshot(
            screen(shown),
            in_mode=False,
            is_synchronized=False,
            typed_at=int(typed_at.timestamp()) if typed_at else 0,
            pasted=parcel.receipt if is_last_pasted else "of other words",
            entered="",
        )
    )
    monkeypatch.setattr(captures, "look_around", server.look_around)
    pane = Pane(SessionId("s"), CLAUDE, Place("rk_1", "%1", 1))
    typist = Typist(server, pane, clock, typing=2.0, note_enter=lambda: None)

    cleared = await typist.clear(parcel)

    assert cleared is is_cleared
    assert server.pressed == ([line("send-keys", "-t", "%1", "C-c")] if is_cleared else [])
