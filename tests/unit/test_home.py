from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rookery.home import Home, find_home
from rookery.model.errors import AlreadyRunning, HomeUnusable
from rookery.private_files import open_private, write_durably

#: Linux takes 107 bytes of path for a unix socket, macOS 103.
SOCKET_PATH = 103


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def deep(tmp_path: Path) -> Path:
    """Return a path that is too long for a socket."""
    return tmp_path / ("d" * 60) / ("e" * 60)


def test_everything_lies_below_rookery_home(tmp_path: Path) -> None:
    home = find_home({"ROOKERY_HOME": "/r", "HOME": str(tmp_path), "XDG_STATE_HOME": "/x"})

    root = Path("/r")
    assert (home.config, home.state, home.run) == (root, root, root / "run")
    assert home.settings == root / "config.toml"
    assert home.database == root / "rookery.db"
    assert home.door == root / "run" / "rookery.sock"
    assert find_home(home.environment) == home


def test_a_relative_home_is_the_same_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert find_home({"ROOKERY_HOME": "here"}).config == tmp_path / "here"


def test_without_it_the_usual_places_are_taken() -> None:
    home = find_home({"HOME": "/home/anna"})

    assert home.config == Path("/home/anna/.config/rookery")
    assert home.state == Path("/home/anna/.local/state/rookery")
    assert home.run == Path("/home/anna/.local/state/rookery/run")


def test_the_usual_places_can_be_elsewhere() -> None:
    home = find_home({"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"})

    assert (home.config, home.state) == (Path("/c/rookery"), Path("/s/rookery"))


def test_what_is_set_to_nothing_is_not_set() -> None:
    empty = {"ROOKERY_HOME": "", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}

    assert find_home({"HOME": "/h", **empty}) == find_home({"HOME": "/h"})


@pytest.mark.spec("K1")
def test_a_path_too_long_for_a_socket_is_hashed(tmp_path: Path) -> None:
    long = deep(tmp_path)

    one = find_home({"ROOKERY_HOME": str(long), "XDG_RUNTIME_DIR": "/run/user/1"})
    other = find_home({"ROOKERY_HOME": str(long / "2"), "XDG_RUNTIME_DIR": "/run/user/1"})

    assert one.run.parent == Path("/run/user/1")
    assert one.run != other.run
    assert one == find_home({"ROOKERY_HOME": str(long), "XDG_RUNTIME_DIR": "/run/user/1"})
    assert one.state == long


@pytest.mark.spec("K1")
@pytest.mark.parametrize("length", range(60, 110, 7))
def test_no_socket_has_a_path_that_is_too_long(length: int) -> None:
    home = find_home({"ROOKERY_HOME": "/" + "ä" * (length // 2)})

    for socket in (home.door, home.hook_door, home.tmux):
        assert len(os.fsencode(socket)) <= SOCKET_PATH


@pytest.mark.spec("K1")
def test_every_folder_is_for_the_owner_alone(tmp_path: Path) -> None:
    home = find_home({"ROOKERY_HOME": str(tmp_path / "home")})

    before = os.umask(0)
    try:
        home.prepare()
        home.prepare()
    finally:
        os.umask(before)

    folders = (
        *(home.config, home.state, home.run, home.log.parent),
        *(home.artifacts, home.spool, home.sessions),
    )
    assert {mode(folder) for folder in folders} == {0o700}


@pytest.mark.spec("K1")
def test_a_run_folder_that_others_could_enter_is_closed(tmp_path: Path) -> None:
    home = find_home({"ROOKERY_HOME": str(tmp_path)})
    home.run.mkdir()
    home.run.chmod(0o777)

    home.prepare()

    assert mode(home.run) == 0o700


@pytest.fixture
def hashed(tmp_path: Path) -> Home:
    """Give a home whose sockets are in a folder that anybody could have made before us."""
    shared = tmp_path / "s"
    shared.mkdir()
    return find_home({"ROOKERY_HOME": str(deep(tmp_path)), "XDG_RUNTIME_DIR": str(shared)})


@pytest.mark.spec("K1")
def test_the_hashed_folder_is_made_private(hashed: Home) -> None:
    hashed.prepare()

    assert mode(hashed.run) == 0o700


@pytest.mark.spec("K1")
@pytest.mark.parametrize("target", ["theirs", "nowhere"])
def test_a_link_that_was_planted_is_refused(hashed: Home, tmp_path: Path, target: str) -> None:
    (tmp_path / "theirs").mkdir()
    hashed.run.symlink_to(tmp_path / target)

    with pytest.raises(HomeUnusable, match=hashed.run.name):
        hashed.prepare()


@pytest.mark.spec("K1")
def test_a_folder_of_somebody_else_is_refused(
    hashed: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed.run.mkdir(mode=0o777)
    somebody_else = os.getuid() + 1
    monkeypatch.setattr("os.getuid", lambda: somebody_else)

    with pytest.raises(HomeUnusable, match="not a folder of yours"):
        hashed.prepare()


@pytest.mark.spec("K4")
def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")

    with pytest.raises(HomeUnusable, match="home"):
        find_home({"ROOKERY_HOME": str(tmp_path / "home")}).prepare()


@pytest.mark.spec("K1")
def test_what_is_missing_above_the_home_is_made_for_the_owner_alone(tmp_path: Path) -> None:
    top = tmp_path / "top"
    home = find_home({"ROOKERY_HOME": str(top / "middle" / "home")})

    before = os.umask(0)
    try:
        home.prepare()
    finally:
        os.umask(before)

    assert [mode(each) for each in (top, top / "middle")] == [0o700, 0o700]


@pytest.mark.spec("K1")
@pytest.mark.parametrize("planted", ["folder", "file", "link"])
def test_where_another_user_made_the_folder_of_sockets_another_name_is_taken(
    hashed: Home, tmp_path: Path, planted: str
) -> None:
    shared = hashed.run.parent
    variables = {"ROOKERY_HOME": str(deep(tmp_path)), "XDG_RUNTIME_DIR": str(shared)}
    if planted == "link":
        hashed.run.symlink_to(tmp_path)
    elif planted == "file":
        hashed.run.write_text("")
    else:
        hashed.run.mkdir()
        if os.getuid() != 0:
            pytest.skip("only root can give a folder to another user")
        os.chown(hashed.run, 65534, 65534)

    home = find_home(variables)
    home.prepare()
    if planted == "folder":
        hashed.run.rmdir()
    else:
        hashed.run.unlink()
    again = find_home(variables)

    assert home.run != hashed.run
    assert mode(home.run) == 0o700
    assert again.run == home.run  # also once the other user has removed theirs


@pytest.mark.spec("K4")
def test_a_home_of_a_user_who_is_not_there_is_an_error_in_a_sentence() -> None:
    with pytest.raises(HomeUnusable, match="ROOKERY_HOME=~nosuchuser"):
        find_home({"ROOKERY_HOME": "~nosuchuser/x"})


@pytest.mark.spec("K4")
def test_a_folder_that_cannot_be_made_private_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)

    def read_only(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "chmod", read_only)

    with pytest.raises(HomeUnusable, match="cannot be made private: Read-only file system"):
        find_home({"ROOKERY_HOME": str(tmp_path)}).prepare()


@pytest.mark.parametrize("name", ["XDG_CONFIG_HOME", "XDG_STATE_HOME"])
def test_a_relative_folder_of_xdg_is_ignored(name: str) -> None:
    assert find_home({"HOME": "/h", name: "relative"}) == find_home({"HOME": "/h"})


@pytest.mark.spec("K4")
@pytest.mark.parametrize("character", ["\n", "\t", "\x01", "\x7f", "\x85", "\udcff"])
def test_a_home_with_a_control_character_in_its_name_is_refused(
    tmp_path: Path, character: str
) -> None:
    home = find_home({"ROOKERY_HOME": str(tmp_path / f"a{character}b")})

    with pytest.raises(HomeUnusable, match="Set ROOKERY_HOME"):
        home.prepare()
    assert not home.state.exists()


@pytest.mark.spec("K4")
def test_a_home_stays_locked_when_the_file_of_its_lock_is_deleted(tmp_path: Path) -> None:
    home = find_home({"ROOKERY_HOME": str(tmp_path)})
    home.prepare()

    with home.locked():
        home.lock.unlink()
        with pytest.raises(AlreadyRunning, match="was deleted"), home.locked():
            pass
    with home.locked():
        assert home.lock_pid() == os.getpid()


@pytest.mark.spec("K1")
@pytest.mark.parametrize("target", ["theirs", "nowhere"])
def test_a_private_file_is_not_opened_through_a_link(tmp_path: Path, target: str) -> None:
    (tmp_path / "theirs").write_text("secret")
    (tmp_path / "theirs").chmod(0o600)
    link = tmp_path / "token"
    link.symlink_to(tmp_path / target)

    with pytest.raises(HomeUnusable, match=str(link)):
        open_private(link)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.spec("K1")
@pytest.mark.parametrize("permissions", [0o640, 0o604, 0o620, 0o602, 0o666])
def test_a_private_file_that_others_may_read_or_write_is_refused(
    tmp_path: Path, permissions: int
) -> None:
    file = tmp_path / "token"
    file.write_text("secret")
    file.chmod(permissions)

    with pytest.raises(HomeUnusable, match="not private to you"):
        open_private(file)
    assert file.read_text() == "secret"


@pytest.mark.spec("K1")
def test_a_private_file_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    open_private(file).close()
    somebody_else = os.getuid() + 1
    monkeypatch.setattr("os.getuid", lambda: somebody_else)

    with pytest.raises(HomeUnusable, match="not private to you"):
        open_private(file)


@pytest.mark.spec("K1")
def test_a_private_file_is_made_for_the_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        open_private(tmp_path / "token").close()
    finally:
        os.umask(before)

    assert mode(tmp_path / "token") == 0o600


@pytest.mark.spec("K4")
def test_a_file_that_several_write_at_once_has_the_whole_of_what_one_wrote(
    tmp_path: Path,
) -> None:
    file, contents = tmp_path / "file", [bytes([each]) * 100_000 for each in b"ab"]

    with ThreadPoolExecutor(2) as threads:
        for written in [threads.submit(write_durably, file, each) for each in contents * 25]:
            written.result()

    assert file.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [file]
