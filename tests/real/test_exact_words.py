"""Whatever may be said arrives byte for byte, is submitted once, and runs nothing.

A program in a pane of a real tmux passes on every byte that it gets. So what is compared is
all that was typed, the brackets and Enter included.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rookery.agents.shell import SHELL
from rookery.model.errors import WordsRefused
from rookery.ports.agent import Agent
from tests.support.contract.tmux import site_in
from tests.support.real.exact_words import BOXED, of_size, send_many, writing

pytestmark = pytest.mark.real


@pytest.mark.spec("B2")
@pytest.mark.parametrize("dialect", [SHELL, BOXED], ids=["unboxed", "boxed"])
def test_whatever_may_be_said_arrives_exactly_and_once(dialect: Agent, tmp_path: Path) -> None:
    sizes = (100_000, 100_000, 100_000, 1_000_000)

    arrived = send_many(tmp_path, dialect, generated=300, sizes=sizes, seed=2026)

    assert arrived == 304


@pytest.mark.anyio
@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    "tail", ["", "\t", ";", "\\", "ä", "👩‍👩‍👧", "$(x) `y` '\"", " -- -t x"]
)
async def test_a_program_without_brackets_gets_a_line_exactly(
    tail: str, tmp_path: Path
) -> None:
    words = of_size("-x", 4_000 - len(tail.encode())) + tail

    with site_in(tmp_path) as site:
        async with writing(site, SHELL) as writer:
            arrived = await writer.send(words)

    assert arrived == words.encode() + b"\r"


@pytest.mark.anyio
@pytest.mark.spec("B2")
async def test_a_program_without_brackets_gets_nothing_of_what_it_cannot_take(
    tmp_path: Path,
) -> None:
    too_long, too_many = "ä" * 2_000 + "x", "one\ntwo"

    with site_in(tmp_path) as site:
        async with writing(site, SHELL) as writer:
            for words in (too_long, too_many, "one\n"):
                with pytest.raises(WordsRefused, match="at a time"):
                    await writer.runtime.typist(writer.session).paste(writer.parcel(words))
            arrived = await writer.send("one")

    assert arrived == b"one\r"
