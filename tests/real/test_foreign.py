"""How a tmux server is asked to which nobody of us is attached; a real one, of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.model.errors import RuntimeFailed
from rookery.runtimes.tmux import captures, safe_input, user_servers
from rookery.runtimes.tmux.control import TmuxFailed, TmuxGone, TmuxRefused, TmuxSilent
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import ServerSite
from rookery.runtimes.tmux.user_servers import ForeignServer, list_panes
from tests.support.real.own_tmux import OwnTmux
from tests.support.real.rookery import eventually

pytestmark = [pytest.mark.real, pytest.mark.anyio]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnTmux]:
    own = OwnTmux(tmp_path)
    own.shell(tmp_path)
    yield own
    own.clear_away()


@pytest.fixture
def server(own: OwnTmux, tmp_path: Path) -> ForeignServer:
    return ForeignServer(ServerSite("tmux", own.socket, tmp_path, lines=0))


async def test_each_question_gets_its_own_answer(server: ForeignServer) -> None:
    answers = await server.ask(
        line("display-message", "-p", "one"),
        line("set-option", "-p", "-t", "%0", "@x", "a;b $HOME #{pid} ~ 'q' \\"),
        line("display-message", "-p", "two\\n"),
        line("show-options", "-p", "-v", "-t", "%0", "@x"),
    )

    assert answers == [(b"one",), (), (b"two\\n",), (b"a;b $HOME #{pid} ~ 'q' \\",)]


async def test_after_a_refusal_nothing_more_is_done(
    server: ForeignServer, own: OwnTmux
) -> None:
    with pytest.raises(TmuxRefused, match="can't find pane"):
        await server.ask(
            line("set-option", "-p", "-t", "%0", "@before", "1"),
            line("send-keys", "-t", "%99", "x"),
            line("set-option", "-p", "-t", "%0", "@after", "1"),
        )

    assert own.tmux("show-options", "-p", "-t", "%0") == "@before 1"


@pytest.mark.spec("B1")
async def test_where_no_server_runs_none_is_started(tmp_path: Path) -> None:
    nobody = ForeignServer(ServerSite("tmux", tmp_path / "none.sock", tmp_path, lines=0))

    with pytest.raises(RuntimeFailed):
        await nobody.ask(line("list-panes", "-a"))

    assert not (tmp_path / "none.sock").exists()


async def test_without_tmux_it_says_so(own: OwnTmux, tmp_path: Path) -> None:
    nothing = ForeignServer(ServerSite("/nowhere/tmux", own.socket, tmp_path, lines=0))

    with pytest.raises(TmuxGone, match="/nowhere/tmux cannot be run"):
        await nothing.ask(line("list-panes", "-a"))


async def test_what_is_too_much_at_once_is_refused(server: ForeignServer) -> None:
    with pytest.raises(TmuxFailed, match="too much"):
        await server.ask(line("display-message", "-p", "x" * 100_000))


@pytest.mark.spec("B1", "K4")
async def test_a_server_that_hangs_is_given_up(
    server: ForeignServer, own: OwnTmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_servers, "COMMAND_TIMEOUT_SECONDS", 0.3)
    pid = int(own.tmux("display-message", "-p", "#{pid}"))
    os.kill(pid, signal.SIGSTOP)

    try:
        with pytest.raises(TmuxSilent):
            await server.ask(line("list-panes", "-a"))
    finally:
        os.kill(pid, signal.SIGCONT)

    assert await list_panes(server)


@pytest.mark.spec("B7", "K2")
async def test_a_screen_is_read_as_it_is_and_through_no_buffer(
    server: ForeignServer, own: OwnTmux
) -> None:
    own.tmux("set-hook", "-g", "after-capture-pane", "set-option -g @noted looked")
    own.tmux("set-hook", "-g", "after-save-buffer", "set-option -g @noted saved")
    own.tmux("set-hook", "-g", "after-delete-buffer", "set-option -g @noted deleted")
    own.type("%0", "printf '%%end 1 1 1\\nmark\\n'; seq 100")
    own.shows("%0", "\n100\n")  # the output, not the echoed command

    screen = await captures.read_screen(server, "%0")
    history = await captures.read_screen(server, "%0", history=True)
    around = await captures.look_around(server, "%0")

    assert "99" in [each.strip() for each in screen]
    assert "%end 1 1 1" in [each.strip() for each in history]
    assert (around.in_mode, around.pasted, around.typed_at) == (False, "", 0)
    assert own.tmux("show-options", "-g", "-v", "@noted") == "looked"


@pytest.mark.spec("B2")
async def test_a_megabyte_is_pasted_whole(
    server: ForeignServer, own: OwnTmux, tmp_path: Path
) -> None:
    words = "".join(f"line {number} ümläut\n" for number in range(50_000))[:900_000]
    taken = tmp_path / "taken"
    own.type("%0", f"stty raw -echo; head -c {len(words.encode())} > {taken}; stty sane")
    eventually(taken.exists)

    await safe_input.paste(server, "%0", words, receipt="7")

    eventually(lambda: taken.stat().st_size == len(words.encode()))
    assert taken.read_text() == words
    assert own.tmux("show-options", "-p", "-v", "-t", "%0", "@rookery-pasted") == "7"
    assert own.tmux("list-buffers") == ""


@pytest.mark.spec("B7")
async def test_panes_are_listed_as_tmux_has_them(
    server: ForeignServer, own: OwnTmux, tmp_path: Path
) -> None:
    odd = tmp_path / "two\nlines; 'q'"
    odd.mkdir()
    pane = own.shell(odd, window="a b;'c' ünï")
    own.tmux("split-window", "-d", "-t", pane, "-c", str(tmp_path), "sleep", "600")
    # Of one that is just being run, tmux cannot tell the folder.
    commands = ("list-panes", "-a", "-F", "#{pane_current_command}#{?pane_current_path,,?}")
    eventually(lambda: own.tmux(*commands).split() == ["sh", "sh", "sleep"])

    _, second, third = await list_panes(server)

    assert (second.pane, second.window, second.index) == (pane, 1, 0)
    assert (second.window_name, second.cwd, second.command) == ("a b;'c' ünï", str(odd), "sh")
    assert (third.index, third.cwd, third.command) == (1, str(tmp_path), "sleep")
    assert (second.server, second.session) == (str(own.socket), "own")
