"""Word what became of the answer to a request."""

from __future__ import annotations

from rookery.client.permissions import RequestInfo


def is_undelivered(request: RequestInfo) -> bool:
    """Return whether the answer to a request did not reach its agent."""
    return request.outcome in {"open", "gone"}


def delivery_problem(request: RequestInfo) -> str:
    """Return why an answer did not reach its agent, or may not have; empty if it has."""
    if is_undelivered(request):
        return f"the answer was not delivered: {request.reason}."
    if request.delivery == "due":
        return "it is not known yet whether the answer was taken; check again."
    return ""


def given_answers(request: RequestInfo) -> str:
    """Return the answers that were given, as one text; it is raw."""
    return "; ".join(", ".join(each) for each in request.answers.values())
