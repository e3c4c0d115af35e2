"""The keys that answer Codex's dialogs."""

from __future__ import annotations

import re

from rookery.agents.shared.keys import DialogKeys

#: The screen may cut off the last option, "No". Escape still denies, as the footer says.
KEYS = DialogKeys(
    "y",
    re.compile(r"Yes, .*\(y\)"),
    "escape",
    re.compile(r"No, .*\(esc\)"),
    no_works_if_cut=True,
)
