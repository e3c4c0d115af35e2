"""The location of one Rookery instance's files, sockets and tmux server."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rookery.model.errors import AlreadyRunning, HomeUnusable
from rookery.private_files import is_own_folder, make_folder, open_private, require_private
from rookery.quick_python_import import import_quickly

#: Bytes of a unix socket's path, minus room for the file names.
_MAX_SOCKET_PATH_BYTES = 90

#: Control characters, and bytes that are not UTF-8: paths go to tmux on control lines.
_UNUSABLE_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

#: Suffixes of alternative names for the socket folder, if another user created the first.
_MORE_NAMES = tuple(f"-{number}" for number in range(1, 16))


@dataclass(frozen=True, slots=True)
class Home:
    """The folders of one instance. Two homes share nothing."""

    config: Path
    state: Path
    run: Path  #: sockets and what need not outlive a boot; for the owner alone

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a started program finds this home; none for default places."""
        return {"ROOKERY_HOME": str(self.state)} if self.config == self.state else {}

    @property
    def settings(self) -> Path:
        return self.config / "config.toml"

    @property
    def rules(self) -> Path:
        return self.config / "rules.toml"

    @property
    def database(self) -> Path:
        return self.state / "rookery.db"

    @property
    def log(self) -> Path:
        return self.state / "logs" / "rookery.log"

    @property
    def artifacts(self) -> Path:
        return self.state / "artifacts"

    @property
    def hook(self) -> Path:
        return self.state / "hook.pyc"

    @property
    def bridge(self) -> Path:
        """The program that agents run as Rookery's MCP server."""
        return self.state / "mcp.pyc"

    @property
    def spool(self) -> Path:
        return self.state / "spool"

    @property
    def offline_answers(self) -> Path:
        """What hooks answer while no daemon runs. The hook program has this name built in."""
        return self.state / "absence.json"

    @property
    def sessions(self) -> Path:
        return self.state / "sessions"

    @property
    def workspaces(self) -> Path:
        return self.state / "workspaces"

    @property
    def token(self) -> Path:
        """The owner's token, for programs that cannot use the socket."""
        return self.state / "token"

    @property
    def url(self) -> Path:
        """The file with the HTTP address of the running daemon."""
        return self.state / "url"

    @property
    def door(self) -> Path:
        return self.run / "rookery.sock"

    @property
    def hook_door(self) -> Path:
        return self.run / "hooks.sock"

    @property
    def tmux(self) -> Path:
        return self.run / "tmux.sock"

    @property
    def driver_socket(self) -> Path:
        """Where the driver host listens for the daemon's commands."""
        return self.run / "drivers.sock"

    @property
    def driver_key(self) -> Path:
        """The secret that these commands carry."""
        # Not in the socket folder, which cleaners may empty.
        return self.state / "drivers.key"

    @property
    def driver_record(self) -> Path:
        """The process of the driver host."""
        return self.state / "drivers.pid"

    @property
    def driven_events(self) -> Path:
        """The folder with the event files of driven sessions."""
        return self.state / "driven"

    @property
    def driver_log(self) -> Path:
        return self.state / "logs" / "drivers.log"

    @property
    def lock(self) -> Path:
        return self.state / "daemon.lock"

    def prepare(self) -> None:
        """Create the folders, private. Raises ``HomeUnusable``."""
        for folder in (self.config, self.state, self.run):
            if match := _UNUSABLE_CHARACTER.search(str(folder)):
                raise HomeUnusable(
                    f"{str(folder)!r} has {match[0]!r} in its name, which tmux cannot handle."
                    " Set ROOKERY_HOME to a folder without control characters."
                )
        private = (
            *(self.state, self.log.parent, self.artifacts, self.spool),
            *(self.sessions, self.run),
        )
        make_folder(self.config)
        require_private(self.config.resolve())
        for folder in private:
            make_folder(folder)
            require_private(folder)

    def prepare_run(self) -> None:
        """Create the socket folder, private. Raises ``HomeUnusable``."""
        make_folder(self.run)
        require_private(self.run)

    def lock_pid(self) -> int | None:
        """Return the pid in the lock file: of a daemon that runs, or that was killed."""
        try:
            return int(self.lock.read_bytes()[:20])
        except (OSError, ValueError):
            return None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the exclusive lock of this home. Raises ``AlreadyRunning``."""
        # In the database's folder, not in the socket folder, which cleaners may empty.
        with self._folder_locked(), open_private(self.lock) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                pid = os.read(file.fileno(), 20).decode(errors="replace").strip()
                raise AlreadyRunning(f"pid {pid or 'unknown'}.") from error
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), f"{os.getpid()}\n".encode())
            yield
            os.ftruncate(file.fileno(), 0)

    @contextmanager
    def _folder_locked(self) -> Iterator[None]:
        """Lock the folder itself: the lock file may be deleted while its daemon runs.

        Raises ``AlreadyRunning``.
        """
        number = os.open(self.state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                pid = self.lock_pid()
                unknown = f"its pid is unknown, because {self.lock} was deleted."
                raise AlreadyRunning(f"pid {pid}." if pid else unknown) from error
            except OSError:  # not every network file system locks folders
                # Imported only here: each command would load it.
                log = import_quickly("logging").getLogger(__name__)
                log.warning("%s cannot be locked; only the file in it is.", self.state)
            yield
        finally:
            os.close(number)


def find_home(environment: Mapping[str, str]) -> Home:
    """Return this user's home: below ``ROOKERY_HOME``, or in the default places."""
    if root := environment.get("ROOKERY_HOME"):
        home = _absolute(root)
        return Home(home, home, _short(home / "run", environment))
    user = Path(environment.get("HOME") or Path.home())
    config = _xdg_folder("XDG_CONFIG_HOME", environment) or user / ".config"
    state = _xdg_folder("XDG_STATE_HOME", environment) or user / ".local" / "state"
    run = _short(state / "rookery" / "run", environment)
    return Home(config / "rookery", state / "rookery", run)


def _absolute(root: str) -> Path:
    try:
        return Path(root).expanduser().absolute()
    except RuntimeError as error:
        raise HomeUnusable(f"ROOKERY_HOME={root}: {error}") from error


def _xdg_folder(name: str, environment: Mapping[str, str]) -> Path | None:
    """Return an XDG folder; a relative one is ignored, as the specification requires."""
    folder = Path(environment.get(name, ""))
    return folder if folder.is_absolute() else None


def _short(run: Path, environment: Mapping[str, str]) -> Path:
    """Return ``run``, or a shorter folder if its name is too long for a socket.

    Every user can create folders in /tmp. So there are several names: the first that is a
    folder of this user is taken, or else the first that does not exist.
    """
    if len(os.fsencode(run)) <= _MAX_SOCKET_PATH_BYTES:
        return run
    from hashlib import sha256  # noqa: PLC0415 - 4 ms of every command, and rarely needed

    name = sha256(os.fsencode(run)).hexdigest()[:16]
    base = _xdg_folder("XDG_RUNTIME_DIR", environment) or Path("/tmp")  # noqa: S108 - see above
    names = [base / f"rookery-{os.getuid()}-{name}{more}" for more in ("", *_MORE_NAMES)]
    ours = (each for each in names if is_own_folder(each))
    absent = (each for each in names if not os.path.lexists(each))
    return next(ours, None) or next(absent, names[0])
