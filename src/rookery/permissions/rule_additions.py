"""Append a rule to the rules file, without changing any other byte of it."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

from rookery.agents.shared import toml_edit
from rookery.model.errors import CommandRefused, ConfigBroken
from rookery.model.rules import Rule
from rookery.permissions.always_rules import as_toml
from rookery.permissions.rules_file import MAX_FILE_BYTES, Version, parse, read
from rookery.private_files import write_durably

#: The mode of a rules file that did not exist before.
NEW_FILE_MODE = 0o600


def existing(rule: Rule, version: Version | None) -> Rule | None:
    """Return the rule that decides the same, whatever its name."""
    rules = version.rules if version else ()
    return next((each for each in rules if replace(each, name=rule.name) == rule), None)


def add_rule(path: Path, rule: Rule) -> Rule:
    """Append a rule to the file; return it, or the same rule if the file had it already.

    A power cut leaves the old file or the new one. Raises ``CommandRefused``.
    """
    file = path.resolve()  # a link to the user's own repository stays a link
    try:
        before = read(file)
        if known := existing(rule, before):
            return known
        _append(file, before, rule)
    except ConfigBroken as error:
        raise CommandRefused(f"The rule was not added. {error}") from error
    except OSError as error:
        raise CommandRefused(f"The rule was not added. {file}: {error.strerror}.") from error
    return rule


def _append(file: Path, before: Version | None, rule: Rule) -> None:
    old = before.text if before else ""
    text = toml_edit.append(old, as_toml(rule))
    if len(text.encode()) > MAX_FILE_BYTES:
        raise ConfigBroken(f"{file} would have more than {MAX_FILE_BYTES:,} bytes.")
    after = parse(text, file)
    # A table that ends otherwise than it looks could take the new lines as its own.
    if (
        existing(rule, after) is None
        or len(after.rules) != len(before.rules if before else ()) + 1
    ):
        raise ConfigBroken(f"{file} has a form that cannot be appended to.")
    mode = NEW_FILE_MODE
    if before is not None:
        if not os.access(file, os.W_OK):
            raise ConfigBroken(f"{file} is write-protected.")
        mode = stat.S_IMODE(file.stat().st_mode)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_durably(file, text.encode(), mode=mode)
