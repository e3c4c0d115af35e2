"""The event file of a session, when it is damaged or cannot be written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rookery.drivers.event_file import EventReader, EventWriter
from rookery.drivers.events import TextAdded, ToolBegan, Up


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b'{"number":1,', b"\xff\xfe\n", b"[" * 9000])
def test_a_damaged_line_hides_no_other(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "it.events"
    writer, reader = EventWriter(path), EventReader(path)
    writer.append(Up("it"))
    with path.open("ab") as file:
        file.write(line if line.endswith(b"\n") else line + b"\n")
    writer.append(TextAdded("hello"))

    assert [each.event for each in reader.read()] == [Up("it"), TextAdded("hello")]
    assert list(reader.read()) == []


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
