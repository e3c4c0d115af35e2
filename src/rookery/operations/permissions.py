"""Operations on permissions: list and answer requests, test rules, set the mode, audit."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from sqlite3 import Connection
from typing import Annotated, Any, Literal

from pydantic import Field

from rookery.agents.names import DEFAULT
from rookery.model.errors import (
    BadInput,
    CommandRefused,
    Forbidden,
    RequestAmbiguous,
    RequestUnknown,
    SessionUnknown,
)
from rookery.model.folders import named_folders
from rookery.model.names import SHOWN_NAME_CHARACTERS
from rookery.model.permissions import (
    DIALOG,
    STOP,
    Call,
    Outcome,
    Request,
    RequestId,
    Verdict,
)
from rookery.model.rules import Circumstances, Decision, decide, path_fields
from rookery.model.scopes import Need, Scope
from rookery.operations.access import find, reach
from rookery.operations.context import Caller, Context
from rookery.operations.given_answers import given_answers, listed, spoken_answers
from rookery.operations.idempotency import once
from rookery.operations.table import Nothing, Params
from rookery.operations.waiting import until
from rookery.permissions import same_dialog
from rookery.permissions.path_resolver import PathResolver
from rookery.permissions.screen_dialogs import call_of
from rookery.ports.agent import KeyDialect
from rookery.store import dialogs, families, flags, requests
from rookery.store import sessions as known
from rookery.store.flags import Mode
from rookery.store.requests import Decided


class RequestsParams(Params):
    all: bool = False


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


class TestParams(Params):
    tool: str
    input: dict[str, Any] = Field(default_factory=dict)
    agent: str = DEFAULT
    project: str = ""
    session: str = ""
    folder: str = Field("", description="that the call is made in; without, the project's")


class ModeParams(Params):
    mode: Mode


class AuditParams(Params):
    session: str = Field("", description="of this one only")
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100


@dataclass(frozen=True, slots=True)
class RequestList:
    mode: Mode
    trouble: str  #: why the rules file, as it is now, is not in force
    requests: list[Request]
    on_timeout: Literal["terminal", "deny"] = "terminal"  #: what happens at a deadline
    #: Why the daemon cannot write, so that requests may be missing here; empty if it can.
    store_trouble: str = ""


@dataclass(frozen=True, slots=True)
class Tested:
    decision: Decision
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class SeenRequests:
    count: int


@dataclass(frozen=True, slots=True)
class InMode:
    mode: Mode


@dataclass(frozen=True, slots=True)
class Audit:
    decisions: list[Decided]


async def list_requests(
    context: Context, caller: Caller, params: RequestsParams
) -> RequestList:
    """List what is asked now; or what was asked, too."""
    rules_file = context.permissions.rules_file
    await rules_file.refresh(context.database, context.journal.clock)

    def read(db: Connection) -> RequestList:
        allowed = reach(context, db, caller, Need.READ)
        found = requests.listed(db, limit=1_000, only_open=not params.all)
        seen = [
            _with_ways(context, db, each)
            for each in found
            if allowed is None or each.session in allowed
        ]
        on_timeout = context.settings.permissions.on_timeout
        trouble = context.database.trouble
        return RequestList(flags.mode(db), rules_file.problem, seen, on_timeout, trouble)

    return await context.database.read(read)


def _with_ways(context: Context, db: Connection, request: Request) -> Request:
    """Add whether free text is accepted: not every agent's own dialog takes it."""
    if not request.by_keys or not request.questions:
        return request
    free = {each.text: (f"not {' '.join(each.options)}",) for each in request.questions}
    keys = _keys_of(context, db, request)
    takes_text = keys is not None and keys.takes(call_of(request), free)
    return replace(request, takes_text=takes_text)


async def answer(context: Context, caller: Caller, params: PermissionAnswerParams) -> Request:
    """Answer what an agent asks. The first answer is the one."""

    def write(db: Connection) -> Request:
        request = _find(context, db, caller, params.permission)
        _require_may_answer(context, db, caller, request)
        keys = _keys_of(context, db, request)
        verdict = _verdict(request, params, keys=keys, by=caller.name)
        context.permissions.answer(db, request, verdict)
        if caller.identity.scope is not Scope.SESSION:
            same_dialog.note_seen(db, request)
        return _noted(requests.get(db, request.id), keys, params)

    return await once(context, caller, Request, write)


#: The note when a call cannot be allowed for its session: other calls look the same.
ONCE_ONLY = (
    "It is allowed this once only, because the call was not told exactly or not as a whole,"
    " and other calls would look the same."
)


def _keys_of(context: Context, db: Connection, request: Request) -> KeyDialect | None:
    """Return the key dialect of a request's agent; ``None`` if keys answer no dialog of it."""
    agent = context.agents.get(known.get(db, request.session).agent)
    return agent.screen.keys if agent and agent.screen else None


def _noted(
    request: Request, keys: KeyDialect | None, params: PermissionAnswerParams
) -> Request:
    """Add what the person must know about the effect of the answer."""
    if params.for_session and not request.is_exact:
        return replace(request, note=ONCE_ONLY)
    is_lost = request.by_keys and request.outcome is Outcome.DENIED and request.reason
    if not is_lost or keys is None:
        return request
    return replace(request, note=keys.reason_note(call_of(request)))


async def show_request(context: Context, caller: Caller, params: OneParams) -> Request:
    """Show one request; or wait until an answer by keys is seen to have taken effect."""

    def read(db: Connection) -> Request:
        request = requests.get(db, RequestId(params.permission))
        allowed = reach(context, db, caller, Need.READ)
        if allowed is not None and request.session not in allowed:
            raise RequestUnknown(f"{params.permission!r}.")
        return _with_ways(context, db, request)

    def is_delivered(db: Connection) -> bool:
        return read(db).delivery != "due"

    session = (await context.database.read(read)).session
    if params.timeout:
        await until(context, caller, is_delivered, params.timeout, sessions=[session])
    return await context.database.read(read)


async def answer_question(context: Context, caller: Caller, params: WordsParams) -> Request:
    """Answer a question in words, as one who was told of it or who started the session."""

    def write(db: Connection) -> Request:
        request = requests.get(db, RequestId(params.permission))
        _require_told(context, db, caller, request)
        _require_asker(db, request, params.session)
        keys = _keys_of(context, db, request)
        answers = spoken_answers(request, params.words)
        _require_keys(request, keys, answers)
        verdict = Verdict(Outcome.ANSWERED, caller.name, answers=answers)
        context.permissions.answer(db, request, verdict)
        return requests.get(db, request.id)

    return await once(context, caller, Request, write)


def _require_asker(db: Connection, request: Request, word: str) -> None:
    """Refuse an answer if another session asks the question. Raises ``BadInput``."""
    try:
        if word:
            known.resolve(db, word, among={request.session})
    except SessionUnknown:
        raise BadInput(
            f"{request.id!r} is not a question of {word[:SHOWN_NAME_CHARACTERS]}."
        ) from None


def _require_told(context: Context, db: Connection, caller: Caller, request: Request) -> None:
    """Refuse a caller that may not answer a question. Raises ``Forbidden`` or ``BadInput``."""
    if request.kind != "question" or request.tool == DIALOG:
        raise BadInput("it is not a question of an agent; a person must allow or deny it.")
    own = caller.identity.session
    if caller.identity.scope is not Scope.SESSION or own is None:
        return
    if own == request.session:
        raise Forbidden("a session does not answer its own questions.")
    if request.tool == STOP:
        _require_may_answer(context, db, caller, request)  # this question is for the person
        return
    is_above = request.session in families.descendants(db, own)
    if not is_above and not dialogs.was_told(db, request.id, own):
        raise Forbidden("only a session that was told of the question answers it.")


async def see_missed(context: Context, caller: Caller, params: SeenParams) -> SeenRequests:
    """Note that a person has seen which requests were not answered in time."""

    def write(db: Connection) -> SeenRequests:
        return SeenRequests(dialogs.see(db, params.requests))

    return await once(context, caller, SeenRequests, write)


def _find(context: Context, db: Connection, caller: Caller, word: str) -> Request:
    """Return the request that ``word`` names: its id, or the session that asks for it alone.

    Raises ``RequestAmbiguous`` if the session asks for several different things: it is not
    known which of them the caller has seen.
    """
    allowed = reach(context, db, caller, Need.DECIDE)
    with suppress(RequestUnknown):
        request = requests.get(db, RequestId(word))
        if allowed is None or request.session in allowed:
            return request
    try:
        session = find(context, db, caller, word, Need.DECIDE)
    except SessionUnknown:
        raise RequestUnknown(f"{word!r}. See them with:  rookery permissions") from None
    params = requests.open_of(db, session.id)
    if not params:
        raise RequestUnknown(f"{session.name}: it asks for nothing now.")
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
        raise Forbidden("sessions answer no requests (permissions.parents_may_answer).")
    if request.session not in families.descendants(db, caller.identity.session):
        raise Forbidden("a session answers at most for those that it started.")


def _verdict(
    request: Request, params: PermissionAnswerParams, *, keys: KeyDialect | None, by: str
) -> Verdict:
    is_dialog = request.tool == DIALOG
    if is_dialog and request.input.get("is_cut") and params.decision != "deny":
        raise CommandRefused(
            "its screen shows only a part of what it asks, and no hook has told the rest."
            " Look at all of it and answer there:  rookery attach NAME"
        )
    if params.decision == "answer":
        if request.kind == "permission" and not is_dialog:
            raise BadInput("it asks for permission: allow or deny it.")
        answers = given_answers(request, params.answers, own_words=params.own_words)
        _require_keys(request, keys, answers)
        return Verdict(Outcome.ANSWERED, by, answers=answers)
    if is_dialog and request.kind == "question":
        raise BadInput(f"it asks a question; choose one of: {listed(request.questions[0])}")
    if params.decision == "deny":
        return Verdict(Outcome.DENIED, by, params.reason)
    if request.kind == "question":
        raise BadInput("it asks a question; answer it:  rookery answer NAME WORDS")
    return Verdict(Outcome.ALLOWED, by, for_session=params.for_session and request.is_exact)


def _require_keys(
    request: Request, keys: KeyDialect | None, answers: Mapping[str, tuple[str, ...]]
) -> None:
    """Refuse an answer that keys cannot give. Raises ``CommandRefused``."""
    if not request.by_keys or (keys and keys.takes(call_of(request), answers)):
        return
    options = "; ".join(listed(each) for each in request.questions if each.options)
    raise CommandRefused(
        f"in its own terminal it takes one of its options: {options}. For free text:"
        " rookery attach NAME"
        if options
        else "it cannot be answered from here; use:  rookery attach NAME"
    )


#: The reason that is given for a call that no rule matches.
NO_RULE = "No rule matches: the agent's own permission mode decides whether it asks."


async def test_rules(context: Context, caller: Caller, params: TestParams) -> Tested:
    """Say which rule would decide about a call, without making it."""
    rules_file = context.permissions.rules_file
    await rules_file.refresh(context.database, context.journal.clock)
    fields = path_fields(rules_file.rules)
    call = Call(params.tool, params.input, folder=params.folder or params.project)
    paths = PathResolver()
    if params.folder or named_folders(params.input):
        call = await paths.resolve_folders(call, folder=call.folder)
    call = await paths.resolve(call, folder=call.folder, fields=fields)
    where = await context.database.read(partial(_circumstances, params=params))
    rule = decide(rules_file.rules, call, where)
    if rule is None:
        return Tested("ask", "", NO_RULE)
    return Tested(rule.decision, rule.name, rule.reason)


def _circumstances(db: Connection, params: TestParams) -> Circumstances:
    """Return the circumstances of a tested call, with a live session's ancestors."""
    where = Circumstances(params.agent, params.project, params.session)
    session = known.called(db, params.session)
    if session is None:
        return where
    found = families.circumstances(db, session)
    return replace(where, ancestors=found.ancestors, is_named=found.is_named)


async def show_mode(context: Context, caller: Caller, params: Nothing) -> InMode:
    """Say who asks for permissions: each agent in its terminal, or Rookery."""
    return InMode(await context.database.read(flags.mode))


async def set_mode(context: Context, caller: Caller, params: ModeParams) -> InMode:
    """Have each agent ask in its own terminal (local), or Rookery ask (remote)."""

    def write(db: Connection) -> InMode:
        flags.set_mode(db, params.mode)
        return InMode(params.mode)

    return await once(context, caller, InMode, write)


async def audit(context: Context, caller: Caller, params: AuditParams) -> Audit:
    """List what was decided about tool calls: by whom or what, of what, when."""

    def read(db: Connection) -> Audit:
        session = known.resolve(db, params.session).id if params.session else None
        return Audit(requests.decided(db, limit=params.limit, session=session))

    return await context.database.read(read)
