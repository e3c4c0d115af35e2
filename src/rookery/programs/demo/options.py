"""The command line, and the settings file that it names."""

from __future__ import annotations

import json
import os
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from rookery.programs.demo.hooks import HookCommand, HookCommands

#: The timeout of a hook command whose settings name none.
DEFAULT_HOOK_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    session_id: str
    source: str  #: startup or resume
    model: str
    permission_mode: str
    hooks: HookCommands
    alternate_screen: bool
    trust_dialog: bool
    startup_delay: float  #: seconds
    home: Path  #: the folder of the transcripts
    speaks_acp: bool  #: over its standard streams, instead of a terminal


def read(arguments: Sequence[str]) -> Options:
    """Read the command line. Exits with a message if it is invalid."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    hooks: HookCommands = {}
    if parsed.settings and not parsed.no_hooks:
        try:
            hooks = read_hooks(parsed.settings.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            parser.error(f"--settings {parsed.settings}: {error}")
    return Options(
        session_id=str(parsed.resume or parsed.session_id or uuid4()),
        source="resume" if parsed.resume else "startup",
        model=parsed.model,
        permission_mode=parsed.permission_mode,
        hooks=hooks,
        alternate_screen=parsed.alternate_screen,
        trust_dialog=parsed.trust_dialog,
        startup_delay=parsed.startup_delay,
        home=transcripts_folder(os.environ),
        speaks_acp=parsed.acp,
    )


def transcripts_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder in which the demo agent keeps its conversations."""
    return Path(environment.get("ROOKERY_DEMO_HOME") or Path.home() / ".rookery-demo")


def read_hooks(settings: str) -> HookCommands:
    """Read the hooks of settings in Claude Code's format. Raises ValueError if not JSON."""
    match json.loads(settings):
        case {"hooks": {} as events}:
            return {str(event): tuple(_commands(groups)) for event, groups in events.items()}
        case _:
            return {}


def _commands(groups: object) -> Iterator[HookCommand]:
    for group in groups if isinstance(groups, list) else ():
        match group:
            case {"hooks": [*hooks]}:
                for hook in hooks:
                    yield from _command(hook)


def _command(hook: object) -> Iterator[HookCommand]:
    match hook:
        case {"type": "command", "command": str(line), **rest}:
            timeout = rest.get("timeout")
            if not isinstance(timeout, int | float):
                timeout = DEFAULT_HOOK_TIMEOUT_S
            with suppress(ValueError):  # unclosed quotes
                if words := shlex.split(line):
                    yield HookCommand(tuple(words), float(timeout))


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -m rookery.programs.demo", allow_abbrev=False)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--session-id", type=UUID, metavar="UUID")
    which.add_argument("--resume", type=UUID, metavar="UUID")
    parser.add_argument("--model", default="demo", metavar="NAME")
    parser.add_argument("--permission-mode", default="default", metavar="MODE")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="hooks, as JSON")
    parser.add_argument("--no-hooks", action="store_true", help="run none of them")
    parser.add_argument("--acp", action="store_true", help="speak ACP, without a terminal")
    parser.add_argument("--alternate-screen", action="store_true")
    parser.add_argument("--trust-dialog", action="store_true", help="ask for trust first")
    parser.add_argument("--startup-delay", type=float, default=0, metavar="SECONDS")
    return parser
