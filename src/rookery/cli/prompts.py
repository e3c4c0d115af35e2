"""Read the text of prompts and messages from arguments, a file or standard input."""

from __future__ import annotations

import sys
from typing import IO

from rookery.model.errors import BadInput
from rookery.model.messages import MAX_MESSAGE_BYTES


def prompt_of(words: tuple[str, ...], file: IO[bytes] | None = None) -> str:
    """Return the text that was given as arguments, in a file or on standard input."""
    if file and words:
        raise BadInput("give a text or a file, not both.")
    if file:
        return _as_text(_read_whole(file, file.name), file.name)
    if words == ("-",):
        return _as_text(_read_whole(sys.stdin.buffer, "the input"), "the input")
    # Python represents bytes that it could not decode as surrogates.
    return _as_text(" ".join(words).encode(errors="surrogateescape"), "the text")


def words_of(words: tuple[str, ...], file: IO[bytes] | None) -> str:
    """Return the text of a message. Raises ``BadInput`` if none was given."""
    if not file and not words:
        raise BadInput("give a text, --file FILE, or - to read standard input.")
    return prompt_of(words, file)


def _read_whole(file: IO[bytes], what: str) -> bytes:
    """Read a file that is small enough for a message. Raises ``BadInput``."""
    try:
        data = file.read(MAX_MESSAGE_BYTES + 1)
    except OSError as error:  # a folder, for instance
        raise BadInput(f"{what} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_MESSAGE_BYTES:
        limit = f"{MAX_MESSAGE_BYTES:,}"
        raise BadInput(f"{what} has more than {limit} bytes. Send its path instead.")
    if b"\0" in data:
        raise BadInput(f"{what} is not text: it contains a NUL character.")
    return data


def _as_text(data: bytes, what: str) -> str:
    """Decode UTF-8 whatever the locale is. Raises ``BadInput`` for binary data."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{what} is not UTF-8 text (byte {error.start}).") from error
