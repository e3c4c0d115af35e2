"""Read and edit the list of hooks that a user of Codex trusts, as of 0.166. Pure.

The list is in ``config.toml``. It names a hook by its position: the file, the event, the number
of the group and that of the hook in it. A hash tells whether it is the hook that was trusted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from rookery.agents.codex.hooks import EVENTS
from rookery.agents.shared import toml_edit
from rookery.model.errors import ConfigBroken
from rookery.ports.settings import FoundHook, TrustStanding

#: From the worst to the best.
_ORDER: tuple[TrustStanding, ...] = ("off", "changed", "untrusted", "trusted")

#: Seconds that it gives a hook without a timeout, and the most that it gives some events.
_DEFAULT_TIMEOUT_S, _SHORT_TIMEOUT_S = 600, 3

#: The table that holds the list.
_LIST = ("hooks", "state")

#: The keys of ``hooks.json``. With another one at its top, Codex ignores the whole file.
_FILE_KEYS = frozenset({"description", "hooks"})


def require_known_keys(settings: Mapping[str, Any]) -> None:
    """Raise ``ConfigBroken`` for a ``hooks.json`` that Codex does not read."""
    if unknown := sorted(set(settings) - _FILE_KEYS):
        raise ConfigBroken(f"Codex ignores this file: it does not know the key {unknown[0]!r}.")


def hashes(file: str, found: Iterable[FoundHook]) -> Mapping[str, str]:
    """Return Codex's names of the hooks found in ``file``, and the hash of each."""
    named = {}
    for each in found:
        if each.event in EVENTS:
            label, most = EVENTS[each.event]
            given = each.timeout if isinstance(each.timeout, int) else _DEFAULT_TIMEOUT_S
            timeout = min(given, _SHORT_TIMEOUT_S) if most == _SHORT_TIMEOUT_S else given
            key = f"{file}:{label}:{each.group}:{each.hook}"
            named[key] = digest(label, each.command, timeout)
    return named


def digest(label: str, command: str, timeout: int) -> str:
    """Return Codex's hash of a hook; ``timeout`` is the one that Codex applies."""
    hook = {"type": "command", "command": command, "timeout": timeout, "async": False}
    identity = {"event_name": label, "hooks": [hook]}
    whole = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(whole.encode()).hexdigest()


def standing(text: str, trusted: Mapping[str, str]) -> TrustStanding:
    """Return how the hooks with these names and hashes stand: as the worst of them."""
    kept = _state(toml_edit.parse(text))
    each = (_standing(kept.get(key), wanted) for key, wanted in trusted.items())
    return min(each, key=_ORDER.index, default="untrusted")


def best(found: Iterable[TrustStanding]) -> TrustStanding:
    return max(found, key=_ORDER.index)


def _standing(kept: object, wanted: str) -> TrustStanding:
    match kept:
        case {"enabled": False}:
            return "off"
        case {"trusted_hash": str(known)}:
            return "trusted" if known == wanted else "changed"
        case _:
            return "untrusted"


def grant(text: str, trusted: Mapping[str, str]) -> str:
    """Add hooks to the list, except those that are switched off.

    Raises ``ConfigBroken`` if nothing can be added.
    """
    kept = _state(toml_edit.parse(text))
    new = {
        each: wanted
        for each, wanted in trusted.items()
        if _standing(kept.get(each), wanted) in {"untrusted", "changed"}
    }
    text = _without(text, {(*_LIST, each) for each in new})
    for each, wanted in new.items():
        table = f"[hooks.state.{toml_edit.string(each)}]\n"
        trust = f"trusted_hash = {toml_edit.string(wanted)}\n"
        text = toml_edit.append(text, table + trust)
    try:
        toml_edit.parse(text)
    except ConfigBroken as error:
        raise ConfigBroken(
            "the trusted hooks cannot be added; confirm them in Codex"
        ) from error
    return text


def withdraw(text: str, keys: Collection[str]) -> str:
    """Remove hooks from the list, and the head of the list if it becomes empty."""
    left = _without(text, {(*_LIST, each) for each in keys})
    is_emptied = left != text and not _state(toml_edit.parse(left))
    return _without(left, {_LIST}) if is_emptied else left


def _without(text: str, paths: Collection[toml_edit.Path]) -> str:
    """Remove these tables, but nothing that only looks like one, such as a line of a string."""
    for table in reversed(list(toml_edit.tables(text))):
        if table.path in paths:
            left = toml_edit.without_lines(text, table.start, table.end)
            text = left if _lacks_only(table.path, text, left) else text
    return text


def _lacks_only(path: toml_edit.Path, text: str, left: str) -> bool:
    """Return whether a text that is left has all settings of the other but the table."""
    expected = toml_edit.parse(text)
    try:
        found = toml_edit.parse(left)
    except ConfigBroken:
        return False
    _forget(expected, path)
    for each in (found, expected):
        for parent in (_LIST, _LIST[:1]):
            if not _at(each, parent):
                _forget(each, parent)
    return found == expected


def _at(settings: Mapping[str, Any], path: Iterable[str]) -> object:
    found: object = settings
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _forget(settings: dict[str, Any], path: tuple[str, ...]) -> None:
    parent = _at(settings, path[:-1])
    if isinstance(parent, dict):
        parent.pop(path[-1], None)


def _state(settings: Mapping[str, Any]) -> Mapping[str, object]:
    found = _at(settings, _LIST)
    return found if isinstance(found, dict) else {}
