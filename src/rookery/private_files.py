"""Create files and folders that only their owner may read, so that they survive a power cut."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

from rookery.model.errors import HomeUnusable


def open_private(path: Path) -> IO[bytes]:
    """Open a private file, created if missing. Raises ``HomeUnusable`` if it is not private."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
    except OSError as error:
        raise HomeUnusable(f"{path}: {error.strerror}") from error
    status = os.fstat(file.fileno())
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        file.close()
        raise HomeUnusable(f"{path} is not private to you; remove it.")
    return file


def write_durably(
    path: Path, content: bytes, *, mode: int = 0o600, mtime_s: int | None = None
) -> None:
    """Write a private file so that a power cut leaves the old content or the new."""
    # A unique name: a command and the daemon may write the same file at the same time.
    new = path.with_name(f".{path.name}.{os.urandom(8).hex()}.new")
    try:
        with open_private(new) as file:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) or 0 :]
            os.fchmod(file.fileno(), mode)
            if mtime_s is not None:
                os.utime(file.fileno(), (mtime_s, mtime_s))
            os.fsync(file.fileno())
        new.rename(path)
    finally:
        new.unlink(missing_ok=True)
    sync_folder(path.parent)


def find_socket_problem(path: Path) -> str:
    """Return why a socket cannot be at a path: a folder is there. Empty if none is."""
    if path.is_symlink() or not path.is_dir():
        return ""
    return f"{path} is a folder, but Rookery needs this name for a socket. Move it away"


def make_room(path: Path) -> None:
    """Remove an empty folder from where a socket must be. Raises ``HomeUnusable``."""
    with suppress(OSError):  # it is no folder, or not empty
        path.rmdir()
    if problem := find_socket_problem(path):
        raise HomeUnusable(f"{problem}.")


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk: a rename is not durable before."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # not every file system can do that for a folder
            os.fsync(number)
    finally:
        os.close(number)


def is_own_folder(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, for the owner alone."""
    try:
        for each in reversed([folder, *folder.parents]):
            if not each.exists():
                each.mkdir(mode=0o700, exist_ok=True)
                sync_folder(each.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise HomeUnusable(f"{folder}: {error.strerror or error}") from error


def require_private(folder: Path) -> None:
    """Refuse a folder that another user created or may enter, or that is a link."""
    if not is_own_folder(folder):
        raise HomeUnusable(
            f"{folder} is not a folder of yours; remove it, or set ROOKERY_HOME."
        )
    try:
        if folder.lstat().st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise HomeUnusable(f"{folder} cannot be made private: {error.strerror}") from error
