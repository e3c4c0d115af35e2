"""Transliterate text to ASCII letters, so that a session name can be made from it."""

from __future__ import annotations

import unicodedata

#: Cyrillic and Greek letters that become one ASCII letter.
_ONE = {
    "абвгдезийклмнопрстуфыэіїєґ": "abvgdeziiklmnoprstufyeiieg",
    "αβγδεζηικλμνξοπρσςτυφω": "avgdeziiklmnxoprsstyfo",
}

#: Letters that become several or none, and Latin letters that have no decomposition.
_SEVERAL = {
    "\u0436": "zh",
    "\u0445": "kh",
    "\u0446": "ts",
    "\u0447": "ch",
    "\u0448": "sh",
    "\u0449": "shch",
    "\u044e": "yu",
    "\u044f": "ya",
    "\u044a": "",
    "\u044c": "",
    "\u03b8": "th",
    "\u03c7": "ch",
    "\u03c8": "ps",
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "\u0131": "i",
}

_LETTERS = str.maketrans(
    _SEVERAL
    | {
        letter: latin
        for alphabet, all_latin in _ONE.items()
        for letter, latin in zip(alphabet, all_latin, strict=True)
    }
)


def transliterated(text: str) -> str:
    """Return a text in lower case, with its letters replaced by ASCII ones where possible.

    Accents are removed. Scripts without a simple transliteration, such as Chinese, stay.
    """
    letters = unicodedata.normalize("NFKC", text).lower().translate(_LETTERS)
    plain = unicodedata.normalize("NFKD", letters).translate(_LETTERS)
    return "".join(each for each in plain if not unicodedata.combining(each))
