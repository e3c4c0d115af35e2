"""What the program was asked on its command line."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from rookery.programs.demo import settings


@dataclass(frozen=True, slots=True)
class Options:
    session_id: str
    source: str  #: startup or resume
    model: str
    permission_mode: str
    hooks: settings.Hooks
    alternate_screen: bool
    trust_dialog: bool
    startup_delay: float  #: seconds
    home: Path  #: where transcripts lie


def read(arguments: Sequence[str]) -> Options:
    """Read the command line. Ends the program with a message if it cannot be read."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    hooks: settings.Hooks = {}
    if asked.settings and not asked.no_hooks:
        try:
            hooks = settings.read(asked.settings.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            parser.error(f"--settings {asked.settings}: {error}")
    return Options(
        session_id=str(asked.resume or asked.session_id or uuid4()),
        source="resume" if asked.resume else "startup",
        model=asked.model,
        permission_mode=asked.permission_mode,
        hooks=hooks,
        alternate_screen=asked.alternate_screen,
        trust_dialog=asked.trust_dialog,
        startup_delay=asked.startup_delay,
        home=Path(os.environ.get("ROOKERY_DEMO_HOME") or Path.home() / ".rookery-demo"),
    )


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -m rookery.programs.demo", allow_abbrev=False)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--session-id", type=UUID, metavar="UUID")
    which.add_argument("--resume", type=UUID, metavar="UUID")
    parser.add_argument("--model", default="demo", metavar="NAME")
    parser.add_argument("--permission-mode", default="default", metavar="MODE")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="hooks, as JSON")
    parser.add_argument("--no-hooks", action="store_true", help="run none of them")
    parser.add_argument("--alternate-screen", action="store_true")
    parser.add_argument("--trust-dialog", action="store_true", help="ask for trust first")
    parser.add_argument("--startup-delay", type=float, default=0, metavar="SECONDS")
    return parser
