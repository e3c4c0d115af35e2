"""The event file of a session, when it is damaged or cannot be written."""

from __future__ import annotations

import resource
from pathlib import Path

import anyio
import pytest

from rookery.clock import WallClock
from rookery.drivers.commands import List, Start
from rookery.drivers.event_file import EventReader, EventWriter, path_of
from rookery.drivers.events import TextAdded, ToolBegan, Up
from rookery.runtimes.driven.host_connection import HostConnection
from tests.support.scripted_driver import NAME, hosting, site_in

pytestmark = pytest.mark.anyio

SOON = 20.0


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


async def test_a_session_whose_end_cannot_be_stored_is_reported_as_gone(tmp_path: Path) -> None:
    site = site_in(tmp_path)
    site.events.mkdir()
    path_of(site.events, "it").symlink_to("/dev/full")
    start = Start("it", NAME, (), {}, str(tmp_path), {})
    async with hosting(site):
        host = HostConnection(site, WallClock(), grown=lambda _: None, lost=lambda: None)
        await host.ask(start)
        with anyio.fail_after(SOON):
            while "it" in (await host.ask(List())).sessions:
                pass
        await host.close()


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


def test_a_full_disk_keeps_the_events_that_it_took_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "it.events"
    writer, reader = EventWriter(path), EventReader(path)
    writer.append(TextAdded("first"))
    size = path.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * size + 9, limits[1]))
    try:
        with pytest.raises(OSError, match="bytes of events could be written"):
            writer.append(TextAdded("other"), TextAdded("third"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer.append(TextAdded("again"))

    assert [(each.number, each.event) for each in reader.read()] == [
        (1, TextAdded("first")),
        (2, TextAdded("other")),
        (3, TextAdded("again")),
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
