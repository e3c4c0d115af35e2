"""The rules for tool calls in force, read from a file whenever it changes."""

from __future__ import annotations

import asyncio
import logging
import os
import time
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from rookery.config import check_owner
from rookery.model.errors import ConfigBroken
from rookery.model.patterns import Pattern, compile_regex
from rookery.model.rules import ASK_ALWAYS, DECISIONS, Decision, Rule
from rookery.ports.clock import Clock
from rookery.setting_errors import told_errors
from rookery.store import valid_rules
from rookery.store.database import Database

_log = logging.getLogger(__name__)

MAX_FILE_BYTES = 1_000_000

#: A file that has been empty for this long is empty on purpose; a newer one is being written.
EMPTY_FILE_AGE_S = 1.0


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _compiled(text: str) -> str:
    compile_regex(text)
    return text


class _Pattern(_Table):
    """A pattern of exactly one of three kinds; a plain string is a glob."""

    glob: str | None = None
    literal: str | None = None
    regex: Annotated[str, AfterValidator(_compiled)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_text_as_glob(cls, value: object) -> object:
        return {"glob": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("say one of: glob, literal, regex")
        return self

    def pattern(self) -> Pattern:
        if self.regex is not None:
            return Pattern(self.regex, "regex")
        if self.literal is not None:
            return Pattern(self.literal, "literal")
        return Pattern(self.glob or "")


_ANY = _Pattern(glob="*")


class _Rule(_Table):
    name: str = ""
    tool: _Pattern = _ANY
    input: dict[str, _Pattern] = Field(default_factory=dict)
    agent: _Pattern = _ANY
    project: _Pattern = _ANY
    session: _Pattern = _ANY
    folder: _Pattern | None = None
    reason: str = ""  #: passed to the agent


class _AllowRule(_Rule):
    exact: bool = False  #: the call has no other fields than those of ``input``


class _Rules(_Table):
    deny: tuple[_Rule, ...] = ()
    allow: tuple[_AllowRule, ...] = ()
    ask: tuple[_Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class _FileState:
    """The attributes of a file that change with its content, owner or mode."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    mode: int
    owner: int


@dataclass(frozen=True, slots=True)
class Version:
    """Valid rules and the text that defines them."""

    text: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading the file."""

    state: _FileState | None  #: of the file when it was read
    valid: Version | None
    problem: str  #: why the current file is not in force


class RulesFile:
    """The rules in force: those of the file, or the last valid ones.

    A valid version is stored before it is in force, so that it survives a restart with a file
    that is broken, unreadable or missing. If the file never existed, there are no rules. If it
    cannot be read and no valid version is known, every call is asked about.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""  #: why the current file is not in force
        self._valid: Version | None = None
        self._read_state: _FileState | None = None
        self._was_read = False
        self._reading = asyncio.Lock()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in force, as of the last refresh."""
        if self._valid is not None:
            return self._valid.rules
        is_missing = self._was_read and not self.problem
        return () if is_missing else (ASK_ALWAYS,)

    async def recall(self, database: Database) -> None:
        """Load the last valid version from the store; call this before the first refresh."""
        text = await database.read(valid_rules.load)
        if text is None:
            return
        try:
            self._valid = parse(text, self.path)
        except ConfigBroken:
            # An older version of Rookery accepted this text; this one does not.
            _log.exception("The stored rules are not valid any more.")

    async def refresh(self, database: Database, clock: Clock) -> None:
        """Read the file again if its content, owner or mode has changed."""
        if not self._reading.locked() and not self._has_changed():
            return
        async with self._reading:
            reading = self.look()
            if reading and reading.valid and self._is_new(reading.valid):
                text = reading.valid.text
                await database.write(partial(valid_rules.save, text=text, at=clock.now()))
            if reading:
                self.adopt(reading)

    def look(self) -> Reading | None:
        """Read the file if anything about it has changed."""
        if not self._has_changed():
            return None
        state = _state_of(self.path)
        has_rules = self._valid is not None and bool(self._valid.rules)
        if state and state.size == 0 and has_rules and _is_young(state):
            return None  # many editors truncate a file before they write it
        try:
            version = read(self.path)
        except ConfigBroken as error:
            why = " ".join(map(str, error.args))  # without blaming the configuration
            return Reading(state, None, f"{why} {_consequence(self._valid)}")
        return Reading(state, version, "" if version else _missing(self.path, self._valid))

    def adopt(self, reading: Reading) -> None:
        """Apply what was read."""
        if reading.problem and reading.problem != self.problem:
            _log.warning("%s", reading.problem)
        self._valid = reading.valid or self._valid
        self._read_state, self.problem, self._was_read = reading.state, reading.problem, True

    def _is_new(self, version: Version) -> bool:
        return self._valid is None or version.text != self._valid.text

    def _has_changed(self) -> bool:
        return not self._was_read or _state_of(self.path) != self._read_state


def _consequence(valid: Version | None) -> str:
    if valid is None:
        return "No valid version is known: every call is asked about."
    rules = f"{len(valid.rules)} rule{'' if len(valid.rules) == 1 else 's'}"
    return f"Until the file is corrected, the last valid version applies ({rules})."


def _missing(path: Path, valid: Version | None) -> str:
    """Return the problem of a missing file; empty if there were no rules in it."""
    if valid is None or not valid.rules:
        return ""
    return f"{path} is missing. {_consequence(valid)} To have no rules, leave an empty file."


def _state_of(path: Path) -> _FileState | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - runs before every hook call; twice as fast
    except OSError:
        return None
    return _FileState(
        inode=status.st_ino,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        changed_ns=status.st_ctime_ns,
        mode=status.st_mode,
        owner=status.st_uid,
    )


def _is_young(state: _FileState) -> bool:
    return abs(time.time_ns() - state.modified_ns) < EMPTY_FILE_AGE_S * 1e9


def read(path: Path) -> Version | None:
    """Read a rules file; ``None`` if it does not exist. Raises ``ConfigBroken``."""
    try:
        # Non-blocking: opening a FIFO without a writer would wait forever.
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigBroken(f"{path}: {error.strerror}.") from error
    try:
        check_owner(path, os.fstat(number))
        with os.fdopen(number, "rb", closefd=False) as file:
            text = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigBroken(f"{path}: {error.strerror}.") from error
    finally:
        os.close(number)
    if len(text) > MAX_FILE_BYTES:
        raise ConfigBroken(f"{path} has more than {MAX_FILE_BYTES:,} bytes.")
    try:
        return parse(text.decode(), path)
    except UnicodeDecodeError as error:
        raise ConfigBroken(f"{path} is not UTF-8: {error}.") from error


def parse(text: str, path: Path) -> Version:
    """Parse the text of rules. Raises ``ConfigBroken``, which names ``path``."""
    try:
        tables = _Rules.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigBroken(f"{path} is not TOML: {error}.") from error
    except ValidationError as error:
        why = told_errors(error, _Rules, see="The keys are in docs/reference/rules.md")
        raise ConfigBroken(f"{path}: {why.removesuffix('.')}.") from error
    except RecursionError as error:
        raise ConfigBroken(f"{path} is nested too deep.") from error
    rules = tuple(
        _rule(decision, number, rule)
        for decision in DECISIONS
        for number, rule in enumerate(getattr(tables, decision), 1)
    )
    return Version(text, rules)


def _rule(decision: Decision, number: int, rule: _Rule) -> Rule:
    return Rule(
        name=rule.name or f"{decision} {number}",
        decision=decision,
        tool=rule.tool.pattern(),
        input={name: each.pattern() for name, each in rule.input.items()},
        agent=rule.agent.pattern(),
        project=rule.project.pattern(),
        session=rule.session.pattern(),
        folder=rule.folder.pattern() if rule.folder else None,
        reason=rule.reason,
        exact=isinstance(rule, _AllowRule) and rule.exact,
    )
