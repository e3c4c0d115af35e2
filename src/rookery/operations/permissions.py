"""Operations on requests for permission: list, show and answer them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Annotated, Literal

from pydantic import Field

from rookery.model.errors import (
    BadInput,
    Forbidden,
    RequestAmbiguous,
    RequestUnknown,
    SessionUnknown,
)
from rookery.model.names import SHOWN_NAME_CHARACTERS
from rookery.model.permissions import DIALOG, STOP, Outcome, Request, RequestId, Verdict
from rookery.model.scopes import Need, Scope
from rookery.operations.access import find, reach
from rookery.operations.answer_parsing import spoken_answers
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.long_poll import until
from rookery.operations.operation import Params
from rookery.operations.request_answers import (
    PermissionAnswerParams,
    require_keys,
    target_of,
    verdict_of,
    with_accepted_answers,
    with_end_note,
    with_note,
)
from rookery.permissions import same_dialog
from rookery.permissions.screen_dialogs import call_of
from rookery.store import (
    dialogs,
    flags,
    missed_requests,
    requests,
    session_families,
    session_lookup,
)
from rookery.store.flags import Mode


class RequestsParams(Params):
    all: bool = False


class OneParams(Params):
    permission: str = Field(description="the id of a request")
    timeout: Annotated[float, Field(ge=0, le=600)] = Field(
        0.0, description="seconds to wait until its answer is seen to have taken effect"
    )


class WordsParams(Params):
    permission: str = Field(description="the id of a request that is a question")
    words: Annotated[str, Field(max_length=10_000)] = Field(
        description="an option's name or number, else free text; a line for each question"
    )
    session: str = Field("", description="that asks it; without, whichever does")


class SeenParams(Params):
    requests: tuple[str, ...] = Field(
        description="ids of requests that were not answered in time"
    )


@dataclass(frozen=True, slots=True)
class RequestList:
    mode: Mode
    trouble: str  #: why the rules file, as it is now, is not in force
    requests: list[Request]
    on_timeout: Literal["terminal", "deny"] = "terminal"  #: what happens at a deadline
    #: Why the daemon cannot write, so that requests may be missing here; empty if it can.
    store_trouble: str = ""


@dataclass(frozen=True, slots=True)
class SeenRequests:
    count: int


async def list_requests(
    context: Context, caller: Caller, params: RequestsParams
) -> RequestList:
    """List the open requests; or all of them."""
    rules_file = context.permissions.rules_file
    await rules_file.refresh(context.database, context.journal.clock)

    def read(db: Connection) -> RequestList:
        allowed = reach(context, db, caller, Need.READ)
        all_requests = requests.listed(db, limit=1_000, only_open=not params.all)
        visible = [
            with_accepted_answers(context, db, each)
            for each in all_requests
            if allowed is None or each.session in allowed
        ]
        on_timeout = context.settings.permissions.on_timeout
        trouble = context.database.trouble
        return RequestList(flags.mode(db), rules_file.problem, visible, on_timeout, trouble)

    return await context.database.read(read)


async def answer(context: Context, caller: Caller, params: PermissionAnswerParams) -> Request:
    """Answer a request. The first answer counts."""

    def write(db: Connection) -> Request:
        request = find_request(context, db, caller, params.permission)
        _require_may_answer(context, db, caller, request)
        target = target_of(context, db, request)
        verdict = verdict_of(target, params, by=caller.name)
        context.permissions.answer(db, request, verdict)
        if caller.identity.scope is not Scope.SESSION:
            same_dialog.note_seen(db, request)
        return with_note(requests.get(db, request.id), target, params)

    return await once(context, caller, Request, write)


async def show_request(context: Context, caller: Caller, params: OneParams) -> Request:
    """Show one request; or wait until an answer by keys has taken effect."""

    def read(db: Connection) -> Request:
        request = requests.get(db, RequestId(params.permission))
        if not _is_in_reach(context, db, caller, request):
            raise requests.unknown(request.id)
        return with_end_note(db, with_accepted_answers(context, db, request))

    def is_delivered(db: Connection) -> bool:
        return read(db).delivery != "due"

    session = (await context.database.read(read)).session
    if params.timeout:
        await until(context, caller, is_delivered, params.timeout, sessions=[session])
    return await context.database.read(read)


async def answer_question(context: Context, caller: Caller, params: WordsParams) -> Request:
    """Answer a question as a session that was notified of it or started its session."""

    def write(db: Connection) -> Request:
        request = requests.get(db, RequestId(params.permission))
        _require_known(context, db, caller, request)
        _require_told(context, db, caller, request)
        _require_asker(db, request, params.session)
        answers = spoken_answers(request, params.words)
        require_keys(target_of(context, db, request), answers)
        verdict = Verdict(Outcome.ANSWERED, caller.name, answers=answers)
        context.permissions.answer(db, request, verdict)
        return requests.get(db, request.id)

    return await once(context, caller, Request, write)


def _require_asker(db: Connection, request: Request, name_or_id: str) -> None:
    """Refuse an answer if another session asks the question. Raises ``BadInput``."""
    try:
        if name_or_id:
            session_lookup.resolve(db, name_or_id, among={request.session})
    except SessionUnknown:
        raise BadInput(
            f"{request.id!r} is not a question of {name_or_id[:SHOWN_NAME_CHARACTERS]}."
        ) from None


def _is_in_reach(context: Context, db: Connection, caller: Caller, request: Request) -> bool:
    allowed = reach(context, db, caller, Need.READ)
    return allowed is None or request.session in allowed


def _require_known(context: Context, db: Connection, caller: Caller, request: Request) -> None:
    """Refuse a request of a stranger as one that does not exist. Raises ``RequestUnknown``."""
    asking = caller.identity.session
    is_told = asking is not None and dialogs.was_told(db, request.id, asking)
    if not is_told and not _is_in_reach(context, db, caller, request):
        raise requests.unknown(request.id)


def _require_told(context: Context, db: Connection, caller: Caller, request: Request) -> None:
    """Refuse a caller that may not answer a question. Raises ``Forbidden`` or ``BadInput``."""
    if request.kind != "question" or request.tool == DIALOG:
        raise BadInput("it is a permission request; a person must allow or deny it.")
    calling_session = caller.identity.session
    if caller.identity.scope is not Scope.SESSION or calling_session is None:
        return
    if calling_session == request.session:
        raise Forbidden("a session may not answer its own questions.")
    if request.tool == STOP:
        _require_may_answer(context, db, caller, request)  # this question is for the person
        return
    if not session_families.may_answer(db, calling_session, request.session):
        raise Forbidden("a session may not answer the questions of its ancestors.")
    is_above = request.session in session_families.descendants(db, calling_session)
    if not is_above and not dialogs.was_told(db, request.id, calling_session):
        raise Forbidden("only a session that was notified of the question may answer it.")


async def see_missed(context: Context, caller: Caller, params: SeenParams) -> SeenRequests:
    """Record that a person has seen the requests that were not answered in time."""

    def write(db: Connection) -> SeenRequests:
        return SeenRequests(missed_requests.see(db, params.requests))

    return await once(context, caller, SeenRequests, write)


def find_request(context: Context, db: Connection, caller: Caller, name_or_id: str) -> Request:
    """Return the request with this id, or the only request of the session with this name.

    Raises ``RequestAmbiguous`` if the session asks for several different things: it is unknown
    which of them the caller has seen.
    """
    allowed = reach(context, db, caller, Need.DECIDE)
    with suppress(RequestUnknown):
        request = requests.get(db, RequestId(name_or_id))
        if allowed is None or request.session in allowed:
            return request
    try:
        session = find(context, db, caller, name_or_id, Need.DECIDE)
    except SessionUnknown:
        raise RequestUnknown(f"{name_or_id!r}. See them with:  rookery permissions") from None
    params = requests.open_of(db, session.id)
    if not params:
        raise RequestUnknown(f"of {session.name}.")
    first = params[0]
    if any((call_of(each), each.folder) != (call_of(first), first.folder) for each in params):
        raise RequestAmbiguous("; ".join(f"{each.id} ({_shown(each)})" for each in params))
    return first


def _shown(request: Request) -> str:
    return " ".join(request.message.split())[:SHOWN_NAME_CHARACTERS]


def _require_may_answer(
    context: Context, db: Connection, caller: Caller, request: Request
) -> None:
    """Refuse a session that answers for others than its descendants. Raises ``Forbidden``."""
    if caller.identity.scope is not Scope.SESSION or caller.identity.session is None:
        return
    if not context.settings.permissions.parents_may_answer:
        raise Forbidden("sessions may not answer requests (permissions.parents_may_answer).")
    if request.session not in session_families.descendants(db, caller.identity.session):
        raise Forbidden("a session may only answer for sessions that it started.")
