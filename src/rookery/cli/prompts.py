"""Read the text of prompts and messages from arguments, a file or standard input."""

from __future__ import annotations

import sys
from typing import IO

from rookery.model.errors import BadInput


def prompt_of(words: tuple[str, ...], file: IO[bytes] | None = None) -> str:
    """Return the text that was given as arguments, in a file or on standard input."""
    if file and words:
        raise BadInput("give a prompt or a file, not both.")
    if file:
        return as_text(file.read(), file.name)
    if words == ("-",):
        return as_text(sys.stdin.buffer.read(), "the input")
    # Python represents bytes that it could not decode as surrogates.
    return as_text(" ".join(words).encode(errors="surrogateescape"), "the text")


def as_text(data: bytes, what: str) -> str:
    """Decode UTF-8 whatever the locale is. Raises ``BadInput`` for binary data."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{what} is not UTF-8 text (byte {error.start}).") from error
