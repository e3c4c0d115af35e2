"""Read and edit the list of hooks that a user of Codex trusts, as of 0.166. Pure.

The list is in ``config.toml``. It identifies a hook by its position: the file, the event, the
number of the group and the number of the hook in it. A hash shows whether it is still the hook
that was trusted.
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

#: The timeout in seconds for a hook that sets none, and the maximum for some events.
_DEFAULT_TIMEOUT_S, _SHORT_TIMEOUT_S = 600, 3

#: The table that holds the list.
_LIST = ("hooks", "state")

#: The keys of ``hooks.json``. With any other key at the top level, Codex ignores the file.
_FILE_KEYS = frozenset({"description", "hooks"})


def require_known_keys(settings: Mapping[str, Any]) -> None:
    """Raise ``ConfigBroken`` for a ``hooks.json`` that Codex does not read."""
    if unknown := sorted(set(settings) - _FILE_KEYS):
        raise ConfigBroken(f"Codex ignores this file: it does not know the key {unknown[0]!r}.")


def hashes(file: str, hooks: Iterable[FoundHook]) -> Mapping[str, str]:
    """Return Codex's keys for the hooks found in ``file``, and the hash of each."""
    hash_by_key = {}
    for each in hooks:
        if each.event in EVENTS:
            label, max_timeout = EVENTS[each.event]
            own_timeout = each.timeout if isinstance(each.timeout, int) else _DEFAULT_TIMEOUT_S
            timeout = (
                min(own_timeout, _SHORT_TIMEOUT_S)
                if max_timeout == _SHORT_TIMEOUT_S
                else own_timeout
            )
            key = f"{file}:{label}:{each.group}:{each.hook}"
            hash_by_key[key] = digest(label, each.command, timeout)
    return hash_by_key


def digest(label: str, command: str, timeout: int) -> str:
    """Return Codex's hash of a hook; ``timeout`` is the value that Codex applies."""
    hook = {"type": "command", "command": command, "timeout": timeout, "async": False}
    identity = {"event_name": label, "hooks": [hook]}
    whole = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(whole.encode()).hexdigest()


def standing(text: str, trusted: Mapping[str, str]) -> TrustStanding:
    """Return the standing of the hooks with these keys and hashes: the worst among them."""
    entries = _state(toml_edit.parse(text))
    each = (
        _standing(entries.get(key), expected_hash) for key, expected_hash in trusted.items()
    )
    return min(each, key=_ORDER.index, default="untrusted")


def best(found: Iterable[TrustStanding]) -> TrustStanding:
    return max(found, key=_ORDER.index)


def _standing(entry: object, expected_hash: str) -> TrustStanding:
    match entry:
        case {"enabled": False}:
            return "off"
        case {"trusted_hash": str(known)}:
            return "trusted" if known == expected_hash else "changed"
        case _:
            return "untrusted"


def grant(text: str, trusted: Mapping[str, str]) -> str:
    """Add hooks to the list, except disabled ones.

    Raises ``ConfigBroken`` if nothing can be added.
    """
    entries = _state(toml_edit.parse(text))
    new = {
        each: expected_hash
        for each, expected_hash in trusted.items()
        if _standing(entries.get(each), expected_hash) in {"untrusted", "changed"}
    }
    text = _without(text, {(*_LIST, each) for each in new})
    for each, expected_hash in new.items():
        table = f"[hooks.state.{toml_edit.string(each)}]\n"
        trust = f"trusted_hash = {toml_edit.string(expected_hash)}\n"
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
    remaining = _without(text, {(*_LIST, each) for each in keys})
    is_emptied = remaining != text and not _state(toml_edit.parse(remaining))
    return _without(remaining, {_LIST}) if is_emptied else remaining


def _without(text: str, paths: Collection[toml_edit.Path]) -> str:
    """Remove these tables, but not text that only looks like one, as in a string."""
    for table in reversed(list(toml_edit.tables(text))):
        if table.path in paths:
            remaining = toml_edit.without_lines(text, table.start, table.end)
            text = remaining if _lacks_only(table.path, text, remaining) else text
    return text


def _lacks_only(path: toml_edit.Path, text: str, remaining: str) -> bool:
    """Return whether two texts have the same settings, except for the removed table."""
    expected = toml_edit.parse(text)
    try:
        settings_after = toml_edit.parse(remaining)
    except ConfigBroken:
        return False
    _forget(expected, path)
    for each in (settings_after, expected):
        for parent in (_LIST, _LIST[:1]):
            if not _at(each, parent):
                _forget(each, parent)
    return settings_after == expected


def _at(settings: Mapping[str, Any], path: Iterable[str]) -> object:
    value: object = settings
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _forget(settings: dict[str, Any], path: tuple[str, ...]) -> None:
    parent = _at(settings, path[:-1])
    if isinstance(parent, dict):
        parent.pop(path[-1], None)


def _state(settings: Mapping[str, Any]) -> Mapping[str, object]:
    entries = _at(settings, _LIST)
    return entries if isinstance(entries, dict) else {}
