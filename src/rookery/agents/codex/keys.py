"""The keys that answer Codex's dialogs."""

from __future__ import annotations

import re

from rookery.agents.shared.keys import DialogKeys

#: The last option may be cut off. The line below it shows that Esc cancels.
KEYS = DialogKeys(
    "y",
    re.compile(r"Yes, .*\(y\)"),
    "escape",
    re.compile(r"No, .*\(esc\)"),
    no_works_if_cut=True,
)
