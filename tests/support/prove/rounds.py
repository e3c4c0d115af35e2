"""The rounds of the truth proof."""

from __future__ import annotations

#: Who plays beside whom, and how many hands of twenty turns: the machine may have two cores.
ROUNDS = [{"claude": 6, "codex": 6}, {"gemini": 2, "opencode": 2}]
