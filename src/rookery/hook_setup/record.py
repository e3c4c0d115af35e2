"""Records what was installed where, so that exactly that can be removed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rookery.agents.names import WITH_SETTINGS
from rookery.home import Home
from rookery.hook_setup.files import put_private
from rookery.hook_setup.places import HookPlace
from rookery.ports.settings import Fragments


@dataclass(frozen=True, slots=True)
class InstalledFile:
    """What Rookery has installed in one file."""

    agent: str
    folder: str
    user_folder: str
    fragments: Fragments = ()  #: the text that was inserted
    made: bool = False  #: the file did not exist before
    folders: tuple[str, ...] = ()  #: that did not exist before, the innermost first
    trusts: bool = True  #: the file already had a list of trusted hooks
    trust: tuple[str, ...] = ()  #: the trust entries that were inserted

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
        """Yield the places that have hooks of ours, of the agents that this version knows."""
        known = (each for each in self.entries.values() if each.agent in WITH_SETTINGS)
        yield from dict.fromkeys(entry.place for entry in known)


def load(home: Home) -> InstallRecord:
    """Read the record; an unreadable one is empty, and hooks are found by their command."""
    try:
        entries = json.loads(_file(home).read_bytes())
        return InstallRecord({Path(file): _entry(each) for file, each in entries.items()})
    except (OSError, ValueError, TypeError, AttributeError):
        return InstallRecord()


def save(home: Home, record: InstallRecord) -> None:
    entries = {str(file): asdict(entry) for file, entry in record.entries.items()}
    put_private(_file(home), json.dumps(entries, indent=1))


def _file(home: Home) -> Path:
    return home.state / "installed.json"


def _entry(found: dict[str, Any]) -> InstalledFile:
    fragments = tuple((event, fragment) for event, fragment in found["fragments"])
    lists = {name: tuple(found[name]) for name in ("folders", "trust")}
    return InstalledFile(**{**found, **lists, "fragments": fragments})
