from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from rookery.agents.transcripts import is_named_after, read_usage
from rookery.ports.transcript import Tokens, Usage
from tests.support.paths import RECORDINGS

NATIVE = "11111111-2222-3333-4444-555555555555"
LINE = json.dumps(
    {
        "type": "assistant",
        "timestamp": "2026-11-01T00:00:00+00:00",
        "message": {"id": "m", "usage": {"input_tokens": 5, "output_tokens": 1}},
    }
).encode()


def read(name: str, agent: str) -> list[Usage]:
    lines = (RECORDINGS / name / "transcript.jsonl").read_bytes().splitlines()
    return [usage for each in lines if (usage := read_usage(agent, each))]


@pytest.mark.spec("G6")
@pytest.mark.parametrize(
    ("recording", "agent", "used"),
    [
        (
            "claude-2.1.325",
            "claude",
            {
                "msg_bc380d514f4c49d2bac4a14b": Tokens(14_598, 1, 14_561, 25),
                "msg_8ef1cabb834048f9bf7d8253": Tokens(170, 20, 30, 40),
                "msg_952c3da200cf484f8bff2551": Tokens(14_768, 1, 14_670, 86),
            },
        ),
        (
            "codex-0.166.0",
            "codex",
            {
                "resp_567b70e0a8514f8c94ba2ca7": Tokens(11_425, 37, 7_262),
                "resp_8dccc87bf53244b3853c1973": Tokens(11_558, 25, 7_410),
                "resp_cb2c6a33f1504b31b370b792": Tokens(11_693, 37, 11_558),
            },
        ),
        (
            "gemini-0.61.0",
            "gemini",
            {
                "2b0dacba-212d-4156-abe5-16d427652ef8": Tokens(12_357, 2),
                "96e9e6a4-76c0-4b19-84a9-219c03bb4551": Tokens(12_387, 21, 12_357),
                "041b54a4-afb8-4769-b884-da0042cd1f3d": Tokens(12_497, 1, 12_387),
            },
        ),
    ],
)
def test_a_transcript_says_what_each_response_used(
    recording: str, agent: str, used: dict[str, Tokens]
) -> None:
    found = read(recording, agent)

    assert {usage.id: usage.tokens for usage in found} == used


@pytest.mark.spec("G6")
def test_what_goes_in_is_all_that_goes_in_whoever_counts() -> None:
    claude = {"input_tokens": 5, "cache_creation_input_tokens": 20, "output_tokens": 3}
    codex = {"input_tokens": 125, "cache_write_input_tokens": 20, "output_tokens": 3}
    time = "2026-11-01T00:00:00Z"
    lines = {
        "claude": {
            "type": "assistant",
            "timestamp": time,
            "message": {"id": "m", "usage": {**claude, "cache_read_input_tokens": 100}},
        },
        "codex": {
            "type": "token_usage_record",
            "timestamp": time,
            "payload": {"response_id": "m", "usage": {**codex, "cached_input_tokens": 100}},
        },
        "gemini": {
            "type": "gemini",
            "timestamp": time,
            "id": "m",
            "tokens": {"input": 120, "tool": 5, "cached": 100, "output": 1, "thoughts": 2},
        },
    }

    found = [read_usage(agent, json.dumps(each).encode()) for agent, each in lines.items()]

    assert [each and each.tokens[:3] for each in found] == [(125, 3, 100)] * 3


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.replace(b'"input_tokens": 5', b'"input_tokens": -5'),
        lambda said: said.replace(b'"input_tokens": 5', b'"input_tokens": true'),
        lambda said: said.replace(b'"input_tokens": 5', b'"input_tokens": 5.5'),
        lambda said: said.replace(b'"input_tokens": 5', b'"input_tokens": 5' + b"0" * 5_000),
        lambda said: said.replace(b'"input_tokens": 5', b'"input_tokens": 99999999999'),
        lambda said: said.replace(b"+00:00", b""),
        lambda said: said.replace(b"2026", b"never"),
        lambda said: said.replace(b'"id": "m"', b'"id": 7'),
        lambda said: said.replace(b'"id": "m"', b'"id": "' + b"m" * 1_000 + b'"'),
        lambda said: said.replace(b"assistant", b"user"),
        lambda said: said.replace(b'{"input', b'[{"input'),
        lambda said: said[:-9],
        lambda said: b'{"usage": ' + b"[" * 100_000,
        lambda said: b'\xff\xfe"usage"',
        lambda said: b'["usage"]',
        lambda said: b"",
    ],
)
def test_a_line_that_cannot_be_read_says_nothing(change: Callable[[bytes], bytes]) -> None:
    assert read_usage("claude", LINE)

    assert read_usage("claude", change(LINE)) is None


def test_of_an_agent_whose_transcripts_nobody_can_read_nothing_is_known() -> None:
    assert read_usage("demo", LINE) is None
    assert not is_named_after("opencode", f"/x/{NATIVE}.jsonl", NATIVE)


@pytest.mark.spec("G6")
@pytest.mark.parametrize(
    ("agent", "path", "is_its_own"),
    [
        ("claude", f"/home/person/.claude/projects/-code/{NATIVE}.jsonl", True),
        ("claude", f"/anywhere/else/{NATIVE}.jsonl", True),
        ("claude", f"{NATIVE}.jsonl", False),
        ("claude", f"/x/{NATIVE}.json", False),
        ("claude", f"/x/{NATIVE}.jsonl/shadow", False),
        ("claude", "/x/of-somebody-else.jsonl", False),
        ("claude", "/etc/shadow", False),
        ("claude", "", False),
        ("codex", f"/x/rollout-2026-11-15T12-49-36-{NATIVE}.jsonl", True),
        ("codex", f"/x/{NATIVE}.jsonl", False),
        ("gemini", "/x/session-2026-11-15T12-55-11111111.jsonl", True),
        ("gemini", "/x/session-2026-11-15T12-55-22222222.jsonl", False),
    ],
)
def test_a_transcript_is_named_after_its_session(
    agent: str, path: str, is_its_own: bool
) -> None:
    assert is_named_after(agent, path, NATIVE) is is_its_own


def test_nothing_is_named_after_a_session_without_a_name() -> None:
    assert not is_named_after("claude", "/x/.jsonl", "")
    assert not is_named_after("claude", f"/x/{NATIVE}.jsonl", ".*")
