"""Answer an agent's requests for files, within its project folder only."""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path

#: Bytes of a file that an agent may read or write in one request.
MAX_FILE_BYTES = 16 * 2**20


class OutOfReach(Exception):
    """The file is not one that the agent may use; the text says why."""


class ProjectFiles:
    """The files of one project. Links are followed before a path is judged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def locate(self, path: str) -> Path:
        """Return the file that a path means. Raises ``OutOfReach`` outside the project."""
        given = Path(path)
        if "\0" in path or not given.is_absolute():
            raise OutOfReach(f"{path!r} is not an absolute path.")
        try:
            found = given.resolve()
        except (OSError, RuntimeError) as error:
            raise OutOfReach(f"{path} cannot be found: {error}") from error
        if not found.is_relative_to(self._folder):
            raise OutOfReach(f"{path} is not in the project folder {self._folder}.")
        return found

    def read(self, path: str, first: int | None, count: int | None) -> str | None:
        """Return the text from the line ``first``, from 1; ``None`` if there is no file."""
        found = self.locate(path)
        try:
            text = _read(found)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise OutOfReach(f"{path} cannot be read: {error}") from error
        if first is None and count is None:
            return text
        begin = max((first or 1) - 1, 0)
        end = None if count is None else begin + count
        return "".join(islice(text.splitlines(keepends=True), begin, end))

    def write(self, path: str, text: str) -> None:
        """Replace the text of a file; make it and its folders if needed."""
        found = self.locate(path)
        content = text.encode(errors="surrogatepass")
        if len(content) > MAX_FILE_BYTES:
            raise OutOfReach(f"{path}: more than {MAX_FILE_BYTES} bytes cannot be written.")
        try:
            found.parent.mkdir(parents=True, exist_ok=True)
            self.locate(path)  # a link may have been made meanwhile
            file = os.open(found, os.O_WRONLY | os.O_CREAT | _SAFELY, 0o666)
            with open(file, "wb") as opened:  # noqa: PTH123 - it is open already
                _check_regular(file)
                opened.truncate()
                opened.write(content)
        except OSError as error:
            raise OutOfReach(f"{path} cannot be written: {error}") from error


#: A link that takes the file's place is not followed, and a pipe does not block.
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def _read(path: Path) -> str:
    file = os.open(path, os.O_RDONLY | _SAFELY)
    with open(file, "rb") as opened:  # noqa: PTH123 - it is open already
        if _check_regular(file) > MAX_FILE_BYTES:
            raise OSError(f"it has more than {MAX_FILE_BYTES} bytes")
        return opened.read(MAX_FILE_BYTES).decode()


def _check_regular(file: int) -> int:
    """Return the size of an open file. Raises ``OSError`` if it is not a regular one."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is not a regular file")
    return found.st_size
