"""The rules for tool calls, as their owner writes them: read again whenever they change."""

from __future__ import annotations

import re
import tomllib
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

from rookery.config import check_owner, first_error
from rookery.model.errors import ConfigBroken
from rookery.model.permissions import DECISIONS, Decision, Pattern, Rule


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _compiled(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


class _Pattern(_Table):
    """One of three kinds; a plain text is a glob."""

    glob: str | None = None
    literal: str | None = None
    regex: Annotated[str, AfterValidator(_compiled)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _take_a_text_as_a_glob(cls, written: object) -> object:
        return {"glob": written} if isinstance(written, str) else written

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
    reason: str = ""  #: told to the agent


class _Rules(_Table):
    deny: tuple[_Rule, ...] = ()
    allow: tuple[_Rule, ...] = ()
    ask: tuple[_Rule, ...] = ()


class Rulebook:
    """The rules of one file. What is broken changes nothing: the last good ones hold."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.error = ""  #: why the file, as it is now, is not what holds
        self._rules: tuple[Rule, ...] = ()
        self._seen: tuple[int, int, int] | None = None

    def rules(self) -> tuple[Rule, ...]:
        """Return the rules that hold now. Costs a look at the file, more if it has changed."""
        if (seen := self._look()) != self._seen:
            self._seen = seen
            try:
                self._rules, self.error = read(self.path), ""
            except ConfigBroken as error:
                self.error = str(error)
        return self._rules

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return (found.st_ino, found.st_size, found.st_mtime_ns)


def read(path: Path) -> tuple[Rule, ...]:
    """Read a file of rules. A missing file has none. Raises ``ConfigBroken``."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigBroken(f"{path}: {error}") from error
    check_owner(path)
    try:
        found = _Rules.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigBroken(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        raise ConfigBroken(f"{path}: {first_error(error, 'rules.md')}") from error
    return tuple(
        _rule(decision, number, rule)
        for decision in DECISIONS
        for number, rule in enumerate(getattr(found, decision), 1)
    )


def _rule(decision: Decision, number: int, rule: _Rule) -> Rule:
    return Rule(
        name=rule.name or f"{decision} {number}",
        decision=decision,
        tool=rule.tool.pattern(),
        input={name: each.pattern() for name, each in rule.input.items()},
        agent=rule.agent.pattern(),
        project=rule.project.pattern(),
        session=rule.session.pattern(),
        reason=rule.reason,
    )
