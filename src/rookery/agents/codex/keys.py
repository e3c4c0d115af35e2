"""Answer the dialogs of Codex by keys."""

from __future__ import annotations

import re

from rookery.agents.shared.keys import DialogKeys

#: The last option may be cut off; the line below it says that Esc cancels.
KEYS = DialogKeys(
    "y", re.compile(r"Yes, .*\(y\)"), "escape", re.compile(r"No, .*\(esc\)"), hides_no=True
)
