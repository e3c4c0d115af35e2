"""Records what was installed where, so that exactly that can be removed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rookery.agents.names import WITH_SETTINGS
from rookery.home import Home
from rookery.hook_setup.files import put_private
from rookery.hook_setup.settings_folders import HookPlace


@dataclass(frozen=True, slots=True)
class InstalledFile:
    """What Rookery has installed in one file.

    ``before`` can be restored while only Rookery has written the file since, that is, while its
    text has the digest ``written``.
    """

    agent: str
    folder: str
    user_folder: str
    made: bool = False  #: the file did not exist before
    folders: tuple[str, ...] = ()  #: parent folders that did not exist before, innermost first
    before: str = ""  #: the text before Rookery's first change
    written: str = ""  #: digest of Rookery's last text; empty if another program changed it

    def is_of(self, place: HookPlace) -> bool:
        """Return whether the file belongs to the same agent and user."""
        return (self.agent, self.user_folder) == (place.agent, str(place.user_folder))

    @property
    def place(self) -> HookPlace:
        return HookPlace(self.agent, Path(self.folder), Path(self.user_folder))


@dataclass(slots=True)
class InstallRecord:
    entries: dict[Path, InstalledFile] = field(default_factory=dict)

    def places(self) -> Iterator[HookPlace]:
        """Yield the places with Rookery's hooks, for the agents that this version supports."""
        supported = (each for each in self.entries.values() if each.agent in WITH_SETTINGS)
        yield from dict.fromkeys(entry.place for entry in supported)


def digest(text: str | None) -> str:
    return hashlib.sha256((text or "").encode()).hexdigest()


def load(home: Home) -> InstallRecord:
    """Read the record; empty if it is unreadable. Hooks are also found by their command.

    Fields of other versions are ignored. Without ``written`` nothing is restored.
    """
    try:
        text = _file(home).read_bytes()
        entries = msgspec.json.decode(text, type=dict[str, InstalledFile])
    except (OSError, msgspec.DecodeError):
        return InstallRecord()
    return InstallRecord({Path(file): entry for file, entry in entries.items()})


def save(home: Home, record: InstallRecord) -> None:
    entries = {str(file): entry for file, entry in record.entries.items()}
    put_private(_file(home), msgspec.json.format(msgspec.json.encode(entries)).decode())


def _file(home: Home) -> Path:
    return home.state / "installed.json"
