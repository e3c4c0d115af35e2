"""Find the shell commands that a tool runs, without a hook, when it loads a skill.

Where the commands are not clear, they count as unknown: then a rule that restricts commands
makes Rookery ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from rookery.agents.catalog import AGENTS
from rookery.model.patterns import Pattern
from rookery.model.permissions import Call
from rookery.model.rules import SHELL
from rookery.model.sessions import Sender
from rookery.permissions.project_files import (
    MAX_FILE_BYTES,
    definitions_in,
    files_below,
    in_thread,
    read_text,
)
from rookery.ports.agent import Agent
from rookery.ports.settings import CommandFiles, SkillDialect


def tools_that_load(agent: Agent, restricted: Iterable[Pattern]) -> frozenset[str]:
    """Return the tools that may run commands themselves, if rules restrict commands."""
    commands = agent.settings.commands if agent.settings else None
    skills = commands.skills if commands else None
    is_restricted = any(each.matches(SHELL) for each in restricted)
    return skills.tools | skills.subagent_tools if skills and is_restricted else frozenset()


async def with_inline_commands(call: Call, sender: Sender) -> Call:
    """Add the inline commands of the skill that a call loads; other calls stay unchanged."""
    agent = AGENTS.get(sender.agent)
    files = agent.settings.commands if agent and agent.settings else None
    skills = files.skills if files else None
    if files is None or skills is None:
        return call
    if call.tool in skills.subagent_tools:
        look = partial(_commands_of_subagent, call, sender, files, skills)
    elif call.tool in skills.tools:
        look = partial(_commands, call, sender, files, skills)
    else:
        return call
    commands = await in_thread(look, otherwise=None)
    # The file may change: an answer given now must not apply to later calls.
    is_exact = call.is_exact and commands == ()
    return replace(call, commands=commands, is_exact=is_exact)


def _commands(
    call: Call, sender: Sender, files: CommandFiles, skills: SkillDialect
) -> tuple[str, ...] | None:
    """Return the commands in all files that the call may mean; ``None`` if one is unclear."""
    name = skills.named_file(call.tool, call.input)
    if name is None:
        return ()
    inputs = [each for each in call.input.values() if isinstance(each, str)]
    # With a colon it is from a plugin or a subfolder: the file found may be another one.
    is_plain = name and ":" not in name
    folders = tuple(_folders(sender, files, skills))
    texts = [_text(file) for file in _files(name, folders)] if is_plain else []
    if not texts:
        return None  # perhaps a plugin's, or built into the agent
    if any(skills.completes_a_command(text or "", each) for text in texts for each in inputs):
        return None
    commands = [text and skills.inline_commands(text) for text in texts]
    if any(each is None for each in commands):
        return None
    if any(map(skills.starts_subagent, filter(None, texts))) and _may_run(folders, skills):
        return None
    return tuple(dict.fromkeys(command for each in commands if each for command in each))


def _commands_of_subagent(
    call: Call, sender: Sender, files: CommandFiles, skills: SkillDialect
) -> tuple[str, ...] | None:
    """Return no commands if a subagent runs none when it starts; ``None`` if it may."""
    name = skills.named_subagent(call.tool, call.input)
    is_plugins = name is None or ":" in name
    return None if is_plugins or _may_run(_folders(sender, files, skills), skills) else ()


def _may_run(folders: Iterable[Path], skills: SkillDialect) -> bool:
    """Return whether a subagent that is defined there may run commands when it starts."""
    found = (
        file for folder in dict.fromkeys(folders) for file in files_below(folder / "agents")
    )
    # Whatever its file is called: the name may be written in many ways.
    return any(
        file is None or (file.suffix.lower() == ".md" and skills.runs_at_start(read_text(file)))
        for file in found
    )


def _text(file: str) -> str | None:
    """Return the text of a file; ``None`` if the file is unreadable, empty or too large."""
    text = read_text(Path(file))
    return text if 0 < len(text.encode()) < MAX_FILE_BYTES else None


def _folders(sender: Sender, files: CommandFiles, skills: SkillDialect) -> Iterator[Path]:
    """Yield the agent's folders for commands: those of the project and of the user."""
    project = Path(sender.cwd)
    yield from (each / files.folder for each in (project, *project.parents))
    if user := skills.user_folder(sender.transcript_path):
        yield user


def _files(name: str, folders: Iterable[Path]) -> Iterator[str]:
    """Yield the files that define a skill or command, as the agent in its folder finds them."""
    for folder in dict.fromkeys(folders):
        for place in ("commands", "skills"):
            yield from definitions_in(folder, name, place=place)
