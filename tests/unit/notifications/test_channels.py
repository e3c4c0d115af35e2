from __future__ import annotations

import json
import os
import pty
import tty
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rookery.model.errors import NotificationDoubted, NotificationFailed
from rookery.model.notifications import NotificationKind, safe_text
from rookery.notifications.channels.bell import bytes_for, is_own_terminal, write_to
from rookery.notifications.channels.command import CommandNotifier, as_json, run_program
from rookery.notifications.channels.desktop import DesktopNotifier
from tests.support.contract.notifiers import PATIENT, item, notification, recorded, recorder

pytestmark = [pytest.mark.anyio, pytest.mark.spec("H4")]


async def test_a_program_gets_the_whole_notification_as_json(tmp_path: Path) -> None:
    program, file = recorder(tmp_path, "tell")

    channel = CommandNotifier((str(program), "--loud"), {}, "rook", PATIENT)
    await channel.send(notification(item("api", "rm -rf build")))

    (line,) = recorded(file)
    argument, given = json.loads(line)
    told = json.loads(given)
    assert argument == "--loud"
    assert (told["kind"], told["title"], told["computer"]) == (
        "needs-you",
        "api needs you",
        "rook",
    )
    (session,) = told["sessions"]
    assert {key: session[key] for key in ("name", "folder", "text", "request")} == {
        "name": "api",
        "folder": "/code/api",
        "text": "rm -rf build",
        "request": "r1",
    }


async def test_a_program_that_fails_is_reported_with_its_complaint() -> None:
    argv = ("/bin/sh", "-c", "echo No network. >&2; exit 3")

    with pytest.raises(NotificationFailed, match=r"/bin/sh exited with 3: No network\."):
        await run_program(argv, os.environ, timeout_s=PATIENT)


async def test_a_program_that_takes_too_long_is_ended_and_leaves_a_doubt(
    tmp_path: Path,
) -> None:
    pid = tmp_path / "pid"
    argv = ("/bin/sh", "-c", f"echo $$ > {pid}; exec sleep 300")

    with pytest.raises(NotificationDoubted, match="took longer than"):
        await run_program(argv, os.environ, timeout_s=1.0)

    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_what_a_program_leaves_in_the_background_delays_nothing() -> None:
    argv = ("/bin/sh", "-c", "sleep 20 & exit 0")

    await run_program(argv, os.environ, timeout_s=10.0)


async def test_a_kind_has_its_own_sound_and_urgency_on_the_desktop(tmp_path: Path) -> None:
    program, file = recorder(tmp_path, "notify-send")
    sounds = {NotificationKind.FINISHED: "complete"}
    channel = DesktopNotifier({"PATH": str(program.parent)}, sounds, details=True)

    await channel.send(notification(item(kind=NotificationKind.FINISHED)))
    await channel.send(notification(item(kind=NotificationKind.NEEDS_YOU)))

    finished, needs_you = (json.loads(each) for each in recorded(file))
    assert finished[:3] == [
        "--app-name=Rookery",
        "--urgency=normal",
        "--hint=string:sound-name:complete",
    ]
    assert needs_you[:3] == ["--app-name=Rookery", "--urgency=critical", "--"]


async def test_the_desktop_shows_no_markup_of_a_session(tmp_path: Path) -> None:
    program, file = recorder(tmp_path, "notify-send")
    channel = DesktopNotifier({"PATH": str(program.parent)}, {}, details=True)

    await channel.send(notification(item(text="<a href='x'>Allow</a> & more")))

    (line,) = recorded(file)
    assert "&lt;a href='x'&gt;Allow&lt;/a&gt; &amp; more" in json.loads(line)[-2]


async def test_the_text_can_be_left_out_on_the_desktop(tmp_path: Path) -> None:
    program, file = recorder(tmp_path, "notify-send")
    channel = DesktopNotifier({"PATH": str(program.parent)}, {}, details=False)

    await channel.send(notification(item(text="rm -rf build")))

    assert "rm -rf" not in recorded(file)[0]


async def test_osascript_gets_the_texts_as_arguments_of_a_fixed_script(tmp_path: Path) -> None:
    program, file = recorder(tmp_path, "osascript")
    sounds = {NotificationKind.NEEDS_YOU: "Ping"}
    channel = DesktopNotifier({"PATH": str(program.parent)}, sounds, details=True)

    await channel.send(notification(item(text='" & do shell script "id')))

    (option, script, *texts) = json.loads(recorded(file)[0])
    assert option == "-e"
    assert "do shell script" not in script
    body = '/code/api\n" & do shell script "id'
    assert texts[:3] == ["Rookery: api needs you", body, "Ping"]


def test_a_bell_without_text_is_one_character() -> None:
    assert bytes_for(notification(), with_text=False) == b"\a"


@pytest.fixture
def terminal() -> Iterator[tuple[int, Path]]:
    """Give the reading end of a terminal, and the path of the other."""
    reading, writing = pty.openpty()
    tty.setraw(writing)
    yield reading, Path(os.ttyname(writing))
    os.close(reading)
    os.close(writing)


def test_a_bell_that_a_terminal_takes_is_written_as_a_whole(
    terminal: tuple[int, Path],
) -> None:
    reading, path = terminal
    rung = bytes_for(notification(), with_text=True)

    assert write_to(path, rung)
    assert os.read(reading, 10_000) == rung


def test_a_sequence_of_which_a_terminal_takes_a_part_is_ended_and_counts_as_not_sent(
    terminal: tuple[int, Path],
) -> None:
    reading, path = terminal
    too_much = b"\x1b]9;" + b"A" * 1_000_000

    with ThreadPoolExecutor() as threads:
        written = threads.submit(write_to, path, too_much)
        shown = b""
        while not shown.endswith(b"\x1b\\"):
            shown += os.read(reading, 10_000)

    assert not written.result()
    assert len(shown) < len(too_much)


async def test_a_program_gets_a_folder_without_control_characters() -> None:
    content = as_json(notification(item(folder="/code/\x1b]0;x\x07\u202eapi")), "laptop")

    (session,) = json.loads(content)["sessions"]
    assert session["folder"] == safe_text("/code/\x1b]0;x\x07\u202eapi")
    assert session["folder"].isprintable()


def test_only_terminals_of_this_user_are_written_to(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/tty")
    plain = tmp_path / "plain"
    plain.touch()

    assert not any(map(is_own_terminal, (link, plain, tmp_path / "missing")))
