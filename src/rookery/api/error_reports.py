"""Describe errors for callers: a status, a code for programs and a sentence for people."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic_core import PydanticSerializationError

from rookery.model import errors
from rookery.model.errors import RookeryError, StoreBroken, code_of
from rookery.store.damage import as_store_broken

#: The HTTP status of each error. An entry also covers subclasses that have no entry.
STATUS: dict[type[RookeryError], int] = {
    errors.SessionUnknown: 404,
    errors.SessionAmbiguous: 409,
    errors.SessionOver: 409,
    errors.NameTaken: 409,
    errors.KeyReused: 409,
    errors.KeysUnsure: 409,
    errors.RequestUnknown: 404,
    errors.RequestAmbiguous: 409,
    errors.RelayUnknown: 404,
    errors.MessageUnknown: 404,
    errors.TokenUnknown: 404,
    errors.TokenRevoked: 401,
    errors.RequestClosed: 409,
    errors.LimitReached: 429,
    errors.RateExceeded: 429,
    errors.BacklogFull: 429,
    errors.LandingConflict: 409,
    errors.Forbidden: 403,
    errors.CommandRefused: 400,
    errors.GitFailed: 409,
    errors.StillWorking: 504,
    errors.Occupied: 409,
    errors.StoreLost: 503,
    errors.CommitFailed: 503,
    errors.NotRunning: 503,
    errors.RuntimeFailed: 503,
    RookeryError: 500,
}

#: Raised for unpaired surrogates, and for numbers out of range.
UNENCODABLE = (PydanticSerializationError, UnicodeError, OverflowError)


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An error as every interface describes it to its callers."""

    status: int  #: of HTTP
    code: str
    message: str
    details: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        described: dict[str, object] = {"code": self.code, "message": self.message}
        return {**described, "details": dict(self.details)} if self.details else described


def report_on(error: Exception) -> ErrorReport:
    """Return the description of an error, also of an unexpected one."""
    if isinstance(error, RookeryError):
        kind = type(error)
        status = next(STATUS[each] for each in kind.__mro__ if each in STATUS)
        return ErrorReport(status, code_of(kind), str(error), error.details)
    if isinstance(error, sqlite3.Error):
        return ErrorReport(503, code_of(StoreBroken), str(as_store_broken(error)))
    if isinstance(error, UNENCODABLE):
        is_number = isinstance(error, OverflowError)
        halved = "the text is not valid Unicode: it has half of a character."
        why = error if is_number else halved
        return ErrorReport(400, "bad-input", f"Invalid input: {why}"[:300])
    # The log has the details.
    message = f"Rookery failed at this ({error!r}). See:  rookery daemon logs"
    return ErrorReport(500, "failed", message)
