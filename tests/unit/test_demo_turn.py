"""The demo agent's turns, as effects."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rookery.programs.demo.effects import (
    Ask,
    Await,
    Consult,
    Die,
    Effect,
    Grow,
    Leave,
    Print,
    Record,
    Tell,
    Wait,
)
from rookery.programs.demo.hooks import NO_DECISION, Decision, HookCall, Ruling
from rookery.programs.demo.screen import Block, BlockKind
from rookery.programs.demo.turn import MOST_CONTINUATIONS, Manner, Prompt, Turn

Answer = Callable[[Effect], Decision]


def silence(effect: Effect) -> Decision:
    return NO_DECISION


def asked(decision: Decision) -> Answer:
    """Answer dialogs, and nothing else."""
    return lambda effect: decision if isinstance(effect, Ask) else NO_DECISION


def told(event: str, decision: Decision) -> Answer:
    """Answer one event as its hook."""
    return lambda effect: (
        decision if isinstance(effect, Consult) and effect.event == event else NO_DECISION
    )


def played(text: str, answer: Answer = silence, manner: Manner | None = None) -> list[Effect]:
    """Play a whole turn, and return its effects."""
    turn = Turn(Prompt("p1", text, text), manner or Manner("default"))
    effects = turn.effects(HookCall())
    played = [next(effects)]
    try:
        while True:
            played.append(effects.send(answer(played[-1])))
    except StopIteration:
        return played


def blocks(effects: list[Effect]) -> list[str]:
    """Return what was printed after the prompt."""
    printed = [effect.block for effect in effects if isinstance(effect, Print)]
    return [block.kind.value + block.text for block in printed[1:]]


def events(effects: list[Effect]) -> list[str]:
    return [effect.event for effect in effects if isinstance(effect, Tell | Consult)]


def test_a_turn_prints_its_prompt_speaks_and_stops() -> None:
    effects = played("say: hello")

    assert effects[:2] == [
        Print(Block(BlockKind.PROMPT, "say: hello")),
        Record("user", "say: hello"),
    ]
    assert isinstance(effects[2], Await)
    assert effects[3:-1] == [
        Print(Block(BlockKind.WORDS, "hello")),
        Record("assistant", "hello"),
    ]
    assert effects[-1] == Consult(
        "Stop",
        {
            "prompt_id": "p1",
            "permission_mode": "default",
            "stop_hook_active": False,
            "last_assistant_message": "hello",
            "background_tasks": [],
        },
    )


def test_a_prompt_that_its_hook_blocks_is_dropped() -> None:
    blocked = Decision(Ruling.BLOCK, "not now")

    effects = played(
        "say: x", lambda effect: blocked if isinstance(effect, Await) else NO_DECISION
    )

    assert blocks(effects) == ["  ⎿ Blocked: not now"]
    assert events(effects) == []


def test_a_tool_is_told_before_and_after() -> None:
    effects = played("tool: Read a.txt")

    assert blocks(effects) == ["● Read(a.txt)", "  ⎿ ok"]
    assert events(effects) == ["PreToolUse", "PostToolUse", "Stop"]


def test_a_permission_is_asked_without_a_number() -> None:
    effects = played("permission: Bash ls", asked(Decision(Ruling.ALLOW)))

    [ask] = [effect for effect in effects if isinstance(effect, Ask)]
    assert ask.fields == {
        "prompt_id": "p1",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
    assert blocks(effects) == ["● Bash(ls)", "  ⎿ ok"]


def test_a_refusal_ends_the_turn() -> None:
    effects = played("permission: Bash ls\nsay: after", asked(Decision(Ruling.REFUSE)))

    assert blocks(effects) == ["● Bash(ls)", "  ⎿ Refused"]
    assert events(effects) == ["PreToolUse", "Interrupt"]
    assert Record("interrupted", "") in effects


def test_a_denial_by_a_hook_leaves_the_turn_going() -> None:
    effects = played("permission: Bash ls\nsay: after", asked(Decision(Ruling.DENY, "no")))

    assert blocks(effects) == ["● Bash(ls)", "  ⎿ Denied: no", "● after"]
    assert events(effects) == ["PreToolUse", "Stop"]


@pytest.mark.parametrize("mode", ["bypass", "bypassPermissions"])
def test_nothing_is_asked_in_bypass_mode(mode: str) -> None:
    effects = played("permission: Bash ls", manner=Manner(mode))

    assert not any(isinstance(effect, Ask) for effect in effects)


def test_a_tool_allowed_for_the_session_does_not_ask_again() -> None:
    manner = Manner("default")
    always = asked(Decision(Ruling.ALWAYS))

    first = played("permission: Bash ls", always, manner)
    second = played("permission: Bash rm\npermission: Write x", always, manner)

    assert sum(isinstance(effect, Ask) for effect in first) == 1
    assert sum(isinstance(effect, Ask) for effect in second) == 1


@pytest.mark.parametrize(
    ("text", "ruling", "asks", "result"),
    [
        ("permission: Bash ls", Ruling.ALLOW, 0, "  ⎿ ok"),
        ("permission: Bash ls", Ruling.DENY, 0, "  ⎿ Denied: why"),
        ("tool: Bash ls", Ruling.DENY, 0, "  ⎿ Denied: why"),
        ("tool: Bash ls", Ruling.ASK, 1, "  ⎿ ok"),
    ],
)
def test_a_hook_decides_before_a_tool_is_used(
    text: str, ruling: Ruling, asks: int, result: str
) -> None:
    effects = played(text, told("PreToolUse", Decision(ruling, "why")))

    assert sum(isinstance(effect, Ask) for effect in effects) == asks
    assert blocks(effects) == ["● Bash(ls)", result]


def test_the_answer_to_a_question_is_said() -> None:
    effects = played("question: Which? | Red | Blue", asked(Decision(Ruling.ALLOW, "Blue")))

    assert blocks(effects) == ["● AskUserQuestion(Which?)", "  ⎿ Blue", "● You chose Blue"]
    assert events(effects) == ["PreToolUse", "PostToolUse", "Stop"]


def test_a_question_is_asked_in_bypass_mode_too() -> None:
    answer = asked(Decision(Ruling.ALLOW, "Red"))

    effects = played("question: Which? | Red", answer, Manner("bypass"))

    assert any(isinstance(effect, Ask) for effect in effects)


def test_a_failure_ends_the_turn_instead_of_a_stop() -> None:
    effects = played("say: well\nfail: no money\nsay: after")

    assert blocks(effects) == ["● well", "  ⎿ Error: no money"]
    assert effects[-1] == Tell(
        "StopFailure",
        {
            "prompt_id": "p1",
            "permission_mode": "default",
            "error": "no money",
            "last_assistant_message": "well",
        },
    )


@pytest.mark.parametrize(("text", "end"), [("exit: 7", Leave(7)), ("crash:", Die())])
def test_a_turn_can_end_the_program(text: str, end: Effect) -> None:
    effects = played(f"{text}\nsay: after")

    assert effects[-1] == end


def test_slow_words_grow_one_by_one() -> None:
    effects = played("slow: 4\nsay: one  two")

    assert effects[3:-3] == [Grow("one"), Wait(0.25), Grow("one  two"), Wait(0.25)]


def test_a_sleep_is_waited_for() -> None:
    assert Wait(1.5) in played("sleep: 1.5")


def test_a_stop_hook_makes_the_turn_go_on() -> None:
    decisions = iter([Decision(Ruling.BLOCK, "say: more")])

    effects = played(
        "say: first",
        lambda effect: (
            next(decisions, NO_DECISION)
            if isinstance(effect, Consult) and effect.event == "Stop"
            else NO_DECISION
        ),
    )

    stops = [effect for effect in effects if isinstance(effect, Consult)]
    assert blocks(effects) == ["● first", "● more"]
    assert [stop.fields["stop_hook_active"] for stop in stops] == [False, True]


def test_a_turn_does_not_go_on_for_ever() -> None:
    effects = played("say: x", told("Stop", Decision(Ruling.BLOCK, "say: more")))

    assert len(blocks(effects)) == 1 + MOST_CONTINUATIONS
