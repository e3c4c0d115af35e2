from __future__ import annotations

from datetime import timedelta
from sqlite3 import Connection

import pytest

from rookery.model.blocks import Block, BlockKind, StoredBlock
from rookery.store import blocks
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.rows import ANNA, WORKER, settle_in

TEXT, CALL, RESULT = BlockKind.TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT


@pytest.fixture(autouse=True)
def _settled(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)


def texts(*words: str) -> list[Block]:
    return [Block(TEXT, each) for each in words]


def test_blocks_are_numbered_in_each_session(db: Connection, clock: FakeClock) -> None:
    first = blocks.append(db, WORKER, texts("a", "b"), at=clock.now())
    other = blocks.append(db, ANNA, texts("x"), at=clock.now())
    more = blocks.append(db, WORKER, texts("c"), at=clock.now())

    assert (first, other, more) == (2, 1, 3)
    assert blocks.append(db, WORKER, [], at=clock.now()) == blocks.count(db, WORKER) == 3
    assert [(each.number, each.text) for each in blocks.last(db, WORKER, 2)] == [
        (2, "b"),
        (3, "c"),
    ]


@pytest.mark.parametrize("number", [0, 1, 9, 64, 150])
def test_texts_are_numbered_like_other_blocks(
    db: Connection, clock: FakeClock, number: int
) -> None:
    blocks.append(db, WORKER, texts("first"), at=clock.now())
    words = [f"text {each}" for each in range(number)]

    blocks.append_texts(db, WORKER, words, at=clock.now())

    found = blocks.after(db, WORKER, 1, 1000)
    expected = [Block(TEXT, each) for each in words]
    assert found == [
        StoredBlock(each.kind, each.text, number=place, at=clock.now())
        for place, each in enumerate(expected, 2)
    ]


def test_a_text_is_stored_as_any_other_block(db: Connection, clock: FakeClock) -> None:
    words = ["x" * 64_001, "half \ud83d", "a\x00b"]

    blocks.append_texts(db, WORKER, words, at=clock.now())

    stored = [each.text for each in blocks.after(db, WORKER, 0, 9)]
    assert stored == ["x" * 64_000 + "… (1 more characters)", "half \ufffd", "a\x00b"]


def test_a_block_is_read_as_it_was_written(db: Connection, clock: FakeClock) -> None:
    call = Block(CALL, "make", "Bash", "call-1", {"input": {"command": "make", "n": [1, None]}})
    failure = Block(RESULT, "it broke", "Bash", "call-1", failed=True)

    blocks.append(db, WORKER, [call], at=clock.now())
    blocks.append(db, WORKER, [failure], at=clock.now() + timedelta(seconds=2))

    assert blocks.last(db, WORKER, 10) == [
        StoredBlock(
            *(call.kind, call.text, call.tool, call.call_id, call.data),
            number=1,
            at=clock.now(),
        ),
        StoredBlock(
            *(RESULT, "it broke", "Bash", "call-1", {}, True),
            number=2,
            at=clock.now() + timedelta(seconds=2),
        ),
    ]


def test_blocks_are_found_by_number_and_kind(db: Connection, clock: FakeClock) -> None:
    both = (Block(TEXT, "said"), Block(CALL, "ls", "Bash"))
    blocks.append(db, WORKER, both * 3, at=clock.now())

    def numbers(found: list[StoredBlock]) -> list[int]:
        return [each.number for each in found]

    assert numbers(blocks.after(db, WORKER, 2, 3)) == [3, 4, 5]
    assert numbers(blocks.after(db, WORKER, 2, 3, kinds=[CALL])) == [4, 6]
    assert numbers(blocks.last(db, WORKER, 2, kinds=[TEXT])) == [3, 5]
    assert blocks.after(db, WORKER, 6, 3) == []
    assert blocks.last(db, ANNA, 5) == []


def test_a_long_body_is_cut_and_says_by_how_much(db: Connection, clock: FakeClock) -> None:
    blocks.append(db, WORKER, texts("x" * 65_234), at=clock.now())
    (block,) = blocks.last(db, WORKER, 1)

    assert block.text == "x" * 64_000 + "… (1,234 more characters)"


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (
            {"input": {"path": "a.py", "content": "y" * 70_000}},
            {"input": {"path": "a.py", "content": "y" * 2_000 + "… (68,000 more characters)"}},
        ),
        ({"steps": [["do it", "done"]] * 9_000}, {"dropped_characters": 171_011}),
    ],
)
def test_long_data_is_shortened_and_stays_readable(
    db: Connection, clock: FakeClock, data: dict[str, object], kept: dict[str, object]
) -> None:
    blocks.append(db, WORKER, [Block(CALL, data=data)], at=clock.now())

    assert blocks.last(db, WORKER, 1)[0].data == kept


def test_text_that_no_encoding_holds_is_replaced(db: Connection, clock: FakeClock) -> None:
    broken = Block(CALL, "a\ud800b", "T\udfff", data={"é": "\ud800"})
    blocks.append(db, WORKER, [broken], at=clock.now())
    (block,) = blocks.last(db, WORKER, 1)

    assert (block.text, block.tool, block.data) == ("a\ufffdb", "T\ufffd", {"é": "\ufffd"})
