"""The line above words that do not come from a person at the keyboard: who speaks.

It says what the daemon knows, never what the words say of themselves. So nothing in them
may look like it.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

from rookery.model.confusables import is_visible, skeleton

#: How each of them begins.
OURS = "[rookery]"

#: What we are called, also by those who write it with figures.
_US = "r[o0][o0]k[e3]ry"

#: What Markdown or HTML may put before a bracket: a heading, a list, bold words, a tag.
_MARKUP = r"(?:[-+#=|!.:]|\d{1,3}[.)\]]|<[^>]{0,40}>){0,12}"

#: How a line begins, as it is seen, that could be taken for an envelope, or for the name over
#: relayed words. Nothing that is not seen is left in it, and all brackets are square.
_LIKE_ONE = re.compile(rf"{_MARKUP}\[(?:{_US}\]|[^\]]*\]\[\d+\](?::|[^\x00-\x7f]))")

#: What Markdown makes bold, slanted or literal, and does not show.
_EMPHASIS = str.maketrans("", "", "*_`~\\")

#: So many characters that are seen of a line tell whether it looks like one.
_SEEN = 120

#: News of a session, or a tool of ours that should be used; without the blanks.
_SOUNDS_LIKE_US = re.compile(
    f"{_US}|session.{{1,80}}on.{{0,120}}(?:finished|needsinput|failed|interrupted)"
)

_BRACKETS = {"Ps": "[", "Pe": "]"}

#: Where terminals and agents begin a line: more places than a newline.
_LINES = re.compile("(\r\n|[\n\r\v\f\x85\u2028\u2029])")


def envelope(*, speaker: str, recipient: str, about: str) -> str:
    """Write who speaks to whom, and about what."""
    return f"{OURS} {_flat(speaker)} to {_flat(recipient)}: {_flat(about)}"


def quoted(words: str) -> str:
    """Quote the lines of ``words`` that imitate an envelope."""
    return "".join(f"> {line}" if _imitates(line) else line for line in _LINES.split(words))


def attributed(name: str, number: int, words: str) -> str:
    """Write what somebody in a relay said."""
    return f"[{name}] ({number}):\n\n{quoted(words)}"


def cited(words: str) -> str:
    """Return a few words of somebody for a line of ours: in quotes, if they sound like us."""
    if not _SOUNDS_LIKE_US.search(_plain(words)):
        return words
    return "“" + words.replace("“", "'").replace("”", "'") + "”"


def _imitates(line: str) -> bool:
    if "[" not in line and line.isascii():
        return False
    return _LIKE_ONE.match(_as_seen(line)) is not None


def _as_seen(line: str) -> str:
    """Return how a line begins to whoever looks at it.

    Cut before it is taken apart: a long row of accents takes minutes to be put in order.
    """
    begins = "".join(islice(filter(is_visible, line), _SEEN))
    return _plain(begins).translate(_EMPHASIS)


def _plain(text: str) -> str:
    return "".join(_BRACKETS.get(unicodedata.category(each), each) for each in skeleton(text))


def _flat(text: str) -> str:
    return " ".join(text.split())
