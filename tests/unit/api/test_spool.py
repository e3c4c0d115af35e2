from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from rookery.api.spool import MAX_BATCH_BYTES, MAX_BATCH_CALLS, MAX_FILE_BYTES, Spool
from rookery.hook_protocol import read_head

pytestmark = pytest.mark.anyio

LONG_AGO = 1_000_000_000


def key(number: int) -> str:
    return f"{number:020d}-{number:016x}"


def write(folder: Path, number: int, *, badge: str = "-", suffix: str = "") -> Path:
    file = folder / (key(number) + suffix)
    file.write_bytes(f"v2 {key(number)} claude 2 {badge} - 1 -\n{{}}".encode())
    return file


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


class Taken:
    """What was taken in, and a gate that each batch passes."""

    def __init__(self, folder: Path) -> None:
        self.batches: list[list[str]] = []
        self.parked: list[str] = []
        self.reasons: list[str] = []
        self.entered = anyio.Event()
        self.gate = anyio.Event()
        self.gate.set()
        self.spool = Spool(folder, self.take_in, self.park)

    async def take_in(self, calls: Sequence[bytes]) -> None:
        self.entered.set()
        await self.gate.wait()
        heads = [read_head(call.partition(b"\n")[0]) for call in calls]
        self.batches.append([head.key for head in heads])

    async def park(self, key: str, why: str) -> None:
        self.parked.append(key)
        self.reasons.append(why)

    @property
    def keys(self) -> list[str]:
        return [each for batch in self.batches for each in batch]


@pytest.fixture
def taken(tmp_path: Path) -> Taken:
    return Taken(tmp_path)


@pytest.mark.spec("C3", "C5")
async def test_spooled_calls_are_taken_in_in_order_and_in_batches(
    taken: Taken, tmp_path: Path
) -> None:
    for number in reversed(range(MAX_BATCH_CALLS + 10)):
        write(tmp_path, number)

    await taken.spool.drain()

    assert taken.keys == [key(number) for number in range(MAX_BATCH_CALLS + 10)]
    assert [len(batch) for batch in taken.batches] == [MAX_BATCH_CALLS, 10]
    assert names_in(tmp_path) == []


@pytest.mark.spec("C3", "C5")
async def test_a_live_call_waits_for_the_spooled_ones_of_its_own_session_only(
    taken: Taken, tmp_path: Path
) -> None:
    for number in range(MAX_BATCH_CALLS):
        write(tmp_path, number, badge="anna")
    write(tmp_path, MAX_BATCH_CALLS, badge="bert")
    write(tmp_path, MAX_BATCH_CALLS + 1, badge="anna")
    await taken.spool.clear("nobody else")

    await taken.spool.clear("bert")

    assert taken.keys == [key(MAX_BATCH_CALLS)]
    with anyio.fail_after(20):
        await taken.spool.clear("anna")
    assert taken.keys[1:] == [*map(key, range(MAX_BATCH_CALLS)), key(MAX_BATCH_CALLS + 1)]


@pytest.mark.spec("C3")
async def test_a_drain_under_way_holds_up_a_live_call_of_another_session_for_no_batch(
    taken: Taken, tmp_path: Path
) -> None:
    for number in range(3):
        write(tmp_path, number, badge="anna")
    await taken.spool.clear("bert")  # so that the folder is known
    os.utime(tmp_path, (LONG_AGO, LONG_AGO))
    await taken.spool.clear("bert")
    taken.gate = anyio.Event()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(taken.spool.clear, "anna")
            await taken.entered.wait()
            await taken.spool.clear("bert")
            taken.gate.set()

    assert taken.keys == [key(0), key(1), key(2)]


@pytest.mark.spec("C3", "K3")
async def test_a_whole_part_is_taken_in_and_a_partial_one_is_set_aside_visibly(
    taken: Taken, tmp_path: Path
) -> None:
    write(tmp_path, 1, suffix=".part")
    torn = write(tmp_path, 2, suffix=".part")
    torn.write_bytes(torn.read_bytes()[:-1])
    os.utime(torn, (LONG_AGO, LONG_AGO))
    young = write(tmp_path, 3, suffix=".part")
    young.write_bytes(b"")

    await taken.spool.drain()

    assert taken.keys == [key(1)]
    assert taken.parked == [key(2)]
    assert names_in(tmp_path) == [f"{key(2)}.damaged", f"{key(3)}.part"]


@pytest.mark.spec("C3", "K4")
async def test_what_could_not_be_taken_in_stays(taken: Taken, tmp_path: Path) -> None:
    write(tmp_path, 1)

    async def fail(calls: Sequence[bytes]) -> None:
        raise OSError("no room")

    taken.spool.take_in = fail
    with pytest.raises(OSError, match="no room"):
        await taken.spool.drain()
    taken.spool.take_in = taken.take_in
    await taken.spool.drain()

    assert taken.keys == [key(1)]


@pytest.mark.spec("C3", "C5")
async def test_a_live_call_overtakes_none_of_its_session_that_a_drain_is_taking_in(
    taken: Taken, tmp_path: Path
) -> None:
    for number in range(MAX_BATCH_CALLS + 1):
        write(tmp_path, number, badge="anna")
    taken.gate = anyio.Event()
    known: list[int] = []

    async def call_live() -> None:
        await taken.spool.clear("anna")
        known.append(len(taken.keys))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(taken.spool.drain)
            await taken.entered.wait()
            tasks.start_soon(call_live)
            taken.gate.set()

    assert known == [MAX_BATCH_CALLS + 1]
    assert taken.keys == [key(number) for number in range(MAX_BATCH_CALLS + 1)]


@pytest.mark.spec("C3")
async def test_a_spool_that_is_empty_and_unchanged_holds_up_nobody(
    taken: Taken, tmp_path: Path
) -> None:
    at_first = taken.spool.may_be_ahead
    os.utime(tmp_path, (LONG_AGO, LONG_AGO))
    await taken.spool.drain()
    empty = taken.spool.may_be_ahead
    write(tmp_path, 1)

    assert (at_first, empty, taken.spool.may_be_ahead) == (True, False, True)


@pytest.mark.spec("C3")
async def test_a_spool_with_calls_is_looked_at_also_if_nothing_came_since(
    taken: Taken, tmp_path: Path
) -> None:
    write(tmp_path, 1, badge="anna")
    os.utime(tmp_path, (LONG_AGO, LONG_AGO))
    await taken.spool.clear("bert")

    assert taken.spool.may_be_ahead


def grow(file: Path, size: int, suffix: str = "") -> None:
    """Make a file as large as a call may be, or larger, without filling the disk."""
    head = f"v2 {file.name} claude {size} - - 1 -\n".encode()
    file = file.with_name(file.name + suffix)
    file.write_bytes(head)
    os.truncate(file, len(head) + size)


@pytest.mark.spec("C3", "K4")
@pytest.mark.parametrize("suffix", ["", ".part"])
async def test_a_file_larger_than_the_door_takes_is_set_aside_unread(
    taken: Taken, tmp_path: Path, suffix: str
) -> None:
    write(tmp_path, 1)
    grow(tmp_path / key(2), 700_000_000, suffix)
    write(tmp_path, 3)

    await taken.spool.drain()
    await taken.spool.drain()

    assert taken.keys == [key(1), key(3)]
    assert taken.parked == [key(2)]
    assert "is the most" in taken.reasons[0]
    assert names_in(tmp_path) == [f"{key(2)}.damaged"]


@pytest.mark.spec("C3", "K4")
async def test_a_file_that_cannot_be_read_holds_up_no_other(
    taken: Taken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 1)
    write(tmp_path, 2)

    def open_or_refuse(name: str, *arguments: object, **more: object) -> object:
        if str(name).endswith(key(1)):
            raise PermissionError(13, "Permission denied")
        return open(name, *arguments, **more)  # type: ignore[call-overload] # noqa: PTH123

    monkeypatch.setattr("rookery.api.spool.open", open_or_refuse, raising=False)
    await taken.spool.drain()

    assert taken.keys == [key(2)]
    assert taken.parked == [key(1)]


@pytest.mark.spec("K4")
async def test_a_batch_has_no_more_bytes_than_are_allowed(taken: Taken, tmp_path: Path) -> None:
    size = MAX_FILE_BYTES * 3 // 4
    for number in range(4):
        grow(tmp_path / key(number), size)

    await taken.spool.drain()

    assert [len(batch) * size <= MAX_BATCH_BYTES for batch in taken.batches] == [True, True]
    assert taken.keys == [key(number) for number in range(4)]


@pytest.mark.spec("C3", "K4")
@pytest.mark.parametrize("name", ["x" * 250 + ".part", "taken.part"])
async def test_a_file_that_cannot_be_set_aside_as_usual_holds_up_no_other(
    taken: Taken, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"no call")
    os.utime(tmp_path / name, (LONG_AGO, LONG_AGO))
    (tmp_path / "taken.damaged").mkdir()
    write(tmp_path, 1)

    await taken.spool.drain()
    await taken.spool.drain()

    assert taken.keys == [key(1)]
    assert taken.parked == [name.removesuffix(".part")]
    assert not (tmp_path / name).exists()


@pytest.mark.spec("C3", "K4")
async def test_a_file_that_cannot_be_set_aside_at_all_is_left_and_parked_once(
    taken: Taken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "it.part").write_bytes(b"no call")
    os.utime(tmp_path / "it.part", (LONG_AGO, LONG_AGO))

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "rename", refuse)
    await taken.spool.drain()
    write(tmp_path, 1)
    await taken.spool.drain()

    assert (taken.keys, taken.parked) == ([key(1)], ["it"])
