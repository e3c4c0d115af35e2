"""Reduce text to what it looks like: map look-alike letters of other scripts to ASCII.

The table is taken from Unicode's confusables.txt (UTS #39, version 13; © 2020 Unicode, Inc.,
https://www.unicode.org/license.txt): the single characters that look like one ASCII letter or
a colon and that compatibility decomposition leaves unchanged. A few characters that are only
similar, such as a reversed e, were added here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

_ALIKE: Mapping[str, str] = {
    ":": "\u02d0\u02f8\u0589\u05c3\u0703\u0704\u16ec\u1803\u1809\u205a\u2236\ua4fd\ua789",
    "a": "\u0251\u03b1\u0430\u13aa\u15c5\u2376\u237a\ua4ee\U000102a0\U00016f40",
    "b": (
        "\u0180\u0183\u0185\u0253\u03b2\u0431\u0432\u044c\u0463\u048d\u13cf\u13f4\u1472"
        "\u1473\u15af\u15f7\ua4d0\ua7b5\U00010282\U000102a1\U00010301"
    ),
    "c": (
        "\u00a2\u023c\u0441\u04ab\u13df\u1d04\u20a1\u2ca5\ua4da\U000102a2\U00010302"
        "\U0001043d\U0001051c\U000118e9\U000118f2\U0001f16e\U0001f74c"
    ),
    "d": (
        "\u00f0\u0111\u018c\u0256\u0257\u0501\u13a0\u13e7\u146f\u15de\u15ea\u20ab\ua4d2\ua4d3"
    ),
    "e": (
        "\u01dd\u0247\u0258\u0259\u025b\u03b5\u0435\u0454\u04bd\u04bf\u13ac\u1d07\u212e"
        "\u22ff\u2d39\ua4f0\uab32\U00010286\U000118c6\U000118ce"
    ),
    "f": (
        "\u0192\u03dd\u0584\u15b4\u1d6e\u1e9d\ua4dd\ua799\uab35\U00010287\U000102a5"
        "\U00010525\U000118c2\U0001d213"
    ),
    "g": "\u018d\u01e5\u0260\u0261\u050d\u0581\u13c0\u13f3\u1d83\ua4d6",
    "h": (
        "\u0127\u0266\u03b7\u043d\u045b\u04a3\u04bb\u04c8\u04ca\u0570\u13bb\u13c2\u13f2"
        "\u157c\u2c68\u2c8f\ua4e7\ua695\U000102cf"
    ),
    "i": (
        "\u0131\u0268\u0269\u026a\u03b9\u0456\u04cf\u13a5\u1d7b\u1d7c\u2373\u2378\ua647"
        "\U000118c3"
    ),
    "j": "\u0249\u029d\u03f3\u0458\u13ab\u148d\ua4d9",
    "k": (
        "\u0138\u0199\u03ba\u043a\u049b\u049f\u13e6\u16d5\u1d0b\u20ad\u2c6a\u2c95\ua4d7"
        "\ua741\U00010518"
    ),
    "l": (
        "\u0142\u019a\u01c0\u026b\u026d\u05c0\u05d5\u05df\u0627\u0661\u0673\u06f1\u07ca"
        "\u13de\u14aa\u16c1\u2223\u23fd\u2502\u2c93\u2cd1\u2d4f\ua4e1\ua4f2\U0001028a"
        "\U00010309\U00010320\U00010443\U00010526\U000118d2\U00016f16\U00016f28"
        "\U0001d22a\U0001e8c7"
    ),
    "m": "\u03bc\u03fb\u043c\u04ce\u13b7\u15f0\u16d6\u2c99\ua4df\U000102b0\U00010311",
    "n": "\u019e\u0272\u0273\u03bd\u0578\u057c\u1d70\u2c9b\ua4e0\U0001018e\U00010513",
    "o": (
        "\u00f8\u0275\u03b8\u03bf\u03c3\u043e\u0473\u04e9\u0585\u05e1\u0647\u0665\u06be"
        "\u06c1\u06d5\u06f5\u06ff\u07c0\u0966\u09e6\u0a66\u0ae6\u0b20\u0b66\u0be6\u0c66"
        "\u0ce6\u0d20\u0d66\u0e50\u0ed0\u1010\u101d\u1040\u10ff\u12d0\u13a4\u13be\u13eb"
        "\u1d0f\u1d11\u2296\u229d\u236c\u25cb\u25cf\u25e6\u25ef\u26aa\u2c9f\u2d31\u2d41"
        "\u2d54\u3007\ua4f3\ua74b\uab3d\uab3e\U00010292\U000102ab\U0001042c\U000104ea"
        "\U00010516\U000114d0\U000118c8\U000118d5\U000118d7\U000118e0\U0001d21a"
        "\U0001f714"
    ),
    "p": "\u01a5\u03c1\u0440\u13e2\u146d\u1d7d\u2374\u2ca3\ua4d1\U00010295",
    "q": "\u02a0\u051b\u0563\u0566\u2d55",
    "r": (
        "\u024d\u027c\u027d\u027e\u027f\u0280\u0281\u0433\u044f\u0493\u13a1\u13b1\u13d2"
        "\u1587\u1d19\u1d26\u1d72\u2c85\ua4e3\uab47\uab48\U000104dc\U00016f35\U0001d216"
    ),
    "s": (
        "\u01bd\u0282\u0455\u057f\u13d5\u13da\u1d74\ua4e2\ua731\U00010296\U00010448"
        "\U000118c1\U00016f3a"
    ),
    "t": (
        "\u0167\u01ad\u0288\u03c4\u0442\u04ad\u13a2\u1d75\u20ae\u22a4\u2361\u27d9\u2c66"
        "\u2ca7\ua4d4\U00010297\U000102b1\U00010315\U00016f0a\U0001f768"
    ),
    "u": (
        "\u0289\u028b\u057d\u1200\u13cc\u144c\u1d1c\u1d7e\u222a\u22c3\ua4f4\ua79f\uab4e"
        "\uab52\U000104f6\U000118d8\U00016f42"
    ),
    "v": (
        "\u0475\u05d8\u0667\u06f7\u13d9\u142f\u1d20\u2228\u22c1\u2d38\ua4e6\ua6df"
        "\U00010197\U0001051d\U00011706\U000118c0\U00016f08\U0001d20d\U0001f708"
    ),
    "w": (
        "\u026f\u0461\u047d\u051d\u0561\u13b3\u13d4\u1d21\u20a9\ua4ea\ua761\U000114c5"
        "\U0001170a\U0001170e\U0001170f\U000118e6\U000118ef"
    ),
    "x": (
        "\u00d7\u03c7\u0445\u04b3\u1541\u157d\u166d\u166e\u16b7\u2573\u292b\u292c\u2a2f"
        "\u2a30\u2cad\u2d5d\ua4eb\uab53\U00010196\U00010290\U000102b4\U00010317"
        "\U00010322\U00010527\U000118ec"
    ),
    "y": (
        "\u00a5\u01b4\u024f\u0263\u028f\u03b3\u03c5\u0443\u04af\u04b1\u10e7\u10f8\u13a9"
        "\u13bd\u1d8c\u1eff\u2ca9\ua4ec\uab5a\U000102b2\U000118c4\U000118dc\U00016f43"
    ),
    "z": "\u01b6\u0225\u0290\u03b6\u13c3\u1d22\u1d76\ua4dc\U000102f5\U000118c9\U000118e5",
}

#: First letters of the enclosed alphabets that have no decomposition.
_ALPHABETS = (0x1F150, 0x1F170, 0x1F1E6)

_AS_LETTERS = {
    ord(like): letter for letter, all_like in _ALIKE.items() for like in all_like
} | {first + number: chr(ord("a") + number) for first in _ALPHABETS for number in range(26)}

#: Characters that Unicode classes as letters or symbols, but that render as blanks.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")

#: ASCII digits that look like letters.
_FIGURES = str.maketrans("01358", "olesb")


def is_visible(character: str) -> bool:
    """Return whether a character is not a space, an accent or a control character."""
    return unicodedata.category(character)[0] not in "CMZ" and character not in _BLANK


def skeleton(text: str) -> str:
    """Return what a text looks like: case-folded, without invisible characters, in ASCII."""
    plain = unicodedata.normalize("NFKD", text).casefold().translate(_AS_LETTERS)
    return "".join(filter(is_visible, plain))


def looks_like(one: str, other: str) -> bool:
    """Return whether two names look the same, also with digits in place of letters."""
    return _letters(one) == _letters(other)


def _letters(name: str) -> str:
    letters = skeleton(name).translate(_FIGURES).replace("i", "l")
    return letters.replace("rn", "m").replace("vv", "w")
