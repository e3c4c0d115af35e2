"""The keys that answer Gemini CLI's dialogs."""

from __future__ import annotations

import re

from rookery.agents.shared.keys import DialogKeys

KEYS = DialogKeys(
    yes="1",
    yes_pattern=re.compile("Allow once"),
    no="escape",
    no_pattern=re.compile(r"No, .*\(esc\)"),
    accepts_free_text=True,
)
