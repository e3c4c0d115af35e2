"""Names that must not be mistaken for another speaker's.

In a relay each answer stands under a name. A name that looks like the person's, Rookery's or
another session's would let one session speak as another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rookery.model.confusables import looks_like
from rookery.model.errors import BadInput
from rookery.model.names import RESERVED, checked

#: Where one word of a name ends: at punctuation, at figures, before a capital letter.
_BETWEEN_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")


def checked_alias(alias: str, *, others: Iterable[str]) -> str:
    """Return an alias if a session may be called so in a relay. Raises ``BadInput``.

    ``others`` are the names of all other live sessions and of the relay's other members.
    """
    checked(alias)
    words = [alias, *_BETWEEN_WORDS.split(alias)]
    if any(looks_like(word, each) for word in words for each in RESERVED):
        raise BadInput(f"the alias {alias!r} could be taken for a person or for Rookery.")
    if any(looks_like(alias, other) for other in others):
        raise BadInput(f"the alias {alias!r} could be taken for another session.")
    return alias
