from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from rookery.hook_protocol import (
    MAX_VALUES,
    events_in,
    is_whole,
    read_call,
    read_head,
    time_of,
)
from rookery.model.errors import HookUnreadable

BADGE = "b4dGe-" + "x" * 37
KEY = "01700000000123456789-00112233aabbccdd"
BODY = b'{"session_id": "n1"}'


@pytest.mark.spec("C3")
@pytest.mark.parametrize(
    "line",
    [
        f"v2 {KEY} claude 20 {BADGE} %7 12 /run/a b",
        f"{KEY} claude 20 {BADGE} %7 12 /run/a b",
        f"{KEY} claude {BADGE} %7 12 /run/a b",
    ],
)
def test_calls_of_every_version_are_understood(line: str) -> None:
    hook = read_call(line.encode() + b"\n" + BODY)

    assert (hook.key, hook.agent, hook.badge) == (KEY, "claude", BADGE)
    assert hook.payload == {"session_id": "n1"}


def test_the_first_hook_program_named_no_server() -> None:
    head = read_head(f"{KEY} claude {BADGE} %7 12\n".encode())

    assert (head.badge, head.size) == (BADGE, None)


@pytest.mark.spec("C3", "K5")
@pytest.mark.parametrize(
    "line",
    [
        f"v3 {KEY} claude 20 {BADGE} %7 12 /run",
        f"v2 {KEY} claude {BADGE} %7 12 /run",
        f"v2 {KEY} claude 20 {BADGE}",
        f"{KEY} {BADGE}",
        f"{BADGE}",
    ],
)
def test_a_refused_call_leaves_no_badge_in_the_error(line: str) -> None:
    with pytest.raises(HookUnreadable) as refusal:
        read_call(line.encode() + b"\n" + BODY)

    assert BADGE not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_a_newer_version_is_refused_with_what_to_do() -> None:
    with pytest.raises(HookUnreadable, match=r"version 3 .* update Rookery"):
        read_head(f"v3 {KEY} claude 20 - - 12 -".encode())


@pytest.mark.spec("C5")
def test_a_key_tells_when_the_hook_ran() -> None:
    assert time_of(KEY) == datetime(2023, 11, 14, 22, 13, 20, 123457, UTC)
    assert time_of("k1") is None


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("value", "is_altered"),
    [
        (b"plain", False),
        ("\ufffd".encode(), False),
        (b"\\ud83d\\ude00", False),
        (b"\\ud83d", True),
        (b"\xff", True),
    ],
)
def test_a_payload_that_had_to_be_changed_is_marked(value: bytes, *, is_altered: bool) -> None:
    hook = read_call(b"k demo 9 - - 1 -\n" + b'{"x": "%s"}' % value)

    assert hook.is_altered is is_altered


def test_only_a_whole_call_counts_as_whole() -> None:
    line = f"v2 {KEY} claude {len(BODY)} - - 1 -\n".encode()
    size = len(line) + len(BODY)

    assert is_whole(line, size)
    assert not is_whole(line, size - 1)
    assert not is_whole(line, size + 1)
    assert not is_whole(line[:-1], size - 1)
    assert not is_whole(b"", 0)


def test_events_are_found_in_what_is_no_json() -> None:
    assert events_in(b'{"hook_event_name":  "PreToolUse", "x": [[[') == {"PreToolUse"}
    assert events_in(b"\xff") == frozenset()


@pytest.mark.spec("C3", "K4")
@pytest.mark.parametrize(
    "value",
    [
        b"[%s1]" % (b"1," * MAX_VALUES),
        b"[%s{}]" % (b"{}," * MAX_VALUES),
        b'{%s"z": 1}' % b"".join(b'"k%d": "\\\\",' % each for each in range(MAX_VALUES)),
        b"%s%s" % (b"[" * MAX_VALUES, b"]" * MAX_VALUES),
    ],
    ids=["list", "objects", "fields", "nested"],
)
def test_a_payload_of_too_many_values_is_refused_before_it_is_parsed(value: bytes) -> None:
    with pytest.raises(HookUnreadable, match="25,000 values"):
        read_call(b'k demo - - 1\n{"a": %s}' % value)


@pytest.mark.spec("C3", "K4")
def test_a_long_text_is_one_value_whatever_it_contains() -> None:
    text = 'a,{b},[c] "d", \\"e\\" \\\\ \n' * MAX_VALUES

    hook = read_call(b"k demo - - 1\n" + json.dumps({"a": text}).encode())

    assert hook.payload == {"a": text}
