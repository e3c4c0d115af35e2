"""Decides what is to be changed in agents' settings; nothing is written here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

from rookery.agents import codex_trust, installations
from rookery.agents.installations import PROGRAM, SHAPES, Found, Language, Standing
from rookery.home import Home
from rookery.hook_setup import files, programs
from rookery.hook_setup.files import Change, Desk
from rookery.hook_setup.places import Place
from rookery.hook_setup.record import Entry, Record
from rookery.model.errors import BadInput, CommandRefused, ConfigBroken

_SHIFTED = "Hooks of yours stand after ours in {}: Codex will ask about them again."
_TWO_HOMES = "Another home of Rookery has its hooks in {}, too: both are told."


@dataclass(frozen=True, slots=True)
class Plan:
    changes: tuple[Change, ...]
    record: Record  #: as it is then
    remarks: tuple[str, ...]
    folders: tuple[Path, ...]  #: that we once made; they go if they are empty then


@dataclass(frozen=True, slots=True)
class State:
    """How our hooks stand in one place."""

    place: Place
    file: Path
    standing: Standing | None  #: None if that cannot be said
    trust: codex_trust.Standing | None = None  #: of Codex
    trouble: str = ""


def install(home: Home, record: Record, places: Iterable[Place], *, trust: bool) -> Plan:
    """Plan to have our hooks in each place, as they are today.

    With ``trust``, Codex is told that its user trusts them. Raises ``ConfigBroken`` for
    settings that cannot be read or added to.
    """
    work = _Work(home, Record(dict(record.entries)))
    for place in places:
        work.install(place, trust=trust)
    return work.plan


def uninstall(home: Home, record: Record, places: Iterable[Place]) -> Plan:
    """Plan to have no hook of this home in these places. Raises ``ConfigBroken``."""
    work = _Work(home, Record(dict(record.entries)))
    for place in places:
        work.uninstall(place)
    return work.plan


def look(home: Home, place: Place) -> State:
    """Say how our hooks stand in a place."""
    work = _Work(home, Record())
    try:
        return work.look(place)
    except (ConfigBroken, CommandRefused) as error:
        file = place.plugin or place.files[0][0]
        return State(place, file, None, trouble=str(error))


def is_possible(agent: str) -> bool:
    """Whether we have what is to be installed for an agent."""
    return agent in SHAPES or _template(agent) is not None


def _template(agent: str) -> str | None:
    file = resources.files("rookery.programs") / f"{agent}_plugin.js"
    return file.read_text(encoding="utf-8") if file.is_file() else None


@dataclass(slots=True)
class _Work:
    home: Home
    record: Record
    desk: Desk = field(default_factory=Desk)
    remarks: list[str] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)

    @property
    def plan(self) -> Plan:
        remarks = tuple(dict.fromkeys(self.remarks))
        return Plan(self.desk.changes, self.record, remarks, tuple(self.folders))

    @property
    def program(self) -> str:
        return str(programs.program(self.home))

    def command(self, agent: str) -> str:
        command = programs.command(self.home, agent)
        try:
            command.encode()
        except UnicodeEncodeError as error:
            raise BadInput(f"the name of {self.home.state} is not UTF-8.") from error
        return command

    def install(self, place: Place, *, trust: bool) -> None:
        if place.is_project:
            # The repository's author chose its links.
            for each in (*(file for file, _ in place.files), *filter(None, [place.plugin])):
                files.check_within(each, place.folder.parent)
        if place.plugin:
            self._lay_plugin(place, place.plugin)
            return
        file, language = self._choose(place)
        with _naming(file):
            self._add(place, file, language)
        if place.trust:
            self._remember(place, place.trust)
            if trust:
                self._grant(place, place.trust, file, language)

    def uninstall(self, place: Place) -> None:
        if place.plugin:
            self._lift_plugin(place, place.plugin)
            return
        hashes: dict[str, str] = {}
        for file, language in place.files:
            with _naming(file):
                hashes |= self._take_out(place, file, language)
        if place.trust and hashes:
            with _naming(place.trust):
                self._withdraw(place.trust, hashes)
        self._forget(place)

    def look(self, place: Place) -> State:
        if place.plugin:
            return State(place, place.plugin, self._plugin(place, place.plugin)[0])
        file, language = self._choose(place)
        with _naming(file):
            settings = language.parse(self.desk.read(file) or "")
            _check_keys(place, file, settings)
        shape, command = SHAPES[place.agent], self.command(place.agent)
        standing = installations.standing(settings, shape, command, program=self.program)
        if standing == "installed" and not Path(self.program).exists():
            standing = "outdated"
        if not place.trust or standing in {"absent", "other"}:
            return State(place, file, standing)
        with _naming(place.trust):
            said = self.desk.read(place.trust) or ""
            kept = [
                codex_trust.standing(said, codex_trust.hashes(name, self._ours(settings)))
                for name in _spellings(file)
            ]
        return State(place, file, standing, codex_trust.best(kept))

    def _choose(self, place: Place) -> tuple[Path, Language]:
        """Take the file that has ours already, or hooks of the user's, or the usual one."""
        with_hooks = []
        for file, language in place.files:
            with _naming(file):
                settings = language.parse(self.desk.read(file) or "")
            if list(self._ours(settings)):
                return file, language
            if installations.has_hooks(settings):
                with_hooks.append((file, language))
        return (*with_hooks, *place.files)[0]

    def _ours(self, settings: installations.Settings) -> Iterator[Found]:
        return filter(self._is_ours, installations.find(settings))

    def _is_ours(self, found: Found) -> bool:
        return found.program == self.program

    def _add(self, place: Place, file: Path, language: Language) -> None:
        text = self.desk.read(file) or ""
        settings = language.parse(text)
        try:
            _check_keys(place, file, settings)
        except ConfigBroken as ignored:
            self.remarks.append(f"{file}: {ignored.args[0]} Remove the key.")
        shape, command = SHAPES[place.agent], self.command(place.agent)
        standing = installations.standing(settings, shape, command, program=self.program)
        if standing == "installed":
            return
        if standing == "other":
            self.remarks.append(_TWO_HOMES.format(file))
        if standing == "outdated":
            self._warn(place, file, settings)
            text = self._without_ours(text, file, language)
        else:
            self.record.entries.pop(file, None)
        self._remember(place, file)
        text, fragments = installations.add(text, language, shape.groups(command))
        self.desk.write(place.agent, file, text)
        entry = self.record.entries[file]
        self.record.entries[file] = replace(entry, fragments=fragments)

    def _without_ours(self, text: str, file: Path, language: Language) -> str:
        entry = self.record.entries.get(file)
        fragments = entry.fragments if entry else ()
        return installations.take_out(text, language, self._is_ours, fragments)

    def _warn(self, place: Place, file: Path, settings: installations.Settings) -> None:
        if place.trust and installations.comes_before_others(settings, self._is_ours):
            self.remarks.append(_SHIFTED.format(file))

    def _remember(self, place: Place, file: Path) -> None:
        """Write down how a file was before us, unless that is known already."""
        text = self.desk.read(file)
        entry = Entry(
            place.agent,
            str(place.folder),
            str(place.user_folder),
            made=text is None,
            folders=tuple(map(str, files.missing_folders(file))),
            trusts=file != place.trust or codex_trust.has_head(text or ""),
        )
        self.record.entries.setdefault(file, entry)

    def _take_out(self, place: Place, file: Path, language: Language) -> dict[str, str]:
        """Take ours out of a file. Returns how Codex called them."""
        text = self.desk.read(file) or ""
        if PROGRAM not in text:
            return {}  # and what is broken there is no matter of ours
        settings = language.parse(text)
        found = list(self._ours(settings))
        if not found:
            return {}
        self._warn(place, file, settings)
        self.desk.write(place.agent, file, self._without_ours(text, file, language))
        return _hashes(file, found) if place.trust else {}

    def _forget(self, place: Place) -> None:
        """Let go of what the record has of a place, and of files that only we needed."""
        for file, _ in place.files:
            if file != place.trust:
                self._clear_away(file)
        still = (file for file, entry in self.record.entries.items() if entry.is_of(place))
        if place.trust and set(still) <= {place.trust}:
            self._clear_away(place.trust)

    def _clear_away(self, file: Path) -> None:
        if entry := self.record.entries.pop(file, None):
            text = self.desk.read(file)
            if entry.made and text is not None and "".join(text.split()) in {"", "{}"}:
                self.desk.write(entry.agent, file, None)
            self.folders += map(Path, entry.folders)

    def _grant(self, place: Place, kept: Path, file: Path, language: Language) -> None:
        text, entry = self.desk.read(kept) or "", self.record.entries[kept]
        found = list(self._ours(language.parse(self.desk.read(file) or "")))
        with _naming(kept):
            text, fragments = codex_trust.grant(text, _hashes(file, found))
        self.desk.write(place.agent, kept, text)
        still = [each for each in entry.trust if each in text]
        self.record.entries[kept] = replace(entry, trust=(*still, *fragments))

    def _withdraw(self, kept: Path, hashes: Mapping[str, str]) -> None:
        text, entry = self.desk.read(kept), self.record.entries.get(kept)
        if text is None:
            return
        text = codex_trust.withdraw(text, hashes, entry.trust if entry else ())
        if entry and not entry.trusts:
            text = codex_trust.withdraw_head(text)
        self.desk.write("codex", kept, text)

    def _lay_plugin(self, place: Place, file: Path) -> None:
        standing, wanted = self._plugin(place, file)
        if standing == "other" or standing is None:
            whose = "another home of Rookery" if standing else "somebody else"
            raise CommandRefused(f"{file} is of {whose}; nothing was changed.")
        self._remember(place, file)
        self.desk.write(place.agent, file, wanted)

    def _lift_plugin(self, place: Place, file: Path) -> None:
        if self._plugin(place, file)[0] in {"installed", "outdated"}:
            self.desk.write(place.agent, file, None)
        if entry := self.record.entries.pop(file, None):
            self.folders += map(Path, entry.folders)

    def _plugin(self, place: Place, file: Path) -> tuple[Standing | None, str]:
        """Say how a file that is ours as a whole stands, and what it is to say."""
        words = [*programs.words(self.home), place.agent]
        values = {
            "rookery-hook": words,
            "rookery-door": str(self.home.hook_door),
            "rookery-spool": str(self.home.spool),
        }
        wanted = installations.plugin(_template(place.agent) or "", values)
        text = self.desk.read(file)
        return installations.standing_of_plugin(text, wanted, program=self.program), wanted


def _check_keys(place: Place, file: Path, settings: installations.Settings) -> None:
    """Raise ``ConfigBroken`` for a file that its agent ignores as a whole."""
    if place.trust and file != place.trust:
        codex_trust.require_known_keys(settings)


def _hashes(file: Path, found: Collection[Found]) -> dict[str, str]:
    """Say by which keys and hashes Codex may know the hooks of a file."""
    hashes: dict[str, str] = {}
    for name in _spellings(file):
        hashes |= codex_trust.hashes(name, found)
    return hashes


def _spellings(file: Path) -> tuple[str, ...]:
    """Say how Codex may call a file: it follows links to its folder sometimes, in it never."""
    return tuple(dict.fromkeys([str(file.parent.resolve() / file.name), str(file)]))


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Say which file is broken."""
    try:
        yield
    except ConfigBroken as error:
        words = str(error.args[0])
        whole = words if words.startswith(str(file)) else f"{file}, {words}"
        raise ConfigBroken(whole) from error
