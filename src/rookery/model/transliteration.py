"""Write words of other alphabets with ASCII letters, so that a name can be made of them."""

from __future__ import annotations

import unicodedata

#: Letters of the Cyrillic and the Greek alphabet that one letter stands for.
_ONE = {
    "абвгдезийклмнопрстуфыэіїєґ": "abvgdeziiklmnoprstufyeiieg",
    "αβγδεζηικλμνξοπρσςτυφω": "avgdeziiklmnxoprsstyfo",
}

#: Letters that several stand for, or none; and Latin ones that are no letter with an accent.
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
    """Return a text in lower case, in ASCII as far as its letters have a plain counterpart.

    Accents go. Scripts that have no simple one, such as Chinese, stay as they are.
    """
    letters = unicodedata.normalize("NFKC", text).lower().translate(_LETTERS)
    plain = unicodedata.normalize("NFKD", letters).translate(_LETTERS)
    return "".join(each for each in plain if not unicodedata.combining(each))
