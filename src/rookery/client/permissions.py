"""Permissions: what agents ask for, and what was decided."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field, structs

from rookery.client.answers import Answer, read
from rookery.client.transport import Client


class Question(Answer, frozen=True):
    text: str = ""
    options: tuple[str, ...] = ()
    takes_several: bool = False
    descriptions: tuple[str, ...] = ()


class Request(Answer, frozen=True):
    """What an agent asks for: a permission, or the answer to questions."""

    id: str = ""
    session: str = ""
    kind: str = ""
    tool: str = ""
    input: dict[str, object] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    message: str = ""
    outcome: str = ""
    asked_at: str = ""
    deadline: str | None = None
    source: str = ""
    has_dialog: bool = True
    missed: bool = False
    delivery: str = ""
    answers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    note: str = ""
    answered_by: str = ""
    reason: str = ""

    @property
    def is_open(self) -> bool:
        return self.outcome == "open"


class RequestList(Answer, frozen=True):
    trouble: str = ""
    requests: tuple[Request, ...] = ()
    on_timeout: str = ""


class Seen(Answer, frozen=True):
    count: int = 0


class RuleTest(Answer, frozen=True):
    decision: str = ""
    rule: str = ""
    reason: str = ""


class Mode(Answer, frozen=True):
    mode: str = ""


class Decision(Answer, frozen=True):
    at: str = ""
    session: str = ""
    tool: str = ""
    input: dict[str, object] = field(default_factory=dict)
    decision: str = ""
    by: str = ""
    rule: str = ""
    reason: str = ""


class Audit(Answer, frozen=True):
    decisions: tuple[Decision, ...] = ()


class RuleTestCall(Struct, frozen=True, kw_only=True):
    """A tool call for which the rules are tried."""

    tool: str
    input: object
    agent: str
    project: str
    session: str


def list_requests(daemon: Client, *, all: bool = False) -> RequestList:  # noqa: A002 - its name
    """List what agents ask for now; with ``all`` also what is decided."""
    found = daemon.get("permissions", all=all) if all else daemon.get("permissions")
    return read(RequestList, found)


def open_requests_of(daemon: Client, session: str) -> list[Request]:
    """Return what a session, given by its id, asks for now."""
    asked = list_requests(daemon).requests
    return [each for each in asked if each.session == session and each.is_open]


def show_request(daemon: Client, request: str, *, timeout: float = 0.0) -> Request:
    """Return a request; with ``timeout`` wait until its answer has reached the agent."""
    return read(Request, daemon.get("permissions", request, timeout=timeout))


def allow_request(daemon: Client, request: str, *, for_session: bool) -> Request:
    return _decide(daemon, request, decision="allow", for_session=for_session)


def deny_request(daemon: Client, request: str, *, reason: str) -> Request:
    return _decide(daemon, request, decision="deny", reason=reason)


def answer_request(
    daemon: Client, request: str, answers: Iterable[str], *, own_words: bool
) -> Request:
    """Answer questions by options, or with ``own_words`` by free text."""
    given = list(answers)
    return _decide(daemon, request, decision="answer", answers=given, own_words=own_words)


def _decide(daemon: Client, request: str, **verdict: object) -> Request:
    return read(Request, daemon.post("permissions", request, "answer", **verdict))


def mark_seen(daemon: Client, requests: Iterable[str]) -> Seen:
    """Tell the daemon that the user has seen which requests were not answered in time."""
    return read(Seen, daemon.post("permissions", "seen", requests=list(requests)))


def run_rule_test(daemon: Client, call: RuleTestCall) -> RuleTest:
    return read(RuleTest, daemon.post("rules", "test", **structs.asdict(call)))


def show_mode(daemon: Client) -> Mode:
    return read(Mode, daemon.get("mode"))


def set_mode(daemon: Client, mode: str) -> Mode:
    return read(Mode, daemon.post("mode", mode=mode))


def show_audit(daemon: Client, *, session: str, limit: int) -> Audit:
    return read(Audit, daemon.get("audit", session=session, limit=limit))
