"""Finds Rookery's hooks in an agent's list of trusted hooks, under all paths of their file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rookery.hook_setup.settings_folders import HookPlace
from rookery.model.errors import BadInput
from rookery.ports.settings import FoundHook, SettingsValues, TrustList


def of_place(place: HookPlace) -> TrustList:
    """Return the agent's list of trusted hooks. Raises ``BadInput`` if it has none."""
    if (trust := place.dialect.trust) is None:
        raise BadInput(f"{place.dialect.title} does not ask whether its user trusts hooks.")
    return trust.list


def check_keys(place: HookPlace, file: Path, settings: SettingsValues) -> None:
    """Raise ``ConfigBroken`` for keys that make the agent ignore the whole file."""
    if place.trust and file != place.trust:
        of_place(place).require_known_keys(settings)


def hashes(place: HookPlace, file: Path, found: Collection[FoundHook]) -> dict[str, str]:
    """Return the keys and hashes under which the agent may list the hooks of a file."""
    found_hashes: dict[str, str] = {}
    for name in spellings(file):
        found_hashes |= of_place(place).hashes(name, found)
    return found_hashes


def spellings(file: Path) -> tuple[str, ...]:
    """Return the paths by which an agent may list a file: with links resolved, or not."""
    return tuple(dict.fromkeys([str(file.parent.resolve() / file.name), str(file)]))
