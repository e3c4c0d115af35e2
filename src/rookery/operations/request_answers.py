"""Make a verdict of the answer to a request, if its agent can take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Annotated, Literal

from pydantic import Field

from rookery.model.errors import BadInput, CommandRefused
from rookery.model.permissions import DIALOG, Outcome, Request, Verdict
from rookery.model.sessions import ACP
from rookery.operations.answer_parsing import given_answers, how_to_answer, listed
from rookery.operations.context import Context
from rookery.operations.operation import Params
from rookery.permissions.screen_dialogs import call_of
from rookery.ports.agent import KeyDialect
from rookery.store import sessions as stored_sessions


class PermissionAnswerParams(Params):
    permission: str = Field(
        description="the id of a request, or the session that asks for it alone"
    )
    decision: Literal["allow", "deny", "answer"]
    for_session: bool = False
    reason: Annotated[str, Field(max_length=10_000)] = ""
    answers: tuple[Annotated[str, Field(max_length=10_000)], ...] = ()
    own_words: bool = Field(
        False, description="the answers are free text, not options of the question"
    )


#: The note when a call cannot be allowed for its session: other calls look the same.
ONCE_ONLY = (
    "It is allowed this once only, because the call was not reported exactly or completely,"
    " and other calls would look the same."
)


#: The note when a reason was given and the protocol has no field for it.
NO_REASON_OVER_ACP = (
    "Over ACP a refusal carries no reason, except for files and commands that Rookery handles."
    " If the agent needs it, send it as a message."
)

#: The note when a call was denied without a reason in the agent's own dialog.
DENIAL_ENDS_TURN = (
    "In the agent's own dialog a denial also ends its turn: tell it with a message what to do."
)


@dataclass(frozen=True, slots=True)
class AnswerTarget:
    """A request, the session that asks, and the keys that answer its dialogs."""

    request: Request
    session: str  #: its name
    keys: KeyDialect | None  #: ``None`` if keys answer no dialog of it
    has_terminal: bool
    runtime: str


def target_of(context: Context, db: Connection, request: Request) -> AnswerTarget:
    session = stored_sessions.get(db, request.session)
    agent = context.agents.get(session.agent)
    keys = agent.screen.keys if agent and agent.screen else None
    return AnswerTarget(request, session.name, keys, session.has_terminal, session.runtime)


def with_accepted_answers(context: Context, db: Connection, request: Request) -> Request:
    """Add which answers are accepted: not every agent's own dialog takes all of them."""
    target = target_of(context, db, request)
    return replace(_with_accepted(target), takes_reason=not _reason_note(target))


def _with_accepted(target: AnswerTarget) -> Request:
    request, keys = target.request, target.keys
    if not request.by_keys or not request.questions:
        return request
    if keys is None:
        return replace(request, takes_text=False, takes_options=False)
    free = {each.text: (f"not {' '.join(each.options)}",) for each in request.questions}
    options = {each.text: each.options[:1] for each in request.questions}
    call = call_of(request)
    return replace(
        request,
        takes_text=keys.can_enter(call, free),
        takes_options=keys.can_enter(call, options),
    )


def with_note(
    request: Request, target: AnswerTarget, params: PermissionAnswerParams
) -> Request:
    """Add what the person must know about the effect of the answer."""
    if params.for_session and not request.is_exact:
        return replace(request, note=ONCE_ONLY)
    if request.outcome is not Outcome.DENIED:
        return request
    note = _reason_note(target) if request.reason else ""
    ends_turn = _is_call_asked_by_keys(target) and (note or not request.reason)
    notes = (note, DENIAL_ENDS_TURN if ends_turn else "")
    return replace(request, note=" ".join(filter(None, notes)))


def _reason_note(target: AnswerTarget) -> str:
    """Return a note that the agent does not get the reason of a denial; empty if it does."""
    if target.runtime == ACP:
        return NO_REASON_OVER_ACP
    if not target.request.by_keys or target.keys is None:
        return ""
    return target.keys.reason_note(call_of(target.request))


def _is_call_asked_by_keys(target: AnswerTarget) -> bool:
    """Return whether keys answer a request about a call, not an unknown dialog."""
    request = target.request
    is_call = request.kind == "permission" and request.tool != DIALOG
    return is_call and request.by_keys and target.keys is not None


def with_end_note(db: Connection, request: Request) -> Request:
    """Add that the session has ended since an answer by keys: the answer may have ended it."""
    session = stored_sessions.get(db, request.session)
    if request.delivery != "pressed" or not session.status.is_over:
        return request
    return replace(request, note=f"{session.name} ended after this answer.")


def verdict_of(target: AnswerTarget, params: PermissionAnswerParams, *, by: str) -> Verdict:
    """Return the verdict that an answer stands for. Raises ``CommandRefused``."""
    request = target.request
    is_dialog = request.tool == DIALOG
    require_reach(target)
    if is_dialog and request.input.get("is_cut") and params.decision != "deny":
        raise CommandRefused(
            "Its screen shows only a part of the request, and no hook has reported the rest."
            f" Read and answer it there:  rookery attach {target.session}"
        )
    if params.decision == "answer":
        if request.kind == "permission" and not is_dialog:
            raise BadInput("it asks for permission: allow or deny it.")
        accepting = _with_accepted(target)
        answers = given_answers(accepting, params.answers, own_words=params.own_words)
        require_keys(target, answers)
        return Verdict(Outcome.ANSWERED, by, answers=answers)
    if is_dialog and request.kind == "question":
        raise BadInput(f"it asks a question; choose one of: {how_to_answer(request)}")
    if params.decision == "deny":
        return Verdict(Outcome.DENIED, by, params.reason)
    if request.kind == "question":
        raise BadInput(f"it asks a question; answer it:  {how_to_answer(request)}")
    return Verdict(Outcome.ALLOWED, by, for_session=params.for_session and request.is_exact)


def require_reach(target: AnswerTarget) -> None:
    """Refuse an answer by keys to a session without a terminal. Raises ``CommandRefused``."""
    if target.request.by_keys and not target.has_terminal:
        raise CommandRefused(
            f"{target.session} asks in a terminal that Rookery cannot reach; answer it where it"
            " runs. To be asked by Rookery from now on:  rookery mode remote"
        )


def require_keys(target: AnswerTarget, answers: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse an answer that keys cannot give. Raises ``CommandRefused``."""
    request, keys, name = target.request, target.keys, target.session
    if not request.by_keys or (keys and keys.can_enter(call_of(request), answers)):
        return
    options = "; ".join(listed(each) for each in request.questions if each.options)
    if len(request.questions) > 1:
        raise CommandRefused(
            "Its dialog with several questions is answered in its own terminal, key by key:"
            f"  rookery keys {name} KEY  |  rookery attach {name}"
        )
    raise CommandRefused(
        f"In its own terminal it takes one of its options: {options}. For free text:"
        f" rookery attach {name}"
        if options
        else f"it can only be answered in its terminal:  rookery attach {name}"
    )
