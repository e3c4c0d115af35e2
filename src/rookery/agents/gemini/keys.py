"""Answer the dialogs of Gemini CLI by keys."""

from __future__ import annotations

import re

from rookery.agents.shared.keys import DialogKeys

KEYS = DialogKeys(
    *("1", re.compile("Allow once"), "escape", re.compile(r"No, .*\(esc\)")), takes_words=True
)
