"""Answer an agent's requests for files, within its project folder only.

A path is resolved once. What is then opened is the file that was resolved, and reviewed: no
link on the way is followed, and a file that was replaced meanwhile is refused.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

#: Bytes of a file that an agent may read or write in one request.
MAX_FILE_BYTES = 16 * 2**20


class OutOfReach(Exception):
    """The file is not one that the agent may use; the text says why."""


@dataclass(frozen=True, slots=True)
class LocatedFile:
    """A path without links, and the file that was there."""

    path: Path
    identity: tuple[int, int] | None  #: its device and inode; ``None`` if there was no file


class ProjectFiles:
    """The files of one project. Links are followed before a path is judged, and only then."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def locate(self, path: str) -> LocatedFile:
        """Return the file that a path means. Raises ``OutOfReach`` outside the project."""
        given = Path(path)
        if "\0" in path or not given.is_absolute():
            raise OutOfReach(f"{path!r} is not an absolute path.")
        try:
            found = given.resolve()
            status = found.lstat() if os.path.lexists(found) else None
        except (OSError, RuntimeError) as error:
            raise OutOfReach(f"{path} cannot be found: {error}") from error
        if not found.is_relative_to(self._folder):
            raise OutOfReach(f"{path} is not in the project folder {self._folder}.")
        return LocatedFile(found, (status.st_dev, status.st_ino) if status else None)

    def read(self, file: LocatedFile, first: int | None, count: int | None) -> str | None:
        """Return the text from the line ``first``, from 1; ``None`` if there is no file."""
        try:
            with self._open_parent(file.path, make=False) as folder:
                text = _read(folder, file)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise OutOfReach(f"{file.path} cannot be read: {_why(error)}") from error
        if first is None and count is None:
            return text
        begin = max((first or 1) - 1, 0)
        end = None if count is None else begin + count
        return "".join(islice(text.splitlines(keepends=True), begin, end))

    def write(self, file: LocatedFile, text: str) -> None:
        """Replace the text of a file; make it and its folders if needed."""
        content = text.encode(errors="surrogatepass")
        if len(content) > MAX_FILE_BYTES:
            raise OutOfReach(
                f"{file.path}: more than {MAX_FILE_BYTES} bytes cannot be written."
            )
        try:
            with self._open_parent(file.path, make=True) as folder:
                _write(folder, file, content)
        except OSError as error:
            raise OutOfReach(f"{file.path} cannot be written: {_why(error)}") from error

    @contextmanager
    def _open_parent(self, path: Path, *, make: bool) -> Iterator[int]:
        """Open the folder of a file, one part of its path after the other."""
        folder = os.open(self._folder, _FOLDER)
        try:
            for name in path.relative_to(self._folder).parts[:-1]:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder)
                inner = os.open(name, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)


#: A link that takes the place of a file or a folder is not followed; a pipe does not block.
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | _SAFELY


def _read(folder: int, file: LocatedFile) -> str:
    descriptor = os.open(file.path.name, os.O_RDONLY | _SAFELY, dir_fd=folder)
    with open(descriptor, "rb") as opened:  # noqa: PTH123 - it is open already
        if _check(descriptor, file) > MAX_FILE_BYTES:
            raise OSError(f"it has more than {MAX_FILE_BYTES} bytes")
        return opened.read(MAX_FILE_BYTES).decode()


def _write(folder: int, file: LocatedFile, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL if file.identity is None else os.O_RDWR
    descriptor = os.open(file.path.name, flags | _SAFELY, 0o666, dir_fd=folder)
    try:
        size = _check(descriptor, file)
        old = os.pread(descriptor, len(content), 0) if size else b""
        _replace(descriptor, old, size, content)
    finally:
        os.close(descriptor)


def _replace(descriptor: int, old: bytes, size: int, content: bytes) -> None:
    """Replace the content of a file, or change nothing, as on a full disk.

    What is there is overwritten before anything is cut off, so that it can be written back
    without more room. The file stays the same one: it may have other names.
    """
    try:
        _write_all(descriptor, content)
    except OSError:
        _write_all(descriptor, old)
        os.ftruncate(descriptor, size)
        raise
    os.ftruncate(descriptor, len(content))


def _write_all(descriptor: int, content: bytes) -> None:
    written = 0
    while written < len(content):
        written += os.pwrite(descriptor, content[written:], written)


def _check(descriptor: int, file: LocatedFile) -> int:
    """Return the size of an open file. Raises ``OSError`` if it is not the one located."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is not a regular file")
    if file.identity not in {None, (found.st_dev, found.st_ino)}:
        raise OSError(_CHANGED)
    return found.st_size


_CHANGED = "it was replaced meanwhile. Ask again"


def _why(error: Exception) -> str:
    is_replaced = isinstance(error, FileExistsError | NotADirectoryError) or (
        isinstance(error, OSError) and error.errno == errno.ELOOP
    )
    return _CHANGED if is_replaced else str(error)
