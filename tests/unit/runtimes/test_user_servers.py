"""The user's tmux servers: which there are, and what their lists say. See also tests/real."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rookery.runtimes.tmux.user_servers import ListedPane, find_sockets, list_panes, tidy
from tests.support.fakes.servers import FakeServer

pytestmark = pytest.mark.anyio


class Sockets:
    """Servers that listen, and never say a word."""

    def __init__(self, folder: Path, lives: ExitStack) -> None:
        self.folder = folder / "s"
        self.folder.mkdir(mode=0o700)
        self._lives = lives

    def listen(self, name: str) -> Path:
        listening = self._lives.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(self.folder / name))
        listening.listen(1)
        return self.folder / name

    def leave(self, name: str) -> Path:
        """Leave the socket of a server that has ended."""
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(self.folder / name))
        return self.folder / name

    def find(self, *listed: str, own: Path | None = None) -> list[Path]:
        return find_sockets(self.folder, listed=listed, own=own or self.folder / "own")


@pytest.fixture
def sockets(tmp_path: Path) -> Iterator[Sockets]:
    with ExitStack() as lives:
        yield Sockets(tmp_path, lives)


@pytest.mark.spec("B6")
def test_all_servers_that_run_are_found(sockets: Sockets) -> None:
    one, other = sockets.listen("default"), sockets.listen("work")
    sockets.leave("old")
    (sockets.folder / "notes").write_text("no socket")

    assert sockets.find() == [one, other]


@pytest.mark.spec("B6")
def test_only_those_that_are_listed_are_asked(sockets: Sockets) -> None:
    one, _ = sockets.listen("default"), sockets.listen("work")

    assert sockets.find(str(one), str(sockets.folder / "none")) == [one]


@pytest.mark.spec("B6")
def test_our_own_server_is_not_foreign_under_any_name(sockets: Sockets, tmp_path: Path) -> None:
    own = sockets.listen("own")
    link, again = tmp_path / "link", tmp_path / "again"
    link.symlink_to(own)
    again.hardlink_to(own)

    assert sockets.find(str(own), str(link), str(again), own=own) == []


@pytest.mark.spec("B6", "K4")
def test_where_there_are_no_servers_none_are_found(tmp_path: Path) -> None:
    assert find_sockets(tmp_path / "none", listed=(), own=tmp_path / "own") == []


@pytest.mark.spec("K1")
@pytest.mark.parametrize("mode", [0o701, 0o707, 0o777])
def test_a_folder_that_others_may_enter_is_passed_over(sockets: Sockets, mode: int) -> None:
    sockets.listen("default")
    sockets.folder.chmod(mode)

    assert sockets.find() == []


@pytest.mark.spec("K1")
def test_a_folder_that_is_a_link_is_passed_over(sockets: Sockets, tmp_path: Path) -> None:
    sockets.listen("default")
    link = tmp_path / "link"
    link.symlink_to(sockets.folder)

    assert find_sockets(link, listed=(), own=tmp_path / "own") == []


@pytest.mark.spec("K1")
def test_what_somebody_else_has_planted_is_never_asked(
    sockets: Sockets, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may tell whoever asks it to run anything."""
    planted = sockets.listen("default")
    mine = os.getuid()
    if mine == 0:
        os.chown(planted, 12_345, -1)
    else:
        monkeypatch.setattr("os.getuid", lambda: mine + 1)

    assert sockets.find() == []
    assert sockets.find(str(planted)) == []


@pytest.mark.spec("B7")
async def test_panes_are_listed_whatever_is_called_how() -> None:
    server = FakeServer("/run/default")
    odd = server.open("%3", 10, window="a b\tc;'#{x}", session="my work")
    odd["pane_current_path"] = "/code/two\nlines"
    server.open("%4", 11)

    assert await list_panes(server) == [
        ListedPane(
            *("/run/default", "my work", 0, "a b\tc;'#{x}", 0, "%3", 10),
            *("/code/two\nlines", "sh"),
        ),
        ListedPane("/run/default", "main", 1, "work", 0, "%4", 11, "/code", "sh"),
    ]


@pytest.mark.spec("B7")
async def test_a_window_that_is_linked_into_two_sessions_is_listed_once() -> None:
    server = FakeServer("/run/default")
    server.open("%3", 10, session="one")
    server.open("%3", 10, session="other")

    assert [pane.session for pane in await list_panes(server)] == ["one"]


async def test_a_server_without_panes_has_none() -> None:
    assert await list_panes(FakeServer("/run/default")) == []


@pytest.mark.spec("B1", "B2")
async def test_what_a_dead_daemon_left_is_taken_away_and_nothing_else() -> None:
    server = FakeServer("/run/default")
    server.buffers = ["buffer0", "words-0123456789abcdef", "words-of-mine", "my words"]

    await tidy(server)

    assert server.buffers == ["buffer0", "words-of-mine", "my words"]
