"""How agent programs rewrite the text that is pasted into their input boxes."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

#: Invisible characters, which Unicode calls default ignorable: soft hyphens, joiners,
#: direction marks, fillers, variation selectors, tags.
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

#: Invisible characters that change the text direction, so that a text reads differently.
DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

#: An invisible character, or the flag of a region: a black flag, tags with its name, end tag.
_FLAG_OR_HIDDEN = re.compile(f"\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f|{_HIDDEN.pattern}")

#: Line and paragraph separators other than the newline.
_SEPARATORS = re.compile("[\u2028\u2029]")

#: Invisible characters that are meaningful next to certain neighbours.
_JOINERS, _STYLES = frozenset("\u200c\u200d"), frozenset("\ufe0e\ufe0f")

#: Unicode categories of blanks, controls, format characters, combining marks and unassigned
#: characters: a program may remove any of them before it interprets a text.
_REMOVABLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Me", "Mn", "Zl", "Zp", "Zs"})

_BRAILLE_BLANK = "\u2800"

#: The first character after Latin, Greek, Cyrillic, Armenian and Hebrew: the scripts from
#: here on use joiners and selectors in their spelling.
_JOINED_SCRIPTS = 0x0600


def essence(words: str) -> str:
    """Return the text in a form that no program's rewriting changes."""
    return unicodedata.normalize("NFC", _HIDDEN.sub("", words))


def from_first_visible(words: str) -> str:
    """Return the text from its first visible character on.

    After removing blanks and hidden characters, programs use this character to recognise
    shell commands and commands of their own.
    """
    for at, character in enumerate(words):
        if not _may_be_removed(character):
            return words[at:]
    return ""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """How one agent's program rewrites text. Without arguments it changes nothing."""

    tab: str = "\t"  #: replaces a tab
    trims: bool = False  #: removes blanks at the end
    strips: bool = False  #: removes hidden characters that have no meaning in their position
    splits: bool = False  #: turns line and paragraph separators into newlines
    composes: bool = False  #: composes a letter and its accents into one character
    #: Characters for which it asks the user to review the text; they are not typed.
    reviews: re.Pattern[str] | None = None

    def typed(self, words: str) -> str:
        """Return what to type so that the program accepts the text at the first Enter."""
        return self.reviews.sub("", words) if self.reviews else words

    def rewritten(self, words: str) -> str:
        """Return the text as the program passes it to its model."""
        words = words.replace("\t", self.tab)
        if self.strips:
            words = _stripped(words)
        if self.splits:
            words = _SEPARATORS.sub("\n", words)
        if self.composes:
            words = unicodedata.normalize("NFC", words)
        return words.rstrip() if self.trims else words

    def changes(self, words: str) -> str:
        """Describe what the program changes in the text, apart from final newlines."""
        visible = _stripped(words) if self.strips else words
        hidden = len(words) - len(visible)
        changes = {
            f"tabs become {len(self.tab)} blanks": self.tab != "\t" and "\t" in words.rstrip(),
            f"{_count(hidden, 'invisible character')} removed": hidden,
            "line separators become newlines": self.splits and _SEPARATORS.search(words),
            "letters and their accents become one character": self.composes
            and not unicodedata.is_normalized("NFC", visible),
            "blanks at the end are removed": self.trims
            and words.rstrip("\n") != words.rstrip(),
        }
        return "; ".join(change for change, is_made in changes.items() if is_made)


#: The rewriting of most programs: they leave the text unchanged.
EXACT = Rewriting()


def _may_be_removed(character: str) -> bool:
    return (
        unicodedata.category(character) in _REMOVABLE
        or character == _BRAILLE_BLANK
        or _HIDDEN.match(character) is not None
    )


def _stripped(words: str) -> str:
    """Return the text without the hidden characters that have no meaning in their position."""

    def kept(match: re.Match[str]) -> str:
        is_flag = len(match[0]) > 1
        return match[0] if is_flag or _has_meaning(words, match.start()) else ""

    return _FLAG_OR_HIDDEN.sub(kept, words)


def _has_meaning(words: str, at: int) -> bool:
    """Return whether a hidden character belongs to an emoji or to the spelling of a word."""
    hidden, before = words[at], words[at - 1 : at]
    after = words[at + 1 : at + 2]
    if hidden in _STYLES:
        return _is_symbol(before) or after == "\u20e3"
    if hidden in _JOINERS:
        return _joins(before, after)
    same_script = 0x1780 <= ord(hidden) <= 0x180F and hidden != "\u180e"  # noqa: PLR2004
    return bool(same_script and before and ord(before) >> 8 == ord(hidden) >> 8)


def _joins(before: str, after: str) -> bool:
    if _is_symbol(before) or before in _STYLES:
        return _is_symbol(after)
    return all(
        each and ord(each) >= _JOINED_SCRIPTS and each.isprintable() and not _is_symbol(each)
        for each in (before, after)
    )


def _is_symbol(character: str) -> bool:
    """Return whether a character is a pictograph or a modifier of one."""
    return bool(character) and unicodedata.category(character) in {"So", "Sk"}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun} is" if number == 1 else f"{number} {noun}s are"
