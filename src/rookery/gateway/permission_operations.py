"""What can be asked of permissions: what waits, what to answer, who asks, what was decided."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Annotated, Any, Literal

from pydantic import Field

from rookery.gateway.table import (
    Asked,
    Caller,
    House,
    Nothing,
    Operation,
    find,
    once,
    reach,
)
from rookery.model.errors import (
    BadInput,
    CommandRefused,
    Forbidden,
    RequestUnknown,
    SessionUnknown,
)
from rookery.model.names import SHOWN
from rookery.model.permissions import Call, Outcome, Request, RequestId, Verdict
from rookery.model.rules import Circumstances, Decision, decide, path_fields
from rookery.model.scopes import Need, Scope
from rookery.path_resolver import PathResolver
from rookery.store import families, requests, switches
from rookery.store import sessions as known
from rookery.store.requests import Decided
from rookery.store.switches import Mode

ONE = "/v1/permissions/{permission}"

#: Digits of a number that could still be that of an option.
_DIGITS = 9


class ListAsked(Asked):
    all: bool = False


class AnswerAsked(Asked):
    permission: str = Field(description="the id of a request, or the session that asks")
    decision: Literal["allow", "deny", "answer"]
    for_session: bool = False
    reason: Annotated[str, Field(max_length=10_000)] = ""
    answers: tuple[Annotated[str, Field(max_length=10_000)], ...] = ()
    own_words: bool = Field(
        False, description="the answers are words, none is the number of an option"
    )


class TestAsked(Asked):
    tool: str
    input: dict[str, Any] = Field(default_factory=dict)
    agent: str = "claude"
    project: str = ""
    session: str = ""


class ModeAsked(Asked):
    mode: Mode


class AuditAsked(Asked):
    session: str = Field("", description="of this one only")
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100


@dataclass(frozen=True, slots=True)
class RequestList:
    mode: Mode
    trouble: str  #: why the rules, as they are written now, do not hold
    requests: list[Request]


@dataclass(frozen=True, slots=True)
class Tested:
    decision: Decision
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class InMode:
    mode: Mode


@dataclass(frozen=True, slots=True)
class Audit:
    decisions: list[Decided]


async def list_requests(house: House, caller: Caller, asked: ListAsked) -> RequestList:
    """List what is asked now; or what was asked, too."""
    rulebook = house.permissions.rulebook
    await rulebook.refresh(house.database, house.journal.clock)

    def read(db: Connection) -> RequestList:
        allowed = reach(house, db, caller, Need.READ)
        found = requests.listed(db, limit=1_000, only_open=not asked.all)
        seen = [each for each in found if allowed is None or each.session in allowed]
        return RequestList(switches.mode(db), rulebook.problem, seen)

    return await house.database.read(read)


async def answer(house: House, caller: Caller, asked: AnswerAsked) -> Request:
    """Answer what an agent asks. The first answer is the one."""

    def write(db: Connection) -> Request:
        request = _find(house, db, caller, asked.permission)
        _require_a_judge(house, db, caller, request)
        house.permissions.answer(db, request, _verdict(request, asked, by=caller.name))
        return requests.get(db, request.id)

    return await once(house, caller, Request, write)


def _find(house: House, db: Connection, caller: Caller, word: str) -> Request:
    """Find what is meant: a request, or what a session has been asking for longest."""
    allowed = reach(house, db, caller, Need.DECIDE)
    with suppress(RequestUnknown):
        request = requests.get(db, RequestId(word))
        if allowed is None or request.session in allowed:
            return request
    try:
        session = find(house, db, caller, word, Need.DECIDE)
    except SessionUnknown:
        raise RequestUnknown(f"{word!r}. See them with:  rookery permissions") from None
    if asked := requests.open_of(db, session.id):
        return asked[0]
    raise RequestUnknown(f"{session.name}: it asks for nothing now.")


def _require_a_judge(house: House, db: Connection, caller: Caller, request: Request) -> None:
    """Let no session answer for itself or for those above it. Raises ``Forbidden``."""
    if caller.identity.scope is not Scope.SESSION or caller.identity.session is None:
        return
    if not house.settings.permissions.parents_may_answer:
        raise Forbidden("sessions answer no requests (permissions.parents_may_answer).")
    if request.session not in families.descendants(db, caller.identity.session):
        raise Forbidden("a session answers at most for those that it started.")


def _verdict(request: Request, asked: AnswerAsked, *, by: str) -> Verdict:
    if request.kind == "question" and request.by_keys:
        # No key is known that is sure to choose what is meant.
        raise CommandRefused(
            "it asks in its own terminal; answer it there (rookery attach, rookery keys)."
            " What is asked in `rookery mode remote` is answered from here."
        )
    if asked.decision == "deny":
        return Verdict(Outcome.DENIED, by, asked.reason)
    if request.kind == "permission":
        if asked.decision == "answer":
            raise BadInput("it asks for permission: allow or deny it.")
        return Verdict(Outcome.ALLOWED, by, for_session=asked.for_session)
    if asked.decision == "allow":
        raise BadInput("it asks a question; answer it:  rookery answer NAME WORDS")
    return Verdict(Outcome.ANSWERED, by, answers=_answers(request, asked))


def _answers(request: Request, asked: AnswerAsked) -> dict[str, tuple[str, ...]]:
    """Give each question its answer: an option by its name or number, or other words."""
    given, choose = asked.answers, _named if asked.own_words else chosen
    if len(request.questions) > 1 and len(given) != len(request.questions):
        raise BadInput(f"it asks {len(request.questions)} questions; answer each.")
    if not given:
        raise BadInput("an answer is missing.")
    if len(request.questions) == 1:
        (question,) = request.questions
        if len(given) > 1 and not question.takes_several:
            raise BadInput("it takes one answer; put more words in quotes.")
        return {question.text: tuple(choose(question.options, each) for each in given)}
    return {
        question.text: (choose(question.options, each),)
        for question, each in zip(request.questions, given, strict=True)
    }


def chosen(options: tuple[str, ...], given: str) -> str:
    """Take a number for that of an option: who means something else by it says so.

    Raises ``BadInput`` if there is no such option, or if another one is called like that.
    """
    named = _named(options, given)
    if not options or not given.isdecimal():
        return named
    shown = given[:_DIGITS]
    number = int(shown)
    meant = {*options[number - 1 : number], *({named} & {*options})}
    if len(meant) == 1:
        return meant.pop()
    shorts = (" ".join(each.split())[:SHOWN] for each in options)
    listed = ", ".join(f"{place}. {each}" for place, each in enumerate(shorts, 1))
    which = "may be the one or the other" if meant else "is none of the options"
    own = f"rookery answer NAME --own-words {shown}"
    raise BadInput(f"{shown} {which}: {listed}. If it is the very answer:  {own}")


def _named(options: tuple[str, ...], given: str) -> str:
    return next((each for each in options if each.lower() == given.lower()), given)


async def test_rules(house: House, caller: Caller, asked: TestAsked) -> Tested:
    """Say which rule would decide about a call, without making it."""
    rulebook = house.permissions.rulebook
    await rulebook.refresh(house.database, house.journal.clock)
    fields = path_fields(rulebook.rules)
    call = Call(asked.tool, asked.input)
    call = await PathResolver().resolve(call, folder=asked.project, fields=fields)
    where = Circumstances(asked.agent, asked.project, asked.session)
    rule = decide(rulebook.rules, call, where)
    if rule is None:
        return Tested("ask", "", "No rule matches.")
    return Tested(rule.decision, rule.name, rule.reason)


async def show_mode(house: House, caller: Caller, asked: Nothing) -> InMode:
    """Say who asks for permissions: each agent in its terminal, or Rookery."""
    return InMode(await house.database.read(switches.mode))


async def set_mode(house: House, caller: Caller, asked: ModeAsked) -> InMode:
    """Have each agent ask in its own terminal (local), or Rookery ask (remote)."""

    def write(db: Connection) -> InMode:
        switches.set_mode(db, asked.mode)
        return InMode(asked.mode)

    return await once(house, caller, InMode, write)


async def audit(house: House, caller: Caller, asked: AuditAsked) -> Audit:
    """List what was decided about tool calls: by whom or what, of what, when."""

    def read(db: Connection) -> Audit:
        session = known.resolve(db, asked.session).id if asked.session else None
        return Audit(requests.decided(db, limit=asked.limit, session=session))

    return await house.database.read(read)


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation(
        "permissions",
        Need.READ,
        "GET",
        "/v1/permissions",
        ListAsked,
        RequestList,
        list_requests,
    ),
    Operation(
        "answer_permission", Need.DECIDE, "POST", f"{ONE}/answer", AnswerAsked, Request, answer
    ),
    Operation("test_rules", Need.OWN, "POST", "/v1/rules/test", TestAsked, Tested, test_rules),
    Operation("mode", Need.READ, "GET", "/v1/mode", Nothing, InMode, show_mode),
    Operation("set_mode", Need.OWN, "POST", "/v1/mode", ModeAsked, InMode, set_mode),
    Operation("audit", Need.OWN, "GET", "/v1/audit", AuditAsked, Audit, audit),
)
