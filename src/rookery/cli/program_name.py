"""The program's name as the user called it, for the commands that texts suggest."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rookery.quick_python_import import import_quickly

#: How commands are written in texts, whatever the program is called.
WRITTEN = "rookery"

#: Where a text suggests a command: after two blanks within a line, or after another command.
_SUGGESTED = re.compile(rf"(?:(?<=\S {{2}})|(?<=[a-z]; )){WRITTEN}(?= [a-z-])")

#: The same, and in Rookery's own sentences: at the start of a line, in quotes or parentheses.
_MENTIONED = re.compile(rf"(?:\S {{2}}|[a-z]; |[`(]|^ *){WRITTEN}(?= [a-z-])", re.MULTILINE)


def program_name() -> str:
    """Return the command with which the user calls this program from this folder."""
    program = Path(sys.argv[0])
    # Without a folder, the shell found the program on the PATH. A program with another name
    # only imports this module.
    if program.name == sys.argv[0] or program.name != WRITTEN:
        return WRITTEN
    # Imported only if a text names a command: it loads compression modules.
    on_path = import_quickly("shutil").which(WRITTEN)
    if on_path and Path(on_path).resolve() == program.resolve():
        return WRITTEN
    try:
        return str(program.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(program)


def with_program_name(text: str) -> str:
    """Write the suggested commands of a text so that the user can type them here."""
    return _renamed(_SUGGESTED, text)


def with_program_name_in_prose(text: str) -> str:
    """Do the same as ``with_program_name``, also for commands that a sentence quotes."""
    return _renamed(_MENTIONED, text)


def _renamed(where: re.Pattern[str], text: str) -> str:
    if WRITTEN not in text or (name := program_name()) == WRITTEN:
        return text
    return where.sub(lambda found: found[0].removesuffix(WRITTEN) + name, text)
