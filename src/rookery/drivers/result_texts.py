"""Cut what tools return and change to the length that is stored."""

from __future__ import annotations

from rookery.model.blocks import MAX_TEXT_CHARACTERS
from rookery.model.short_texts import shortened

#: Characters that are kept of a result or a diff. With the note about the rest it has still
#: room in a block, where a second cut would replace the note.
MAX_RESULT_CHARACTERS = MAX_TEXT_CHARACTERS - 100


def bounded(text: str) -> str:
    """Cut a result or a diff, and say how much is left out."""
    return shortened(text, MAX_RESULT_CHARACTERS)
