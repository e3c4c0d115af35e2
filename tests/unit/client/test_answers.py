"""What the client asks, and what it reads of the answers, fits the daemon's operations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, get_type_hints

import msgspec.inspect as shapes
import pytest
from msgspec import structs

from rookery.api.events import CALLED
from rookery.client import (
    Client,
    blocks,
    daemon,
    decoding,
    discovery,
    foreground,
    labels,
    listeners,
    live_views,
    lost_sessions,
    messages,
    notifications,
    permissions,
    relays,
    session_details,
    sessions,
    starts,
    statistics,
    turns,
)
from rookery.client.streams import EventFields
from rookery.model.errors import Unreadable
from rookery.model.facts import KINDS
from rookery.operations.catalog import OPERATIONS
from rookery.operations.operation import Operation, shape_of
from tests.support.cli import Scripted, made

pytestmark = pytest.mark.spec("I5")

AREAS = (
    *(blocks, daemon, discovery, foreground, labels, listeners, live_views, lost_sessions),
    *(messages, notifications, permissions, relays, session_details, sessions, starts),
    *(statistics, turns),
)

START = starts.StartOrder(
    agent="demo",
    name="a",
    project="/code",
    runtime="tmux",
    model="",
    permission_mode="",
    prompt="",
    command=[],
    environment={},
    tools=True,
    tags=["ui"],
    profile="work",
)
RESUME = starts.ResumeOrder(fork=True, prompt="", name="", agent="", project="", environment={})
LISTEN = listeners.ListenOrder(
    targets=("a",), caller="b", until="stop", repeat=False, timeout=None, needed="each"
)
RULE_TEST = permissions.RuleTestCall(
    tool="Bash", input={"command": "ls"}, agent="claude", project="/code", folder="", session=""
)

#: How each function of the client is called.
CALLS: Mapping[str, Callable[[Client], object]] = {
    "allow_always": lambda to: permissions.allow_always(
        to, "r1", pattern="Bash ls*", everywhere=True
    ),
    "allow_request": lambda to: permissions.allow_request(to, "r1", for_session=True),
    "answer_request": lambda to: permissions.answer_request(to, "r1", ["2"], own_words=False),
    "await_blocks": lambda to: blocks.await_blocks(to, "a", after=1, timeout=1.0),
    "await_delivery": lambda to: permissions.await_delivery(
        to, permissions.RequestInfo(id="r1", delivery="due")
    ),
    "await_departure": lambda to: messages.await_departure(to, 7),
    "await_outcome": lambda to: messages.await_outcome(
        to, 7, timeout=1.0, known_since="2026-01-02T03:04:05+00:00"
    ),
    "back_up": lambda to: daemon.back_up(to, "/copy"),
    "bring_to_foreground": lambda to: foreground.bring_to_foreground(
        to, "a", channel="terminal"
    ),
    "clear_inbox": lambda to: messages.clear_inbox(to, "a", waiting=True),
    "close_relay": lambda to: relays.close_relay(to, "r1"),
    "count_sessions": notifications.count_sessions,
    "deny_request": lambda to: permissions.deny_request(to, "r1", reason="no"),
    "discover_agents": discovery.discover_agents,
    "edit_message": lambda to: messages.edit_message(to, 7, "Hello"),
    "end_all_sessions": sessions.end_all_sessions,
    "end_session": lambda to: sessions.end_session(to, "a", force=True),
    "end_done_session": lambda to: sessions.end_done_session(to, "a"),
    "find_sessions": lambda to: sessions.find_sessions(to, ["1", "2"]),
    "hide_session": lambda to: labels.hide_session(to, "a"),
    "hold_messages": messages.hold_messages,
    "interrupt_session": lambda to: sessions.interrupt_session(to, "a"),
    "join_relay": lambda to: relays.join_relay(to, "r1", session="a", name="Ann"),
    "leave_relay": lambda to: relays.leave_relay(to, "r1", session="a"),
    "list_changed": lambda to: live_views.list_changed(to, ["1", "2"]),
    "list_foregrounds": lambda to: foreground.list_foregrounds(to, channel="terminal"),
    "list_listeners": listeners.list_listeners,
    "list_lost": lambda to: lost_sessions.list_lost(to, all=True, hours=3.0),
    "list_muted": notifications.list_muted,
    "list_notifications": lambda to: notifications.list_notifications(to, last=3),
    "list_panes": discovery.list_panes,
    "list_relays": lambda to: relays.list_relays(to, session="a", all=True),
    "list_requests": lambda to: permissions.list_requests(to, all=True),
    "list_sessions": lambda to: sessions.list_sessions(to, all=True, tags=["ui"]),
    "list_tokens": daemon.list_tokens,
    "listen_to": lambda to: listeners.listen_to(to, LISTEN),
    "look_at_foreground": lambda to: foreground.look_at_foreground(to, "a", channel="terminal"),
    "mark_answers_seen": lambda to: session_details.mark_answers_seen(
        to, "a", until="2026-01-02T03:04:05+00:00"
    ),
    "mark_blocks_shown": lambda to: blocks.mark_blocks_shown(
        to, "a", channel="terminal", seen=3
    ),
    "mark_seen": lambda to: permissions.mark_seen(to, ["r1"]),
    "mark_shown": lambda to: foreground.mark_shown(to, "a", channel="terminal", seen=3),
    "mint_token": lambda to: daemon.mint_token(to, "reader"),
    "mute_session": lambda to: notifications.mute_session(to, "a", seconds=60.0),
    "open_relay": lambda to: relays.open_relay(
        to, [("a", "Ann"), ("b", "")], max_hops=3, max_a_minute=None
    ),
    "open_requests_of": lambda to: permissions.open_requests_of(to, "1"),
    "preview_rule": lambda to: permissions.preview_rule(
        to, "r1", pattern="Bash ls*", everywhere=True
    ),
    "press_keys": lambda to: sessions.press_keys(to, "a", ["enter"]),
    "prune": lambda to: daemon.prune(to, days=None),
    "put_into_background": lambda to: foreground.put_into_background(
        to, "a", channel="terminal", seen=3
    ),
    "release_messages": messages.release_messages,
    "rename_session": lambda to: sessions.rename_session(to, "a", "b"),
    "resend_message": lambda to: messages.resend_message(to, 7, sure=True),
    "resume_session": lambda to: starts.resume_session(to, "a", RESUME),
    "revoke_token": lambda to: daemon.revoke_token(to, "t1"),
    "run_checks": lambda to: daemon.run_checks(to, path="/bin"),
    "run_rule_test": lambda to: permissions.run_rule_test(to, RULE_TEST),
    "send_message": lambda to: messages.send_message(
        to, "a", "Hello", messages.MessageOptions(alone=True, now=True, expire=60.0)
    ),
    "set_mode": lambda to: permissions.set_mode(to, "remote"),
    "show_answer": lambda to: messages.show_answer(to, 7, timeout=1.0),
    "show_audit": lambda to: permissions.show_audit(to, session="", limit=3),
    "show_blocks": lambda to: blocks.show_blocks(
        to, "a", after=1, last=3, kinds=("text", "plan")
    ),
    "show_conversation": lambda to: session_details.show_conversation(to, "a", last=3),
    "show_details": lambda to: session_details.show_details(to, "a"),
    "show_evidence": lambda to: sessions.show_evidence(to, "a"),
    "show_inbox": lambda to: messages.show_inbox(to, "a", everything=True),
    "show_missed_blocks": lambda to: blocks.show_missed_blocks(to, "a", channel="terminal"),
    "show_mode": permissions.show_mode,
    "show_relay": lambda to: relays.show_relay(to, "r1", last=3),
    "show_request": lambda to: permissions.show_request(to, "r1", timeout=1.0),
    "show_screen": lambda to: sessions.show_screen(to, "a", history=True),
    "show_session": lambda to: sessions.show_session(to, "a"),
    "show_session_data": lambda to: live_views.show_session_data(to, "a", characters=100),
    "show_statistics": lambda to: statistics.show_statistics(to, days=7, agent="demo"),
    "show_status": daemon.show_status,
    "show_turns": lambda to: turns.show_turns(to, "a", last=3, after=1, timeout=1.0),
    "start_session": lambda to: starts.start_session(to, START),
    "stop_daemon": daemon.stop_daemon,
    "stop_listening": lambda to: listeners.stop_listening(to, "a", caller="b"),
    "tag_session": lambda to: labels.tag_session(to, "a", add=["ui"], remove=["old"]),
    "try_notification": lambda to: notifications.try_notification(
        to, "a", kind="failed", send=True
    ),
    "unhide_session": lambda to: labels.unhide_session(to, "a"),
    "unmute_session": lambda to: notifications.unmute_session(to, "a"),
    "wait_for_any": lambda to: sessions.wait_for_any(to, ("a",), until="stop", timeout=1.0),
    "wait_for_session": lambda to: sessions.wait_for_session(
        to, "a", until="stop", timeout=1.0
    ),
    "withdraw_message": lambda to: messages.withdraw_message(to, 7),
}


class Recorder(Client):
    """A client that notes its one request, and answers nothing."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))
        self.asked: tuple[str, str, dict[str, object]] = ("", "", {})

    def get(self, *path: str, timeout: float = 0.0, **query: object) -> Any:  # noqa: ANN401 - JSON
        self.asked = (
            "GET",
            _joined(path),
            {**query, **({"timeout": timeout} if timeout else {})},
        )
        return {}

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        self.asked = ("POST", _joined(path), body)
        return {}


def _joined(path: tuple[str, ...]) -> str:
    return "/v1/" + "/".join(path)


def requested(name: str) -> tuple[Operation[Any, Any], dict[str, object]]:
    """Return the operation that a function of the client asks for, and with what."""
    recorder = Recorder()
    CALLS[name](recorder)
    method, path, given = recorder.asked
    for each in sorted(OPERATIONS, key=lambda operation: operation.path.count("{")):
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", each.path)
        if each.method == method and (found := re.fullmatch(pattern, path)):
            return each, {**found.groupdict(), **given}
    raise AssertionError(path)


def functions() -> dict[str, Callable[..., object]]:
    return {
        name: each
        for area in AREAS
        for name, each in inspect.getmembers(area, inspect.isfunction)
        if each.__module__ == area.__name__ and not name.startswith("_")
    }


def test_every_function_of_the_client_is_tried_here() -> None:
    assert {*CALLS} == {*functions()}


@pytest.mark.parametrize("name", CALLS)
def test_the_daemon_takes_what_the_client_asks(name: str) -> None:
    operation, given = requested(name)

    operation.asks.model_validate(given)


@pytest.mark.parametrize("name", sorted({*CALLS} - {"find_sessions", "open_requests_of"}))
def test_the_client_reads_what_the_daemon_answers(name: str) -> None:
    operation, _ = requested(name)
    schema = shape_of(operation.answers).json_schema(mode="serialization")

    kind = shapes.type_info(get_type_hints(functions()[name])["return"])

    assert [*_misfits(kind, schema, schema.get("$defs", {}), name)] == []


PRIMITIVES: Mapping[str, type[shapes.Type]] = {
    "string": shapes.StrType,
    "integer": shapes.IntType,
    "number": shapes.FloatType,
    "boolean": shapes.BoolType,
    "null": shapes.NoneType,
}


def _misfits(
    kind: shapes.Type, schema: dict[str, Any], known: dict[str, Any], where: str
) -> list[str]:
    """Name the places where the daemon may answer what the client does not read."""
    if "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    if choices := schema.get("anyOf"):
        return [each for one in choices for each in _misfits(kind, one, known, where)]
    if isinstance(kind, shapes.UnionType):
        tried = (_misfits(each, schema, known, where) for each in kind.types)
        return min(tried, key=len)
    parts = _parts(kind, schema)
    if parts is None:
        return [f"{where}: {schema}"]
    return [
        each
        for name, (part, of_part) in parts.items()
        for each in _misfits(part, of_part, known, f"{where}{name}")
    ]


Parts: TypeAlias = dict[str, tuple[shapes.Type, dict[str, Any]]]


def _parts(kind: shapes.Type, schema: dict[str, Any]) -> Parts | None:
    """Return what both consist of; ``None`` if the one cannot be read as the other."""
    match kind, schema.get("type"):
        case shapes.StructType(fields=fields), "object":
            there = schema["properties"]
            return {f".{each.name}": (each.type, there.get(each.name, {})) for each in fields}
        case shapes.DictType(value_type=value), "object":
            of_value = schema["additionalProperties"]
            return {} if of_value is True else {"{}": (value, of_value)}
        case shapes.VarTupleType(item_type=item), "array":
            return {"[]": (item, schema["items"])}
        case shapes.StrType(), None if "enum" in schema or "const" in schema:
            return {}
        case _, str(word) if isinstance(kind, PRIMITIVES.get(word, ())):
            return {}
        case _:
            return None


@pytest.mark.parametrize("kind", KINDS)
def test_the_client_reads_the_fields_of_every_event(kind: str) -> None:
    fact = shapes.type_info(KINDS[kind])
    assert isinstance(fact, shapes.StructType)
    read = {each.name for each in structs.fields(EventFields)}

    used = {CALLED.get(each.name, each.name): each.type for each in fact.fields}

    texts = (shapes.StrType, shapes.EnumType, shapes.LiteralType)
    assert [name for name in read & {*used} if not isinstance(used[name], texts)] == []


def test_fields_that_only_a_newer_daemon_knows_are_kept_for_programs() -> None:
    sent = {"sessions": [{"id": "1", "mood": "good"}], "weather": "fine"}

    found = decoding.read(sessions.SessionList, sent)

    assert found.json == sent
    assert found.sessions[0].id == "1"
    assert found.sessions[0].json == {"id": "1", "mood": "good"}


def test_an_answer_of_another_shape_is_said_to_make_no_sense() -> None:
    with pytest.raises(Unreadable, match="cannot be read"):
        decoding.read(sessions.SessionInfo, {"name": 7})


def test_a_changed_answer_is_changed_for_programs_too() -> None:
    found = decoding.read(turns.TurnInfo, {"answer": "", "mood": "good"})

    changed = found.with_changes(answer="Done")

    assert (changed.answer, changed.json) == ("Done", {"answer": "Done", "mood": "good"})


def test_an_older_daemon_gets_no_keys_that_are_not_used() -> None:
    daemon = Scripted(sessions=made("a"))

    starts.start_session(daemon, structs.replace(START, tags=[], profile=""))

    ((_, given),) = daemon.asked
    assert {"tags", "profile"}.isdisjoint(given)
    assert given["agent"] == "demo"
