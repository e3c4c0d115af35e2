"""Check the aliases of relay members.

A relay shows each answer under its author's name. A name that looks like the person's,
Rookery's or another session's would let one session impersonate another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rookery.model.confusables import looks_like
from rookery.model.errors import BadInput
from rookery.model.names import RESERVED, checked

#: Splits a name into words: at punctuation, and before a capital letter.
_BETWEEN_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")


def checked_alias(alias: str, *, others: Iterable[str]) -> str:
    """Return the alias if a relay member may use it. Raises ``BadInput``.

    ``others`` are the names of all other live sessions and of the relay's other members.
    """
    checked(alias)
    words = [alias, *_BETWEEN_WORDS.split(alias)]
    if any(looks_like(word, each) for word in words for each in RESERVED):
        raise BadInput(f"the alias {alias!r} could be taken for a person or for Rookery.")
    if any(looks_like(alias, other) for other in others):
        raise BadInput(f"the alias {alias!r} could be taken for another session.")
    return alias
