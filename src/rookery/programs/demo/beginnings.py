"""How a session begins: when the program starts, and after ``/clear``. Pure."""

from __future__ import annotations

from rookery.programs.demo import dialog
from rookery.programs.demo.effects import (
    Ask,
    Consult,
    Effects,
    Leave,
    Listen,
    Print,
    Renew,
    Tell,
    Wait,
)
from rookery.programs.demo.hooks import Ruling
from rookery.programs.demo.options import Options
from rookery.programs.demo.screen import Block, BlockKind


def opening(options: Options, folder: str) -> Effects:
    """Start up. Words typed before it listens are lost, as with real agents."""
    yield Wait(options.startup_delay)
    if options.trust_dialog:
        decision = yield Ask(dialog.trust(folder), None)
        if decision.ruling is Ruling.REFUSE:
            yield Leave(1)
            return
    yield Print(Block(BlockKind.BANNER, f"demo · {options.model} · {folder}"))
    yield Listen()
    yield Consult("SessionStart", {"source": options.source, "model": options.model})


def clearing(options: Options) -> Effects:
    yield Print(Block(BlockKind.PROMPT, "/clear"))
    yield Tell("SessionEnd", {"reason": "clear"})
    yield Renew()
    yield Consult("SessionStart", {"source": "clear", "model": options.model})
