"""Disable mentions in text that no person wrote, so that it makes no program read files.

A program that expands ``@path`` reads the file itself, without a hook, so no rule applies.
"""

from __future__ import annotations

from rookery.agents.catalog import AGENTS


def without_mentions(agent: str, words: str) -> str:
    """Return the text for a session of this agent, with a blank after the ``@`` of mentions."""
    known = AGENTS.get(agent)
    pattern = known.input.mentions if known else None
    return pattern.sub("@ ", words) if pattern else words
