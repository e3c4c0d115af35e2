"""The part of the user's configuration about attaching to sessions, and its defaults."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

#: A key of tmux that a person cannot need for typing: with a modifier, or a function key.
_KEY = re.compile(r"(?:[CMS]-)+[A-Za-z0-9]|(?:[CMS]-)*F(?:1[0-2]|[1-9])")


def _check_key(key: str) -> str:
    if key and not _KEY.fullmatch(key):
        raise ValueError("it must be a key such as C-q, M-n or F9, or empty")
    return key


#: A key in tmux's notation; empty if it is off.
Key = Annotated[str, AfterValidator(_check_key)]


class AttachSettings(BaseModel):
    """Keys of a terminal that is attached to a session in Rookery's own tmux."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: Leave the session running, also within another tmux, such as C-q or F9; empty for none.
    leave_key: Key = "C-q"
    #: Switch to the next session that waits for you; empty for none.
    next_key: Key = "M-n"

    @model_validator(mode="after")
    def _are_different(self) -> Self:
        if self.leave_key and self.leave_key == self.next_key:
            raise ValueError("leave_key and next_key must be different keys")
        return self
