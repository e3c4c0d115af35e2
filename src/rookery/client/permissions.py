"""Permissions: what agents ask for, and what was decided."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field, structs

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.transport import Client

#: Seconds for an answer to take effect: longer than the daemon waits for a hook program to
#: reconnect before it presses the answer in the agent's dialog.
DELIVERY_TIMEOUT_S = 60


class QuestionInfo(DaemonAnswer, frozen=True):
    text: str = ""
    options: tuple[str, ...] = ()
    takes_several: bool = False
    descriptions: tuple[str, ...] = ()


class RequestInfo(DaemonAnswer, frozen=True):
    """What an agent asks for: a permission, or the answer to questions."""

    id: str = ""
    session: str = ""
    kind: str = ""
    tool: str = ""
    input: dict[str, object] = field(default_factory=dict)
    questions: tuple[QuestionInfo, ...] = ()
    message: str = ""
    outcome: str = ""
    asked_at: str = ""
    deadline: str | None = None
    by_keys: bool = False
    source: str = ""
    has_dialog: bool = True
    takes_text: bool = True
    takes_options: bool = True
    takes_reason: bool = True
    missed: bool = False
    delivery: str = ""
    answers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    note: str = ""
    answered_by: str = ""
    reason: str = ""

    @property
    def is_open(self) -> bool:
        return self.outcome == "open"


class RequestListInfo(DaemonAnswer, frozen=True):
    trouble: str = ""
    requests: tuple[RequestInfo, ...] = ()
    on_timeout: str = ""
    store_trouble: str = ""


class RulePreviewInfo(DaemonAnswer, frozen=True):
    request: RequestInfo = RequestInfo()
    rule: str = ""
    file: str = ""
    pattern: str = ""


class AlwaysAllowedInfo(DaemonAnswer, frozen=True):
    request: RequestInfo = RequestInfo()
    rule: str = ""
    file: str = ""
    is_new: bool = True


class SeenInfo(DaemonAnswer, frozen=True):
    count: int = 0


class RuleTest(DaemonAnswer, frozen=True):
    decision: str = ""
    rule: str = ""
    reason: str = ""


class Mode(DaemonAnswer, frozen=True):
    mode: str = ""


class DecisionInfo(DaemonAnswer, frozen=True):
    at: str = ""
    session: str = ""
    tool: str = ""
    input: dict[str, object] = field(default_factory=dict)
    folder: str = ""
    decision: str = ""
    by: str = ""
    rule: str = ""
    reason: str = ""


class AuditInfo(DaemonAnswer, frozen=True):
    decisions: tuple[DecisionInfo, ...] = ()


class RuleTestCall(Struct, frozen=True, kw_only=True):
    """A tool call for which the rules are tried."""

    tool: str
    input: object
    agent: str
    project: str
    folder: str  #: in which the call is made; empty for the project folder
    session: str


def list_requests(daemon: Client, *, all: bool = False) -> RequestListInfo:  # noqa: A002 - its name
    """List what agents ask for now; with ``all`` also what is decided."""
    answer = daemon.get("permissions", all=all) if all else daemon.get("permissions")
    return read(RequestListInfo, answer)


def open_requests_of(daemon: Client, session: str) -> list[RequestInfo]:
    """Return what a session, given by its id, asks for now."""
    requests = list_requests(daemon).requests
    return [each for each in requests if each.session == session and each.is_open]


def show_request(daemon: Client, request: str, *, timeout: float = 0.0) -> RequestInfo:
    """Return a request; with ``timeout`` wait until its answer has reached the agent."""
    return read(RequestInfo, daemon.get("permissions", request, timeout=timeout))


def await_delivery(
    daemon: Client, answered: RequestInfo, *, timeout: float = DELIVERY_TIMEOUT_S
) -> RequestInfo:
    """Wait until the answer to a request has reached its agent, or the time is over."""
    if answered.delivery != "due":
        return answered
    now = show_request(daemon, answered.id, timeout=timeout)
    return now.with_changes(note=answered.note or now.note)


def allow_request(daemon: Client, request: str, *, for_session: bool) -> RequestInfo:
    return _decide(daemon, request, decision="allow", for_session=for_session)


def deny_request(daemon: Client, request: str, *, reason: str) -> RequestInfo:
    return _decide(daemon, request, decision="deny", reason=reason)


def preview_rule(
    daemon: Client, request: str, *, pattern: str, everywhere: bool
) -> RulePreviewInfo:
    """Return the rule that would always allow the call of a request."""
    answer = daemon.get("permissions", request, "rule", pattern=pattern, everywhere=everywhere)
    return read(RulePreviewInfo, answer)


def allow_always(
    daemon: Client, request: str, *, pattern: str, everywhere: bool
) -> AlwaysAllowedInfo:
    """Add a rule that allows the call of a request, and allow the request."""
    wish = {"pattern": pattern, "everywhere": everywhere}
    return read(AlwaysAllowedInfo, daemon.post("permissions", request, "always", **wish))


def answer_request(
    daemon: Client, request: str, answers: Iterable[str], *, own_words: bool
) -> RequestInfo:
    """Answer questions by options, or with ``own_words`` by free text."""
    answer_list = list(answers)
    return _decide(daemon, request, decision="answer", answers=answer_list, own_words=own_words)


def _decide(daemon: Client, request: str, **verdict: object) -> RequestInfo:
    return read(RequestInfo, daemon.post("permissions", request, "answer", **verdict))


def mark_seen(daemon: Client, requests: Iterable[str]) -> SeenInfo:
    """Record that the user has seen which requests were not answered in time."""
    return read(SeenInfo, daemon.post("permissions", "seen", requests=list(requests)))


def run_rule_test(daemon: Client, call: RuleTestCall) -> RuleTest:
    return read(RuleTest, daemon.post("rules", "test", **structs.asdict(call)))


def show_mode(daemon: Client) -> Mode:
    return read(Mode, daemon.get("mode"))


def set_mode(daemon: Client, mode: str) -> Mode:
    return read(Mode, daemon.post("mode", mode=mode))


def show_audit(daemon: Client, *, session: str, limit: int) -> AuditInfo:
    return read(AuditInfo, daemon.get("audit", session=session, limit=limit))
