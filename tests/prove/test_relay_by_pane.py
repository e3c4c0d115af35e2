"""Eighty messages of two plain programs, relayed by their panes; beside the naive way.

`make prove` runs this; the figures are kept in docs/proofs.md.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.prove.delta import LOOK, DeltaRelay
from tests.support.real.rookery import Rookery, eventually
from tests.support.real.talker import message
from tests.support.real.talkers import TALKER, relay, relayed, start_talker

pytestmark = pytest.mark.prove

NAMES = ("left", "right")

#: How many messages each of them says.
EACH = 40


@dataclass(frozen=True, slots=True)
class Score:
    whole: int  #: messages of which every line was passed on, in order
    doubled: int
    foreign: int  #: lines that are of no message


@pytest.mark.timeout(1_800)
@pytest.mark.spec("F2", "F3")
def test_eighty_messages_are_relayed_whole_and_once(tmp_path: Path) -> None:
    ours = score(by_rookery(tmp_path / "ours"))
    naive = score(by_delta(tmp_path / "naive.sock"))

    print(f"\nours {ours}\nnaive {naive}")  # noqa: T201 - figures for the docs
    assert ours == Score(2 * EACH, 0, 0)
    assert naive.whole < ours.whole


def by_rookery(folder: Path) -> dict[str, list[str]]:
    """Have them talk in a relay of ours; return what was relayed of each."""
    with a_rookery(folder) as rookery:
        for name in NAMES:
            start_talker(rookery, name, "full")
        relay(rookery, *NAMES)
        for number in range(EACH):
            for name in NAMES:
                rookery.send(name, f"go {number}")
        eventually(lambda: _is_all_said(rookery), within=900.0)
        words = [each for each, _ in relayed(rookery)]
    heads = {name: f"[{name}] ({number}):\n\n" for number, name in enumerate(NAMES, 1)}
    return {
        name: [each.removeprefix(head) for each in words if each.startswith(head)]
        for name, head in heads.items()
    }


@contextmanager
def a_rookery(folder: Path) -> Iterator[Rookery]:
    rookery = Rookery(folder)
    try:
        rookery.up()
        yield rookery
    finally:
        rookery.clear_away()


def _is_all_said(rookery: Rookery) -> bool:
    """Whether nothing waits, and everybody is idle."""
    with rookery.database() as db:
        (waiting,) = db.execute(
            "select count(*) from messages where step <> 'acknowledged'"
        ).fetchone()
        (working,) = db.execute(
            "select count(*) from sessions where activity <> 'idle'"
        ).fetchone()
    return not waiting and not working


def by_delta(socket: Path) -> dict[str, list[str]]:
    """Have them talk in the naive way; return what was passed on of each."""
    commands = {name: [sys.executable, "-I", str(TALKER), name, "full"] for name in NAMES}
    naive = DeltaRelay(socket, commands)
    with ExitStack() as ending:
        ending.callback(naive.end)
        eventually(naive.begin)
        for number in range(EACH):
            for each in naive.participants:
                naive.type(each, f"go {number}")
                for _ in range(2):
                    threading.Event().wait(LOOK)
                    naive.look()
        return {each.name: each.deltas for each in naive.participants}


def score(passed_on: Mapping[str, list[str]]) -> Score:
    """Count what arrived. How lines are wrapped, and where they are parted, counts nothing."""
    whole = doubled = foreign = 0
    for name, deltas in passed_on.items():
        lines = [line for delta in deltas for line in delta.split("\n")]
        text = _squeezed("\n".join(lines))
        messages = [message(name, number) for number in range(EACH)]
        own = _squeezed("\n".join("\n".join(each) for each in messages))
        for number, each in enumerate(messages):
            whole += _squeezed("\n".join(each)) in text
            last = re.compile(rf"{name} ends {number}\b")
            doubled += max(len(last.findall("\n".join(lines))) - 1, 0)
        foreign += sum(_squeezed(line) not in own for line in lines)
    return Score(whole, doubled, foreign)


def _squeezed(text: str) -> str:
    return "".join(text.split())
