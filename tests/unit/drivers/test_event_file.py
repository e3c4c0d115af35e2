"""The event file of a session, when it is damaged or cannot be written."""

from __future__ import annotations

import resource
import shutil
from pathlib import Path

import pytest

from rookery.drivers import event_file
from rookery.drivers.event_file import EventReader, EventWriter
from rookery.drivers.events import TextAdded, ToolBegan, Up


@pytest.mark.parametrize(
    "line", [b"\n", b"{}\n", b'{"number":1,', b"\xff\xfe\n", b"[" * 9000, b"{\r}"]
)
def test_a_damaged_line_hides_no_other(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "it.events"
    writer, reader = EventWriter(path), EventReader(path)
    writer.append(Up("it"))
    with path.open("ab") as file:
        file.write(line if line.endswith(b"\n") else line + b"\n")
    writer.append(TextAdded("hello"))

    assert [each.event for each in reader.read()] == [Up("it"), TextAdded("hello")]
    assert list(reader.read()) == []


@pytest.mark.timeout(30)
def test_a_long_line_is_read_in_linear_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_file, "_CHUNK_BYTES", 256)
    path, long = tmp_path / "it.events", TextAdded("a" * 2**24)
    EventWriter(path).append(Up("it"), long, TextAdded("b"))

    assert [each.event for each in EventReader(path).read()] == [Up("it"), long, TextAdded("b")]


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    """Programs in JavaScript may cut a text within a character, and send it so."""
    path = tmp_path / "it.events"
    writer = EventWriter(path)
    writer.append(TextAdded("a\ud83d"))
    writer.append(ToolBegan("1", "Bash", {"command": ["\ud83d\ude00", {"b\ude00": None}]}))

    assert [each.event for each in EventReader(path).read()] == [
        TextAdded("a\ufffd"),
        ToolBegan("1", "Bash", {"command": ["\U0001f600", {"b\ufffd": None}]}),
    ]


def test_events_that_are_written_together_are_numbered_in_order(tmp_path: Path) -> None:
    path = tmp_path / "it.events"
    writer, reader = EventWriter(path), EventReader(path)
    writer.append(Up("it"))
    writer.append(TextAdded("a"), TextAdded("half \ud83d"), TextAdded("b\n"))

    assert [(each.number, each.event) for each in reader.read()] == [
        (1, Up("it")),
        (2, TextAdded("a")),
        (3, TextAdded("half \ufffd")),
        (4, TextAdded("b\n")),
    ]


def test_what_a_full_disk_did_not_take_is_written_later(tmp_path: Path) -> None:
    path = tmp_path / "it.events"
    writer, reader = EventWriter(path), EventReader(path)
    writer.append(TextAdded("first"))
    size = path.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * size + 9, limits[1]))
    try:
        assert not writer.append(TextAdded("other"), TextAdded("third"))
        assert [each.number for each in reader.read()] == [1, 2]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert writer.append(TextAdded("again"))

    assert [(each.number, each.event) for each in reader.read()] == [
        (3, TextAdded("third")),
        (4, TextAdded("again")),
    ]


def test_a_line_that_is_being_written_is_read_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "it.events"
    writer, reader = EventWriter(tmp_path / "source"), EventReader(path)
    writer.append(TextAdded("a"), TextAdded("b"))
    lines = (tmp_path / "source").read_bytes()
    path.write_bytes(lines[:-5])
    assert [each.event for each in reader.read()] == [TextAdded("a")]

    path.write_bytes(lines)

    assert [each.event for each in reader.read()] == [TextAdded("b")]


def test_a_file_that_was_emptied_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "it.events"
    writer, reader = EventWriter(path), EventReader(path)
    writer.append(TextAdded("a long text before the file was emptied"))
    reader.read()
    path.write_bytes(b"")

    writer.append(TextAdded("after"))

    assert [each.event for each in reader.read()] == [TextAdded("after")]


def test_lines_of_any_length_are_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "it.events"
    writer, reader = EventWriter(path), EventReader(path)
    events = [TextAdded("x" * length) for length in (9, 200_000, 65_000, 9, 70_000)]
    writer.append(*events)

    assert [each.event for each in reader.read()] == events


def test_a_deleted_file_is_written_anew_with_all_that_it_had(tmp_path: Path) -> None:
    path = tmp_path / "driven" / "it.events"
    writer, reader = EventWriter(path), EventReader(path)
    writer.append(Up("it"))
    assert len(list(reader.read())) == 1
    assert not writer.restore()
    shutil.rmtree(path.parent)
    writer.append(TextAdded("meanwhile"))

    assert writer.restore()
    writer.append(TextAdded("later"))

    assert [each.event for each in reader.read()] == [
        TextAdded("meanwhile"),
        TextAdded("later"),
    ]
    assert [each.number for each in EventReader(path).read()] == [1, 2, 3]
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_new_file_of_a_session_goes_on_with_the_numbers_of_the_old_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "it.events"
    for _ in range(2):
        writer = EventWriter(path)
        writer.append(Up("it"))
        writer.append(TextAdded("hello"))
        writer.close()

    assert [each.number for each in EventReader(path).read()] == [3, 4]
