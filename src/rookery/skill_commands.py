"""Find the shell commands that a call of Claude's Skill tool runs without a hook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from rookery.agents import claude_skills
from rookery.model.patterns import Pattern
from rookery.model.permissions import Call
from rookery.model.rules import SHELL
from rookery.model.sessions import Sender
from rookery.project_files import MAX_FILE_BYTES, definitions_in, in_thread, read_text

#: The agent whose skills have inline commands.
AGENT = "claude"


def tools_that_load(agent: str, restricted: Iterable[Pattern]) -> frozenset[str]:
    """Return the tools that may run commands by themselves, if rules restrict commands."""
    is_restricted = agent == AGENT and any(each.matches(SHELL) for each in restricted)
    return claude_skills.TOOLS if is_restricted else frozenset()


async def with_inline_commands(call: Call, sender: Sender) -> Call:
    """Add the inline commands of the skill that a call loads; other calls stay as they are."""
    if sender.agent != AGENT or not claude_skills.loads_file(call.tool):
        return call
    commands = await in_thread(partial(_commands, call, sender), otherwise=None)
    # The file may change: what is answered now holds for no later call.
    is_exact = call.is_exact and commands == ()
    return replace(call, commands=commands, is_exact=is_exact)


def _commands(call: Call, sender: Sender) -> tuple[str, ...] | None:
    """Return the commands in all files that the call may mean; ``None`` if one is unclear."""
    name = claude_skills.named_file(call.tool, call.input)
    given = [each for each in call.input.values() if isinstance(each, str)]
    # With a colon it is a plugin's, or of a folder below: another of that name may be found.
    is_plain = name and ":" not in name
    texts = [_text(file) for file in _files(name, sender)] if is_plain else []
    if not texts:
        return None  # perhaps a plugin's, or one of Claude's own
    found = [text and claude_skills.inline_commands(text) for text in texts]
    found += [claude_skills.inline_commands(text) for text in given]
    if any(each is None for each in found):
        return None
    return tuple(dict.fromkeys(command for each in found if each for command in each))


def _text(file: str) -> str | None:
    """Return the text of a file; ``None`` if it is not a whole, readable file."""
    text = read_text(Path(file))
    return text if 0 < len(text.encode()) < MAX_FILE_BYTES else None


def _files(name: str, sender: Sender) -> Iterator[str]:
    """Yield the files that define a skill or command, as the agent in its folder finds them."""
    project, written = Path(sender.cwd), Path(sender.transcript_path)
    folders = [each / ".claude" for each in (project, *project.parents)]
    if len(written.parents) > 2 and written.parents[1].name == "projects":  # noqa: PLR2004
        folders.append(written.parents[2])  # its user's
    for folder in dict.fromkeys(folders):
        for place in ("commands", "skills"):
            yield from definitions_in(folder, name, place=place)
