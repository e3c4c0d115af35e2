"""The tags of sessions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rookery.model.errors import BadInput
from rookery.model.names import SHOWN_NAME_CHARACTERS

#: Tags of one session.
MAX_TAGS = 20

_TAG = re.compile(r"[^\W_][\w.:/-]{0,39}")


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags in order, each once. Raises ``BadInput`` for a word that is no tag."""
    unique = tuple(sorted(set(tags)))
    for tag in unique:
        if not _TAG.fullmatch(tag):
            raise BadInput(
                f"{tag[:SHOWN_NAME_CHARACTERS]!r} is not a valid tag. A tag has at most 40"
                " letters, digits and '_', '.', ':', '/', '-', and begins with a letter or a"
                " digit."
            )
    if len(unique) > MAX_TAGS:
        raise BadInput(f"a session has at most {MAX_TAGS} tags.")
    return unique
