"""Add Rookery's hooks to agents' settings, find them and remove them. Pure."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, ClassVar, Literal, TypeAlias

from rookery.agents.shared import jsonc_edit, toml_edit
from rookery.model.errors import ConfigBroken
from rookery.ports.settings import FoundHook, HookShape, SettingsLanguage, SettingsValues

#: The name of the program that Rookery's hooks run, in every Rookery home.
PROGRAM = "rookery-hook"

#: Whether this home's hooks are installed; ``other`` if only another home's hooks are.
Standing = Literal["installed", "absent", "outdated", "other"]

IsOurs: TypeAlias = Callable[[FoundHook], bool]


@dataclass(frozen=True, slots=True)
class Json:
    comments: bool = False  #: whether comments are allowed
    advice: ClassVar[str] = "our hooks cannot be added to what is there"

    def parse(self, text: str) -> dict[str, Any]:
        if not text.strip():
            return {}
        settings = jsonc_edit.parse(text, comments=self.comments)
        if not isinstance(settings, dict):
            raise ConfigBroken("line 1: the whole file should be an object")
        return settings

    def add(self, text: str, event: str, group: Mapping[str, Any]) -> str:
        whole = text if text.strip() else text + "{}\n"
        return jsonc_edit.append(whole, ("hooks", event), group, comments=self.comments)

    def remove(self, text: str, hook: FoundHook) -> str:
        settings, path = self.parse(text), hook.path
        if len(_at(settings, path[:4])) == 1:
            path = path[:3]
            while len(path) > 1 and len(_at(settings, path[:-1])) == 1:
                path = path[:-1]
        return jsonc_edit.remove(text, path, comments=self.comments)


@dataclass(frozen=True, slots=True)
class Toml:
    advice: ClassVar[str] = (
        "hooks are written there as values, which nothing can be added to; write them as"
        " tables, [[hooks.Stop]], or move them to hooks.json beside it"
    )

    def parse(self, text: str) -> dict[str, Any]:
        return toml_edit.parse(text)

    def add(self, text: str, event: str, group: Mapping[str, Any]) -> str:
        lines = [f"[[hooks.{event}]]"]
        for hook in group["hooks"]:
            lines.append(f"[[hooks.{event}.hooks]]")
            lines += [
                f"{name} = {toml_edit.string(value) if isinstance(value, str) else value}"
                for name, value in hook.items()
            ]
        return toml_edit.append(text, "\n".join(lines) + "\n")

    def remove(self, text: str, found: FoundHook) -> str:
        """Remove the hook's tables; hooks in another notation stay."""
        head, group = ("hooks", found.event), -1
        of_group: list[toml_edit.TomlTable] = []
        for table in toml_edit.tables(text):
            group += table.path == head
            if group == found.group and table.path[:2] == head:
                of_group.append(table)
        inside = [table for table in of_group if table.path == (*head, "hooks")]
        if found.hook >= len(inside):
            return text
        removed = of_group if len(inside) == 1 else [inside[found.hook]]
        for table in reversed(removed):
            text = toml_edit.without_lines(text, table.start, table.end)
        return text


def find(settings: SettingsValues) -> Iterator[FoundHook]:
    """Yield the hooks of all Rookery homes."""
    for event, group, hook, entry in _hooks(settings):
        match entry:
            case {"command": str(command), **rest} if program := _program(command):
                yield FoundHook(event, group, hook, command, rest.get("timeout"), program)


def has_hooks(settings: SettingsValues) -> bool:
    """Return whether the settings contain any hooks."""
    return any(True for _ in _hooks(settings))


def standing(
    settings: SettingsValues, shape: HookShape, command: str, *, program: str
) -> Standing:
    hooks = list(find(settings))
    ours = [each for each in hooks if each.program == program]
    if not ours:
        return "other" if hooks else "absent"
    expected = [(event, command, repr(limit)) for event, limit in shape.timeouts.items()]
    present = [(each.event, each.command, repr(each.timeout)) for each in ours]
    return "installed" if sorted(present) == sorted(expected) else "outdated"


def add(text: str, language: SettingsLanguage, groups: Mapping[str, Mapping[str, Any]]) -> str:
    """Append each group to the list of its event.

    Raises ``ConfigBroken`` if that would change anything else.
    """
    expected = language.parse(text)
    for event, group in groups.items():
        text = language.add(text, event, group)
    try:
        settings = language.parse(text)
    except ConfigBroken as error:
        raise ConfigBroken(language.advice) from error
    for event, group in groups.items():
        expected.setdefault("hooks", {}).setdefault(event, []).append(group)
    if settings != expected:
        raise ConfigBroken(language.advice)
    return text


def remove(text: str, language: SettingsLanguage, is_ours: IsOurs) -> str:
    """Remove the hooks that ``is_ours`` selects, and the lists of hooks that become empty.

    Raises ``ConfigBroken`` if these hooks cannot be separated from others.
    """
    settings = language.parse(text)
    # From the last to the first, so that the positions of the others do not change.
    for found in reversed(list(filter(is_ours, find(settings)))):
        text = language.remove(text, found)
    try:
        is_exact = _pruned(language.parse(text)) == _pruned(_without(settings, is_ours))
    except ConfigBroken:
        is_exact = False
    if not is_exact:
        raise ConfigBroken(
            f"Rookery's hooks cannot be distinguished from others; look for {PROGRAM}"
        )
    return text


def fill_in(template: str, values: Mapping[str, object]) -> str:
    """Fill in a template of a whole file: ``"@name@"`` becomes the JSON of a value."""
    for name, value in values.items():
        template = template.replace(f'"@{name}@"', json.dumps(value))
    return template


def standing_of_plugin(text: str | None, wanted: str, *, program: str) -> Standing | None:
    """Return the state of a plugin file; ``None`` if the file is not Rookery's."""
    if text is None:
        return "absent"
    if text == wanted:
        return "installed"
    if json.dumps(program) in text:
        return "outdated"
    return "other" if f'/{PROGRAM}"' in text else None


def comes_before_others(settings: SettingsValues, is_ours: IsOurs) -> bool:
    """Return whether another program's hook for the same event is in a later group."""
    first = {each.event: each.group for each in reversed(list(filter(is_ours, find(settings))))}
    mine = {each.path for each in filter(is_ours, find(settings))}
    return any(
        event in first and group > first[event]
        for event, group, hook, _ in _hooks(settings)
        if ("hooks", event, group, "hooks", hook) not in mine
    )


def _without(settings: dict[str, Any], is_ours: IsOurs) -> dict[str, Any]:
    remaining = copy.deepcopy(settings)
    for found in reversed(list(filter(is_ours, find(settings)))):
        group = remaining["hooks"][found.event][found.group]
        del group["hooks"][found.hook]
        if not group["hooks"]:
            del remaining["hooks"][found.event][found.group]
    return remaining


def _pruned(settings: dict[str, Any]) -> dict[str, Any]:
    """Drop empty lists of hooks: they have no effect."""
    match settings:
        case {"hooks": dict(events)}:
            full = {event: groups for event, groups in events.items() if groups != []}
            rest = {name: value for name, value in settings.items() if name != "hooks"}
            return {**rest, "hooks": full} if full else rest
        case _:
            return settings


def _hooks(settings: SettingsValues) -> Iterator[tuple[str, int, int, object]]:
    """Yield everything shaped like a hook: event, group index, hook index, entry."""
    match settings:
        case {"hooks": dict(events)}:
            for event, groups in events.items():
                for group, each in enumerate(groups if isinstance(groups, list) else ()):
                    inside = each.get("hooks") if isinstance(each, dict) else None
                    for hook, entry in enumerate(inside if isinstance(inside, list) else ()):
                        yield event, group, hook, entry


def _program(command: str) -> str:
    """Return the path of the hook program in a command; empty if it runs another program."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    return next((word for word in words if PurePath(word).name == PROGRAM), "")


def _at(settings: Any, path: Sequence[str | int]) -> Any:  # noqa: ANN401 - JSON
    for name in path:
        settings = settings[name]
    return settings
