"""The error codes of JSON-RPC: those of its specification, and those of Rookery's errors."""

from __future__ import annotations

from collections.abc import Mapping

from rookery.api.error_reports import UNENCODABLE, ErrorReport, report_on
from rookery.model.errors import BadInput

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

#: The meaning of each code that the specification of JSON-RPC defines.
STANDARD_ERRORS: Mapping[int, str] = {
    PARSE_ERROR: "the body is not JSON",
    INVALID_REQUEST: "a value is not a call, or a batch is empty or too large",
    METHOD_NOT_FOUND: "there is no such method",
    INVALID_PARAMS: "the parameters are not valid",
    INTERNAL_ERROR: "the daemon failed; its log says more",
}

#: The code and its meaning for each HTTP status that the same error has on ``/v1``.
SERVER_ERRORS: Mapping[int, tuple[int, str]] = {
    400: (-32000, "the command cannot be carried out"),
    401: (-32001, "the token is no longer valid"),
    403: (-32003, "the caller may not do this"),
    404: (-32004, "there is no such session, message, request, relay or token"),
    409: (-32009, "the present state does not allow it, or the key is of another command"),
    429: (-32029, "a limit is reached"),
    503: (-32053, "the daemon cannot do it now: it stops, or its disk or tmux does not work"),
    504: (-32054, "timed out; nothing was stopped"),
}


class RpcError(Exception):
    """An error as a reply of JSON-RPC describes it."""

    def __init__(self, code: int, report: ErrorReport) -> None:
        super().__init__(report.message)
        self.code = code
        self.report = report

    def as_json(self) -> dict[str, object]:
        """Return the error; ``data`` is what ``/v1`` answers."""
        data = self.report.as_json()
        return {"code": self.code, "message": self.report.message, "data": data}


def refusal(code: int, why: str) -> RpcError:
    """Return an error about the form of a request."""
    return RpcError(code, report_on(BadInput(why)))


def error_of(error: Exception) -> RpcError:
    """Return what a caller is told of an error that a method raised."""
    if isinstance(error, RpcError):
        return error
    report = report_on(error)
    if isinstance(error, (BadInput, *UNENCODABLE)):
        return RpcError(INVALID_PARAMS, report)
    code, _ = SERVER_ERRORS.get(report.status, (INTERNAL_ERROR, ""))
    return RpcError(code, report)
