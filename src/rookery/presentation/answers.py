"""Word what became of the answer to a request."""

from __future__ import annotations

from rookery.client.permissions import RequestInfo


def is_undelivered(request: RequestInfo) -> bool:
    """Return whether the answer to a request did not reach its agent."""
    return request.outcome in {"open", "gone"} and not _is_unsure(request)


def _is_unsure(request: RequestInfo) -> bool:
    """Return whether keys were pressed and the session ended before they had an effect."""
    return request.outcome == "gone" and request.delivery == "pressed"


def delivery_problem(request: RequestInfo) -> str:
    """Return why an answer did not reach its agent, or may not have; empty if it has."""
    if _is_unsure(request):
        return f"the answer may have taken effect: {request.reason}."
    if is_undelivered(request):
        return f"the answer was not delivered: {request.reason}."
    if request.delivery == "due":
        return "it is not known yet whether the answer was taken; check again."
    return ""


def answer_words(request: RequestInfo) -> str:
    """Return what to type after ``rookery answer ID``: an option's number, or free text."""
    if len(request.questions) > 1:
        return " ".join(f"ANSWER{number}" for number in range(1, len(request.questions) + 1))
    return "NUMBER" if request.questions and request.questions[0].options else "WORDS"


def numbered_options(request: RequestInfo) -> str:
    """Return the options of a request with one question, in one line.

    The text may contain control characters.
    """
    if len(request.questions) != 1:
        return ""
    options = enumerate(request.questions[0].options, 1)
    return ", ".join(f"{number}. {' '.join(each.split())}" for number, each in options)


def given_answers(request: RequestInfo) -> str:
    """Return the answers that were given, as one text.

    The text may contain control characters.
    """
    return "; ".join(", ".join(each) for each in request.answers.values())
