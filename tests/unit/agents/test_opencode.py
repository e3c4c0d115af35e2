from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.agents.opencode import screen
from rookery.agents.opencode.agent import CONFIG_VARIABLE, command_line
from rookery.agents.opencode.hooks import HOOKS
from rookery.model import facts
from rookery.model.facts import Fact
from rookery.model.permissions import INEXACT, Call, Outcome, Question, Verdict
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec
from tests.support.contract.agents.case import S
from tests.support.contract.agents.opencode import RECORDED, TOUCH

SPEC = LaunchSpec(
    command=("opencode",),
    native_id=NativeId("ses_1"),
    model="",
    permission_mode="",
    hook="sh -c 'a b' /state/rookery-hook opencode",
    folder=Path("/s p"),
    door=Path("/run/door"),
    spool=Path("/state/spool"),
)


def test_a_table_that_mentions_the_escape_key_is_no_dialog() -> None:
    answered = RECORDED.screen("answered").lines
    said = next(row for row, line in enumerate(answered) if "one two three" in line)
    table = [
        "     Save          ctrl+s",
        "     Leave            esc",
        "     Help             f1",
    ]
    shown = [*answered[:said], *table, *answered[said + 3 :]]

    assert screen.read(read_styled("\n".join(shown))) == View("")


def test_what_a_list_covers_is_not_in_the_box() -> None:
    lines = list(RECORDED.screen("quit-typed").lines)
    row = next(row for row, line in enumerate(lines) if "Exit the app" in line)
    lines[row - 1] = "  ┃  words that were sent"

    assert screen.read(read_styled("\n".join(lines))) == View("/exit")


def test_what_stands_beside_the_box_is_not_in_it() -> None:
    lines = list(RECORDED.screen("wide-working-draft").lines)
    row = next(row for row, line in enumerate(lines) if "draft" in line and "say:" not in line)
    edge = next(line for line in lines if "╹" in line)
    wide = 3  # characters in this draft that take two columns
    lines[row] = lines[row].ljust(len(edge) - wide) + "src/changed.py +1"

    view = screen.read(read_styled("\n".join(lines)))

    assert view == View("漢字 🙂 draft", is_working=True)


def test_its_command_line_names_the_model_and_what_to_go_on_with() -> None:
    plain = command_line(SPEC)
    full = command_line(replace(SPEC, model="fake/fake-model"))
    again = command_line(replace(SPEC, resumes=True))

    assert plain.argv == ("opencode",)
    assert full.argv == ("opencode", "--model", "fake/fake-model")
    assert again.argv == ("opencode", "--session", "ses_1")


@pytest.mark.spec("C1")
def test_each_session_is_given_our_plugin_with_where_to_tell() -> None:
    line = command_line(SPEC)

    ((file, text),) = line.files.items()
    assert file == Path("/s p/rookery.js")
    assert 'const HOOK = ["sh", "-c", "a b", "/state/rookery-hook", "opencode"]' in text
    assert 'const DOOR = "/run/door"' in text
    assert 'const SPOOL = "/state/spool"' in text
    assert "@rookery" not in text
    assert json.loads(line.environment[CONFIG_VARIABLE]) == {
        "plugin": ["file:///s%20p/rookery.js"]
    }


@pytest.mark.spec("C1")
@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ("", {"plugin": ["file:///s%20p/rookery.js"]}),
        ('{"model": "m"}', {"model": "m", "plugin": ["file:///s%20p/rookery.js"]}),
        ('{"plugin": ["their"]}', {"plugin": ["their", "file:///s%20p/rookery.js"]}),
        ("[1]", [1]),
    ],
)
def test_settings_that_the_environment_has_already_stay(given: str, settings: object) -> None:
    line = command_line(replace(SPEC, environment={CONFIG_VARIABLE: given}))

    assert json.loads(line.environment[CONFIG_VARIABLE]) == settings


@pytest.mark.spec("C1")
def test_settings_that_cannot_be_read_stay_as_they_are() -> None:
    theirs = '{"model": "m", // mine\n}'

    line = command_line(replace(SPEC, environment={CONFIG_VARIABLE: theirs}))

    assert line.environment[CONFIG_VARIABLE] == theirs


@pytest.mark.spec("A11")
@pytest.mark.parametrize(
    ("tokens", "cost", "told"),
    [
        (
            (10, 2, 3, 4, 5),
            0.5,
            [facts.UsageReported(S, 19, 5, 500_000, cache_read=4, cache_write=5, context=24)],
        ),
        ((10, 2, 0, 0, 0), 0, [facts.UsageReported(S, 10, 2, context=12)]),
        ((10, 2, 0, 0, 0), "free", [facts.UsageReported(S, 10, 2, context=12)]),
        ((0, 0, 0, 0, 0), 0, []),
    ],
)
def test_tokens_are_counted_with_those_from_a_cache_and_a_price_only_if_there_is_one(
    tokens: tuple[int, ...], cost: object, told: list[Fact]
) -> None:
    fresh, written, thought, from_cache, to_cache = tokens
    cache = {"read": from_cache, "write": to_cache}
    used = {"input": fresh, "output": written, "reasoning": thought, "cache": cache}

    usage = {**RECORDED.hook("Usage"), "tokens": used, "cost": cost}

    assert list(HOOKS.read(usage, S)) == told


@pytest.mark.spec("G6")
@pytest.mark.parametrize("of_subagent", [True, None])
def test_the_tokens_of_a_subagent_are_not_in_the_context(of_subagent: bool | None) -> None:
    usage = {**RECORDED.hook("Usage"), "is_subagent": of_subagent}

    (told,) = HOOKS.read(usage, S)

    assert isinstance(told, facts.UsageReported)
    assert (told.input_tokens, told.context) == (8053, 0)


def test_tokens_that_cannot_be_read_are_not_counted() -> None:
    usage = {**RECORDED.hook("Usage"), "tokens": {"input": "many"}}

    assert list(HOOKS.read(usage, S)) == []


@pytest.mark.spec("D2")
def test_what_is_asked_of_a_call_that_was_not_told_before_is_never_granted() -> None:
    asked = HOOKS.read_call({**RECORDED.hook("PermissionRequest"), "is_partial": True})

    assert asked
    assert asked.digest.startswith(INEXACT)


@pytest.mark.spec("D1", "D2")
def test_a_call_is_the_same_before_it_runs_and_when_it_is_asked_about() -> None:
    before = HOOKS.read_call(RECORDED.hook("PreToolUse"))
    asked = HOOKS.read_call(RECORDED.hook("PermissionRequest"))

    assert before == Call("bash", TOUCH, is_asked=False)
    assert asked == Call("bash", TOUCH)


@pytest.mark.spec("D5")
@pytest.mark.parametrize("several", [True, False])
def test_a_question_is_read_with_its_options(*, several: bool) -> None:
    payload = RECORDED.hook("PermissionRequest.question")
    payload["tool_input"]["questions"][0]["multiple"] = several

    call = HOOKS.read_call(payload)

    assert call
    asked = Question("Which colour?", ("Red", "Blue"), several, ("warm", "cold"))
    assert (call.tool, call.questions) == ("question", (asked,))


NO = Verdict(Outcome.DENIED, "person", "Not on a Sunday.")


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize(
    ("name", "verdict", "said"),
    [
        ("PreToolUse", Verdict(Outcome.ALLOWED, "rule"), None),
        (
            "PreToolUse",
            Verdict(Outcome.GONE, "terminal"),
            {"decision": "deny", "reason": "Denied: this permission request was not answered."},
        ),
        ("PreToolUse", NO, {"decision": "deny", "reason": "Not on a Sunday."}),
        (
            "PreToolUse",
            None,
            {"decision": "deny", "reason": "Denied: this permission request was not answered."},
        ),
        ("PermissionRequest", None, None),
        ("PermissionRequest", Verdict(Outcome.GONE, "terminal"), None),
        ("PermissionRequest", Verdict(Outcome.ALLOWED, "person"), {"decision": "allow"}),
        ("PermissionRequest", NO, {"decision": "deny", "reason": "Not on a Sunday."}),
        (
            "PermissionRequest",
            Verdict(Outcome.DENIED, "person"),
            {"decision": "deny", "reason": "Denied without a reason."},
        ),
        ("PermissionRequest.question", None, None),
    ],
)
def test_a_decision_is_written_as_our_plugin_reads_it(
    name: str, verdict: Verdict | None, said: dict[str, str] | None
) -> None:
    written = HOOKS.answer(RECORDED.hook(name), verdict)

    assert (json.loads(written) if written else None) == said


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("verdict", "answers"),
    [
        (
            Verdict(Outcome.ANSWERED, "person", answers={"Which colour?": ("Red", "Blue")}),
            [["Red", "Blue"]],
        ),
        (Verdict(Outcome.ANSWERED, "person", answers={"Another?": ("x",)}), [["No answer."]]),
        (NO, [["No answer. Not on a Sunday."]]),
    ],
)
def test_each_question_is_answered_if_only_with_that_nobody_does(
    verdict: Verdict, answers: list[list[str]]
) -> None:
    said = json.loads(HOOKS.answer(RECORDED.hook("PermissionRequest.question"), verdict))

    assert said == {"decision": "answer", "answers": answers}


def test_it_cannot_be_made_to_go_on_when_it_stops() -> None:
    assert HOOKS.read_stop(RECORDED.hook("Stop")) is None
