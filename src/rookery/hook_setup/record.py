"""What was put where, so that just that can be taken out again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rookery.agents.installations import Fragments
from rookery.home import Home
from rookery.hook_setup.files import put_private
from rookery.hook_setup.places import Place


@dataclass(frozen=True, slots=True)
class Entry:
    """What one file has of us."""

    agent: str
    folder: str
    user_folder: str
    fragments: Fragments = ()  #: what was put in
    made: bool = False  #: there was no such file
    folders: tuple[str, ...] = ()  #: nor these, the innermost first
    trusts: bool = True  #: what Codex's user trusts was kept there before
    trust: tuple[str, ...] = ()  #: and of that, what was put in

    def is_of(self, place: Place) -> bool:
        """Whether it is of the same agent of the same user."""
        return (self.agent, self.user_folder) == (place.agent, str(place.user_folder))

    @property
    def place(self) -> Place:
        return Place(self.agent, Path(self.folder), Path(self.user_folder))


@dataclass(slots=True)
class Record:
    entries: dict[Path, Entry] = field(default_factory=dict)

    def places(self) -> Iterator[Place]:
        yield from dict.fromkeys(entry.place for entry in self.entries.values())


def load(home: Home) -> Record:
    """Read the record; without one, ours are known by what they look like."""
    try:
        entries = json.loads(_file(home).read_bytes())
        return Record({Path(file): _entry(each) for file, each in entries.items()})
    except (OSError, ValueError, TypeError, AttributeError):
        return Record()


def save(home: Home, record: Record) -> None:
    entries = {str(file): asdict(entry) for file, entry in record.entries.items()}
    put_private(_file(home), json.dumps(entries, indent=1))


def _file(home: Home) -> Path:
    return home.state / "installed.json"


def _entry(found: dict[str, Any]) -> Entry:
    fragments = tuple((event, fragment) for event, fragment in found["fragments"])
    lists = {name: tuple(found[name]) for name in ("folders", "trust")}
    return Entry(**{**found, **lists, "fragments": fragments})
