"""The line above words that do not come from a person at the keyboard: who speaks.

It says what the daemon knows, never what the words say of themselves. So nothing in them
may look like it.
"""

from __future__ import annotations

import re
import unicodedata

MARK = "[rookery]"

#: How a line begins that could be taken for an envelope, or for the name over relayed words.
_LIKE_ONE = re.compile(r"\s*\[\s*rookery\s*\]|\s*\[[^\]]*\]\s*\(\d+\)\s*:", re.IGNORECASE)

#: Where terminals and agents begin a line: more places than a newline.
_LINES = re.compile("(\r\n|[\n\r\v\f\x85\u2028\u2029])")


def envelope(*, speaker: str, listener: str, about: str) -> str:
    """Write who speaks to whom, and about what."""
    return f"{MARK} {_flat(speaker)} to {_flat(listener)}: {_flat(about)}"


def quoted(words: str) -> str:
    """Mark the lines of ``words`` that imitate an envelope."""
    return "".join(f"> {line}" if _imitates(line) else line for line in _LINES.split(words))


def attributed(name: str, number: int, words: str) -> str:
    """Write what somebody in a relay said."""
    return f"[{name}] ({number}):\n\n{quoted(words)}"


def _imitates(line: str) -> bool:
    # Wide brackets and letters look the same, and what has no width is not seen at all.
    plain = unicodedata.normalize("NFKC", line)
    seen = "".join(each for each in plain if unicodedata.category(each) != "Cf")
    return _LIKE_ONE.match(seen) is not None


def _flat(text: str) -> str:
    return " ".join(text.split())
