"""The message to a session that waits for another, when that one needs input."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.model.listeners import (
    NEEDS_ANSWER,
    NEEDS_DECISION,
    NEEDS_PERSON,
    NEEDS_PERSON_TO_ANSWER,
    news,
)
from rookery.model.permissions import STOP, Request, RequestId
from rookery.model.sessions import Session
from rookery.store import flags, requests, session_families


def need(db: Connection, caller: SessionId, target: Session, asked: facts.InputAsked) -> str:
    """Return the news that a session needs input, and who can answer it and how."""
    request = requests.find(db, RequestId(asked.request)) if asked.request else None
    template, message = NEEDS_PERSON_TO_ANSWER, asked.message
    if asked.kind == "permission":
        template = NEEDS_DECISION if _may_decide(db, caller, request) else NEEDS_PERSON
    elif request and request.tool == STOP:
        if _may_decide(db, caller, request):
            template = NEEDS_DECISION
    elif request and request.source == "hook" and _is_answerable(request):
        message = _with_options(request)
        if session_families.may_answer(db, caller, target.id):
            template = NEEDS_ANSWER
    return news(template, target, message, request=asked.request)


def _may_decide(db: Connection, caller: SessionId, request: Request | None) -> bool:
    """Return whether the caller may answer in place of the user."""
    if request is None or request.source != "hook" or not flags.may_parents_answer(db):
        return False
    return request.session in session_families.descendants(db, caller)


def _is_answerable(request: Request) -> bool:
    """Return whether text is accepted; the agent's own dialog accepts only option names."""
    return not request.by_keys or all(each.options for each in request.questions)


def _with_options(request: Request) -> str:
    """Return the questions with their options."""
    lines = []
    for question in request.questions:
        listed = ", ".join(f"{n}. {each}" for n, each in enumerate(question.options, 1))
        lines.append(f"{question.text} ({listed})" if listed else question.text)
    return " ".join(lines)
