"""How Claude Code and Codex are made to ask, and how their dialogs are answered."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from tests.support.real.rookery import Rookery, eventually

ESCALATED = json.dumps(
    {"cmd": "touch made", "sandbox_permissions": "require_escalated", "justification": "why"}
)


#: What stands on the screen once a key would answer it: a little after the hook has told.
DIALOG = re.compile(r"Do you want to proceed|Would you like to run")


@dataclass(frozen=True)
class Case:
    """What differs between the two, in how a test makes them ask."""

    agent: str
    asking: str  #: a prompt that opens a permission dialog
    yes: str
    no: str


CASES = [
    Case("claude", "bash: touch made;; say: allowed", "1", "escape"),
    Case("codex", f"tool: exec_command {ESCALATED};; say: allowed", "y", "escape"),
]


def prompts(rookery: Rookery, name: str) -> list[str]:
    turns = rookery.client.get("sessions", name, "turns")["turns"]
    return [turn["prompt"] for turn in turns]


def answer(rookery: Rookery, key: str) -> None:
    """Press a key until the dialog is gone: Claude takes none in its first moments."""
    press_until(rookery, key, lambda screen: not DIALOG.search(screen), after=DIALOG.search)


def press_until(
    rookery: Rookery,
    key: str,
    has_worked: Callable[[str], object],
    *,
    after: Callable[[str], object],
) -> None:
    """Press a key once its time has come; again only if it has had no effect for a while."""
    eventually(lambda: after(rookery.screen("it")))
    for _ in range(6):
        rookery.client.post("sessions", "it", "keys", keys=[key])
        with suppress(AssertionError):
            # Long, because a key that was only slow and is pressed twice answers otherwise.
            eventually(lambda: has_worked(rookery.screen("it")), within=5.0)
            return
    pytest.fail(f"{key} has no effect")
