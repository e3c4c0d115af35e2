"""Plans the changes to agents' settings; nothing is written here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rookery.agents.shared import hook_settings
from rookery.agents.shared.hook_settings import PROGRAM, Standing
from rookery.home import Home
from rookery.hook_setup import files, programs, trust_lists
from rookery.hook_setup.files import Change, StagedFiles
from rookery.hook_setup.record import InstalledFile, InstallRecord, digest
from rookery.hook_setup.settings_folders import HookPlace
from rookery.model.errors import BadInput, CommandRefused, ConfigBroken
from rookery.ports.settings import (
    FoundHook,
    HookShape,
    SettingsLanguage,
    SettingsValues,
    TrustStanding,
)

_SHIFTED = "Your own hooks come after Rookery's in {}: {} will ask about them again."
_TWO_HOMES = "Another home of Rookery also has hooks in {}: both receive every event."


@dataclass(frozen=True, slots=True)
class SetupPlan:
    changes: tuple[Change, ...]
    record: InstallRecord  #: after the changes
    remarks: tuple[str, ...]
    folders: tuple[
        Path, ...
    ]  #: created by Rookery; removed if they are empty after the changes


@dataclass(frozen=True, slots=True)
class HookState:
    """The state of one home's hooks in one place."""

    place: HookPlace
    file: Path
    standing: Standing | None  #: None if the settings cannot be read
    trust: TrustStanding | None = None  #: None if the agent does not ask its user about hooks
    trouble: str = ""  #: why the settings cannot be read


def install(
    home: Home, record: InstallRecord, places: Iterable[HookPlace], *, trust: bool
) -> SetupPlan:
    """Plan to install the current hooks of this home in each place.

    With ``trust``, mark them as trusted by the user of an agent that asks for that. Raises
    ``ConfigBroken`` for settings that cannot be parsed or added to.
    """
    planner = _Planner(home, InstallRecord(dict(record.entries)))
    for place in places:
        planner.install(place, trust=trust)
    return planner.plan


def uninstall(home: Home, record: InstallRecord, places: Iterable[HookPlace]) -> SetupPlan:
    """Plan to remove the hooks of this home from these places. Raises ``ConfigBroken``."""
    planner = _Planner(home, InstallRecord(dict(record.entries)))
    for place in places:
        planner.uninstall(place)
    return planner.plan


def look(home: Home, place: HookPlace) -> HookState:
    """Return the state of the hooks of this home in a place."""
    try:
        return _Planner(home, InstallRecord()).look(place)
    except (ConfigBroken, CommandRefused) as error:
        file = place.plugin or place.files[0][0]
        return HookState(place, file, None, trouble=str(error))


@dataclass(slots=True)
class _Planner:
    home: Home
    record: InstallRecord
    staged: StagedFiles = field(default_factory=StagedFiles)
    remarks: list[str] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)

    @property
    def plan(self) -> SetupPlan:
        remarks = tuple(dict.fromkeys(self.remarks))
        return SetupPlan(self.staged.changes, self.record, remarks, tuple(self.folders))

    @property
    def program(self) -> str:
        return str(programs.script_path(self.home))

    def command(self, agent: str) -> str:
        command = programs.hook_command(self.home, agent)
        try:
            command.encode()
        except UnicodeEncodeError as error:
            raise BadInput(f"the name of {self.home.state} is not UTF-8.") from error
        return command

    def install(self, place: HookPlace, *, trust: bool) -> None:
        if place.is_project:
            # Links in a repository are chosen by its author, not by the user.
            for each in (*(file for file, _ in place.files), *filter(None, [place.plugin])):
                files.check_within(each, place.folder.parent)
        if place.plugin:
            self._install_plugin(place, place.plugin)
            return
        file, language = self._choose(place)
        with files.named_in_errors(file):
            self._add(place, file, language)
        if place.trust:
            self._record_before(place, place.trust)
            if trust:
                self._grant(place, place.trust, file, language)

    def uninstall(self, place: HookPlace) -> None:
        if place.plugin:
            self._uninstall_plugin(place, place.plugin)
            return
        hashes: dict[str, str] = {}
        for file, language in place.files:
            with files.named_in_errors(file):
                hashes |= self._remove(place, file, language)
        if place.trust and hashes:
            with files.named_in_errors(place.trust):
                self._withdraw(place, place.trust, hashes)
        self._forget(place)

    def look(self, place: HookPlace) -> HookState:
        if place.plugin:
            return HookState(place, place.plugin, self._plugin(place, place.plugin)[0])
        file, language = self._choose(place)
        with files.named_in_errors(file):
            settings = language.parse(self.staged.read(file) or "")
            trust_lists.check_keys(place, file, settings)
        shape, command = _shape(place), self.command(place.agent)
        standing = hook_settings.standing(settings, shape, command, program=self.program)
        if standing == "installed" and not Path(self.program).exists():
            standing = "outdated"
        if not place.trust or standing in {"absent", "other"}:
            return HookState(place, file, standing)
        with files.named_in_errors(place.trust):
            text = self.staged.read(place.trust) or ""
            trust = trust_lists.of_place(place)
            standings = [
                trust.standing(text, trust.hashes(name, self._ours(settings)))
                for name in trust_lists.spellings(file)
            ]
        return HookState(place, file, standing, trust.best(standings))

    def _choose(self, place: HookPlace) -> tuple[Path, SettingsLanguage]:
        """Return the file with this home's hooks, else one with others, else the default."""
        with_hooks = []
        for file, language in place.files:
            with files.named_in_errors(file):
                settings = language.parse(self.staged.read(file) or "")
            if list(self._ours(settings)):
                return file, language
            if hook_settings.has_hooks(settings):
                with_hooks.append((file, language))
        return (*with_hooks, *place.files)[0]

    def _ours(self, settings: SettingsValues) -> Iterator[FoundHook]:
        return filter(self._is_ours, hook_settings.find(settings))

    def _is_ours(self, found: FoundHook) -> bool:
        return found.program == self.program

    def _add(self, place: HookPlace, file: Path, language: SettingsLanguage) -> None:
        text = self.staged.read(file) or ""
        settings = language.parse(text)
        try:
            trust_lists.check_keys(place, file, settings)
        except ConfigBroken as ignored:
            self.remarks.append(f"{file}: {ignored.args[0]} Remove the key.")
        shape, command = _shape(place), self.command(place.agent)
        standing = hook_settings.standing(settings, shape, command, program=self.program)
        if standing == "installed":
            return
        if standing == "other":
            self.remarks.append(_TWO_HOMES.format(file))
        if standing == "outdated":
            self._warn(place, file, settings)
            text = hook_settings.remove(text, language, self._is_ours)
            self._write(place.agent, file, text)
        else:
            self.record.entries.pop(file, None)
        self._record_before(place, file)
        text = hook_settings.add(text, language, shape.groups(command))
        self._write(place.agent, file, text)

    def _write(self, agent: str, file: Path, text: str) -> None:
        """Stage a text, and record whether only Rookery has written the file so far."""
        if entry := self.record.entries.get(file):
            is_ours = entry.written == digest(self.staged.read(file))
            written = digest(text) if is_ours else ""
            self.record.entries[file] = replace(entry, written=written)
        self.staged.write(agent, file, text)

    def _warn(self, place: HookPlace, file: Path, settings: SettingsValues) -> None:
        if place.trust and hook_settings.comes_before_others(settings, self._is_ours):
            self.remarks.append(_SHIFTED.format(file, place.dialect.title))

    def _record_before(self, place: HookPlace, file: Path) -> None:
        """Record the text of a file before Rookery's first change."""
        entry = self.record.entries.get(file)
        if entry and entry.written != digest(entry.before):
            return
        text = self.staged.read(file)
        self.record.entries[file] = InstalledFile(
            place.agent,
            str(place.folder),
            str(place.user_folder),
            made=text is None,
            folders=tuple(map(str, files.missing_folders(file))),
            before=text or "",
            written=digest(text),
        )

    def _remove(
        self, place: HookPlace, file: Path, language: SettingsLanguage
    ) -> dict[str, str]:
        """Remove this home's hooks from a file; return their entries in the trust list."""
        text = self.staged.read(file) or ""
        if PROGRAM not in text:
            return {}  # without Rookery's hooks, a broken file need not be parsed
        settings = language.parse(text)
        ours = list(self._ours(settings))
        if not ours:
            return {}
        self._warn(place, file, settings)
        remaining = hook_settings.remove(text, language, self._is_ours)
        self._write(place.agent, file, remaining)
        return trust_lists.hashes(place, file, ours) if place.trust else {}

    def _forget(self, place: HookPlace) -> None:
        """Remove the place from the record, and the files that only Rookery's hooks needed."""
        for file, _ in place.files:
            if file != place.trust:
                self._drop(file)
        recorded = (file for file, entry in self.record.entries.items() if entry.is_of(place))
        if place.trust and set(recorded) <= {place.trust}:
            self._drop(place.trust)

    def _drop(self, file: Path) -> None:
        if entry := self.record.entries.pop(file, None):
            text = self.staged.read(file)
            if text is not None:
                # Restore the earlier text if only Rookery has written the file since.
                text = entry.before if entry.written == digest(text) else text
                is_empty = "".join(text.split()) in {"", "{}"}
                self.staged.write(entry.agent, file, None if entry.made and is_empty else text)
            self.folders += map(Path, entry.folders)

    def _grant(
        self, place: HookPlace, trust_file: Path, file: Path, language: SettingsLanguage
    ) -> None:
        ours = list(self._ours(language.parse(self.staged.read(file) or "")))
        with files.named_in_errors(trust_file):
            hashes = trust_lists.hashes(place, file, ours)
            text = self.staged.read(trust_file) or ""
            self._write(
                place.agent, trust_file, trust_lists.of_place(place).grant(text, hashes)
            )

    def _withdraw(self, place: HookPlace, trust_file: Path, hashes: Mapping[str, str]) -> None:
        if (text := self.staged.read(trust_file)) is not None:
            remaining = trust_lists.of_place(place).withdraw(text, hashes)
            self._write(place.agent, trust_file, remaining)

    def _install_plugin(self, place: HookPlace, file: Path) -> None:
        standing, wanted = self._plugin(place, file)
        if standing == "other" or standing is None:
            whose = "another home of Rookery" if standing else "another program"
            raise CommandRefused(f"{file} belongs to {whose}; nothing was changed.")
        self._record_before(place, file)
        self.staged.write(place.agent, file, wanted)

    def _uninstall_plugin(self, place: HookPlace, file: Path) -> None:
        if self._plugin(place, file)[0] in {"installed", "outdated"}:
            self.staged.write(place.agent, file, None)
        if entry := self.record.entries.pop(file, None):
            self.folders += map(Path, entry.folders)

    def _plugin(self, place: HookPlace, file: Path) -> tuple[Standing | None, str]:
        """Return the state of a plugin file, and the text that it should have."""
        wanted = programs.plugin(self.home, place.agent, place.dialect)
        text = self.staged.read(file)
        return hook_settings.standing_of_plugin(text, wanted, program=self.program), wanted


def _shape(place: HookPlace) -> HookShape:
    return place.dialect.hooks or HookShape({})  # an agent with a plugin has none
