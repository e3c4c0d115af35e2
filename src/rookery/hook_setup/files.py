"""Reads users' settings files, and replaces them atomically."""

from __future__ import annotations

import difflib
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from rookery.agents.shared.hook_settings import PROGRAM
from rookery.model.errors import CommandRefused, ConfigBroken

_LINE = re.compile(r"[^\n]*\n|[^\n]+")

#: Matches a hook command that runs Rookery's hook script, in any settings format.
_RUN = re.compile(rf"/{PROGRAM}(?![\w/.-])")


@dataclass(frozen=True, slots=True)
class Change:
    """The text of a file before and after; None where there is no file."""

    agent: str
    file: Path  #: as its agent names it; it may be a link
    before: str | None
    after: str | None
    target: Path | None = None  #: the real path of ``file`` when this was planned

    @property
    def link(self) -> Path | None:
        """Return the file that is changed instead if ``file`` is a link; else ``None``."""
        return self.target if self.target not in {None, self.file} else None

    @property
    def difference(self) -> str:
        """Return the change in the format of ``diff -u``."""
        return self.with_context(3)

    def with_context(self, lines: int) -> str:
        """Return the diff with ``lines`` lines of context."""
        before, after = (_LINE.findall(text or "") for text in (self.before, self.after))
        shown = difflib.unified_diff(before, after, *self._names(), n=lines)
        return "".join(_whole(line) for line in shown)

    @property
    def hooks(self) -> int:
        """Return how many of Rookery's hooks the change adds; negative if it removes them."""
        before, after = (len(_RUN.findall(text or "")) for text in (self.before, self.after))
        return after - before

    def _names(self) -> tuple[str, str]:
        none = os.devnull
        return (
            none if self.before is None else str(self.file),
            none if self.after is None else str(self.file),
        )


def _whole(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


@dataclass(slots=True)
class StagedFiles:
    """Changes to files in memory; nothing is written yet."""

    _before: dict[Path, str | None] = field(default_factory=dict)
    _after: dict[Path, Change] = field(default_factory=dict)

    def read(self, file: Path) -> str | None:
        """Return the staged text of a file. Raises ``ConfigBroken``, ``CommandRefused``."""
        target = _target(file)
        if target in self._after:
            return self._after[target].after
        if target not in self._before:
            self._before[target] = read(file)
        return self._before[target]

    def write(self, agent: str, file: Path, text: str | None) -> None:
        self.read(file)
        target = _target(file)
        earlier = self._after.get(target)
        name = earlier.file if earlier else file
        self._after[target] = Change(agent, name, self._before[target], text, target)

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(each for each in self._after.values() if each.before != each.after)


def read(file: Path) -> str | None:
    """Return a file's text with its line ends unchanged; None if there is no file."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise CommandRefused(f"{file} is not a file.")
        return file.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigBroken(f"{file} is not UTF-8 text: {error.reason}") from error
    except OSError as error:
        raise CommandRefused(f"{file}: {error.strerror}") from error


@contextmanager
def named_in_errors(file: Path) -> Iterator[None]:
    """Add the file's name to each ``ConfigBroken`` that is raised."""
    try:
        yield
    except ConfigBroken as error:
        message = str(error.args[0])
        is_named = message.startswith(str(file))
        raise ConfigBroken(message if is_named else f"{file}, {message}") from error


def check(changes: Sequence[Change]) -> None:
    """Raise ``CommandRefused`` if a file is read-only or was changed meanwhile."""
    for change in changes:
        target = _target(change.file)
        if change.target not in {None, target}:
            raise CommandRefused(f"{change.file} was changed meanwhile; try again.")
        # Settings may be read-only on purpose; replacing the file would bypass that.
        for each in (target, _first_folder(target.parent)):
            if each.exists() and not _may_write(each):
                raise CommandRefused(f"{each} is read-only; nothing was changed.")
        if read(change.file) != change.before:
            raise CommandRefused(f"{change.file} was changed meanwhile; try again.")


def check_within(file: Path, folder: Path) -> None:
    """Raise ``CommandRefused`` if links in a file's path lead out of the folder."""
    target = _target(file)
    if not target.is_relative_to(_target(folder)):
        raise CommandRefused(
            f"{file} is a link to {target}, outside of the project; nothing was changed."
            " Remove the link if you do not trust it."
        )


def missing_folders(file: Path) -> tuple[Path, ...]:
    """Return the missing parent folders of a file, the innermost first."""
    parents = _target(file).parents
    return tuple(each for each in parents if not each.exists())


def write_all(changes: Sequence[Change]) -> None:
    """Write all changes or none. Raises ``CommandRefused``."""
    written: list[Change] = []
    try:
        for change in changes:
            _put(change.file, change.after)
            written.append(change)
    except OSError as error:
        for change in reversed(written):
            with suppress(OSError):
                _put(change.file, change.before)
        message = f"{change.file}: {error.strerror}; nothing was changed."
        raise CommandRefused(message) from error


def remove_folders(folders: Sequence[Path]) -> None:
    """Remove the folders that are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def put_private(file: Path, text: str) -> None:
    """Write a file of Rookery's own atomically, readable by its owner only."""
    with _replacing(file) as new:
        os.fchmod(new, stat.S_IRUSR | stat.S_IWUSR)
        _write(new, text)


def _put(file: Path, text: str | None) -> None:
    target = _target(file)
    if text is None:
        target.unlink(missing_ok=True)
        return
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _replacing(target) as new:
        if target.exists():
            old = target.stat()
            if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(new, old.st_uid, old.st_gid)
            os.fchmod(new, stat.S_IMODE(old.st_mode))
        _write(new, text)


@contextmanager
def _replacing(target: Path) -> Iterator[int]:
    """Open a new file that replaces the target at the end, unless an error occurs."""
    new = target.with_name(f".{target.name}.{secrets.token_hex(4)}.rookery")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        yield file
        os.fsync(file)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)  # already renamed unless an error occurred
        os.close(file)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write(file: int, text: str) -> None:
    rest = memoryview(text.encode())
    while rest:
        rest = rest[os.write(file, rest) :]


def _target(file: Path) -> Path:
    """Return a path with its links resolved, even if there is no such file yet."""
    return Path(os.path.realpath(file))


def _first_folder(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


def _may_write(path: Path) -> bool:
    return bool(path.stat().st_mode & stat.S_IWUSR) and os.access(path, os.W_OK)
