"""The envelope: the line above text that was not typed by a person, which names its sender.

It states what the daemon knows, never what the text claims. So no line of the text itself
may look like an envelope.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

from rookery.model.confusables import is_visible, skeleton

#: The beginning of every envelope.
OURS = "[rookery]"

#: Rookery's name, also when spelled with digits.
_OUR_NAME = "r[o0][o0]k[e3]ry"

#: What Markdown or HTML may put before a bracket: a heading, a list, bold text, a tag.
_MARKUP = r"(?:[-+#=|!.:]|\d{1,3}[.)\]]|<[^>]{0,40}>){0,12}"

#: Matches a line from ``_as_seen`` (no invisible characters, all brackets square) that could
#: be mistaken for an envelope, or for the name above a relayed answer.
_IMITATION = re.compile(rf"{_MARKUP}\[(?:{_OUR_NAME}\]|[^\]]*\]\[\d+\](?::|[^\x00-\x7f]))")

#: Removes the Markdown characters for bold, italic and literal text, which are not shown.
_EMPHASIS = str.maketrans("", "", "*_`~\\")

#: Visible characters of a line that are checked for an imitated envelope.
_CHECKED_CHARACTERS = 120

#: Matches text, without blanks, that names Rookery or its tools or reads like its news.
_RESEMBLES_NEWS = re.compile(
    f"{_OUR_NAME}|session.{{1,80}}on.{{0,120}}(?:finished|needsinput|failed|interrupted)"
)

_BRACKETS = {"Ps": "[", "Pe": "]"}

#: All characters at which terminals and agents begin a new line, not only the newline.
_NEWLINE = re.compile("(\r\n|[\n\r\v\f\x85\u2028\u2029])")


def envelope(*, speaker: str, recipient: str, about: str) -> str:
    """Return the envelope line with sender, recipient and subject."""
    return f"{OURS} {_flat(speaker)} to {_flat(recipient)}: {_flat(about)}"


def quoted(words: str) -> str:
    """Return ``words`` with a ``>`` before each line that imitates an envelope."""
    return "".join(f"> {line}" if _imitates(line) else line for line in _NEWLINE.split(words))


def attributed(name: str, number: int, words: str) -> str:
    """Return a relay member's answer under its name and number."""
    return f"[{name}] ({number}):\n\n{quoted(words)}"


def cited(words: str) -> str:
    """Return text for use in a line that Rookery writes; in quotes if it imitates Rookery."""
    if not _RESEMBLES_NEWS.search(_plain(words)):
        return words
    return "“" + words.replace("“", "'").replace("”", "'") + "”"


def _imitates(line: str) -> bool:
    if "[" not in line and line.isascii():
        return False
    return _IMITATION.match(_as_seen(line)) is not None


def _as_seen(line: str) -> str:
    """Return the start of a line as a reader sees it.

    Cut first, then decompose: Unicode normalization of a long run of accents takes minutes.
    """
    begins = "".join(islice(filter(is_visible, line), _CHECKED_CHARACTERS))
    return _plain(begins).translate(_EMPHASIS)


def _plain(text: str) -> str:
    return "".join(_BRACKETS.get(unicodedata.category(each), each) for each in skeleton(text))


def _flat(text: str) -> str:
    return " ".join(text.split())
