"""Choose the option of a permission request that says what was decided. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
)

from rookery.drivers.acp.tools import NamedCall
from rookery.drivers.commands import AgentAnswer

#: A verdict is for one call, so the agent must not take it for others: ``allow_always`` is
#: never chosen. A refusal for ever refuses at least this call.
_ALLOWING = ("allow_once",)
_REFUSING = ("reject_once", "reject_always")


def withdrawn() -> RequestPermissionResponse:
    """Answer that the turn was cancelled before a decision."""
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def respond(
    options: Sequence[PermissionOption], answer: AgentAnswer, use: NamedCall
) -> RequestPermissionResponse:
    """Return the response for an answer.

    Without an option that says the same, the call is refused.
    """
    option = _chosen(options, answer) if answer.allow else None
    if option is None and answer.allow and not _asks_questions(use):
        option = _first(options, _ALLOWING)
    option = option or _first(options, _REFUSING)
    if option is None:
        return withdrawn()
    outcome = AllowedOutcome(outcome="selected", option_id=option.option_id)
    return RequestPermissionResponse(outcome=outcome)


def is_allowing(options: Sequence[PermissionOption], given: RequestPermissionResponse) -> bool:
    """Return whether a response lets the call run."""
    chosen = getattr(given.outcome, "option_id", None)
    return any(each.option_id == chosen and each.kind in _ALLOWING for each in options)


def is_unasked(use: NamedCall, patterns: Iterable[str]) -> bool:
    """Return whether a tool is allowed without asking."""
    return any(fnmatchcase(use.tool, pattern) for pattern in patterns)


def _asks_questions(use: NamedCall) -> bool:
    return isinstance(use.input.get("questions"), list)


def _chosen(
    options: Sequence[PermissionOption], answer: AgentAnswer
) -> PermissionOption | None:
    """Return the option that has the name of the answer to a question."""
    answers: Mapping[str, Any] = answer.answers
    given = {text for texts in answers.values() for text in texts}
    allowing = (each for each in options if each.kind in _ALLOWING)
    return next((each for each in allowing if each.name in given), None)


def _first(
    options: Sequence[PermissionOption], kinds: Sequence[str]
) -> PermissionOption | None:
    found = (each for kind in kinds for each in options if each.kind == kind)
    return next(found, None)
