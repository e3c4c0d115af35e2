"""Our plugin as OpenCode runs it, with what OpenCode was seen to tell; the daemon is a fake."""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest

from rookery.agents.opencode.hooks import HOOKS
from rookery.hook_protocol import read_call, with_checksum
from rookery.model.permissions import Outcome, Verdict
from rookery.programs import hook
from tests.support.fakes.opencode import (
    ASKED,
    SILENCE,
    SOON,
    Daemon,
    Program,
    Setting,
    recorded,
)

ROOT = "ses_e20b3d8e5ffeLcLXZUox09jayx"
ANSWER = "msg_1df4c275f00127V067MRAop3Py"


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


@pytest.fixture
def daemon(setting: Setting) -> Iterator[Daemon]:
    daemon = Daemon(setting.door)
    yield daemon
    daemon.close()


@pytest.fixture
def program(setting: Setting) -> Iterator[Program]:
    environment = {"ROOKERY_BADGE": "b-1", "TMUX_PANE": "%7", "TMUX": "/run/a b,12,0"}
    program = Program(setting.plugin, environment)
    yield program
    program.end()


@pytest.fixture
def prompted(program: Program, daemon: Daemon) -> Program:
    """Give a program in the middle of a turn, of which the daemon knows."""
    program.event("session.created")
    program.prompt()
    program.event("session.status.busy")
    program.event("message.updated.assistant")
    assert daemon.events(2) == ["SessionStart", "UserPromptSubmit"]
    return program


def say(text: str, **part: object) -> dict[str, object]:
    whole = recorded("events", "message.part.updated.text")["properties"]["part"]
    return {"part": {**whole, "id": "prt_1", "messageID": ANSWER, "text": text, **part}}


@pytest.mark.spec("D2")
def test_a_dialog_about_a_call_that_was_not_told_before_says_so(
    prompted: Program, daemon: Daemon
) -> None:
    daemon.says["PermissionRequest"] = ASKED
    prompted.call("event", {"event": recorded("events", "permission.asked")})

    told = daemon.told()
    daemon.verdicts.put(b"")

    assert told["is_partial"] is True
    assert told["tool_input"]["patterns"]


@pytest.mark.spec("C2", "C4")
def test_a_turn_is_told_in_the_words_that_the_dialect_reads(
    program: Program, daemon: Daemon
) -> None:
    program.event("session.created")
    program.prompt()
    program.event("session.status.busy")
    program.event("message.updated.assistant")
    program.event("message.part.updated.text")
    program.event("message.part.updated.text", **say("hello "))
    program.event("message.part.updated.text", **say("hello open"))
    program.event("message.part.updated.text", **say("more", id="prt_2"))
    program.event("message.updated.assistant.completed")
    program.event("message.updated.assistant.completed")
    program.event("session.status.idle")
    program.event("session.idle")
    program.event("session.idle")
    program.prompt()

    for name in ("SessionStart", "UserPromptSubmit", "Usage", "Stop", "UserPromptSubmit"):
        assert daemon.told() == recorded("hooks", name)


def answer(program: Program, message: str, prompt: str, text: str, finish: str) -> None:
    """Have a prompt answered, or a tool called for it."""
    info = recorded("events", "message.updated.assistant")["properties"]["info"]
    info |= {"id": message, "parentID": prompt}
    done = {"time": {**info["time"], "completed": 1}, "finish": finish}
    program.event("message.updated.assistant", info=info)
    program.event("message.part.updated.text", **say(text, messageID=message))
    program.event("message.updated.assistant", info={**info, **done})


@pytest.mark.spec("E7")
@pytest.mark.parametrize(
    ("finish", "first"), [("stop", "one"), ("tool-calls", "two")], ids=["answered", "taken in"]
)
def test_a_prompt_that_is_typed_during_a_turn_has_an_answer_of_its_own(
    program: Program, daemon: Daemon, finish: str, first: str
) -> None:
    program.event("session.created")
    program.prompt(message="msg_1")
    program.prompt(message="msg_2")
    answer(program, "msg_3", "msg_1", "one", finish)
    answer(program, "msg_4", "msg_2", "two", "stop")
    program.event("session.idle")

    told = [each for each in (daemon.told() for _ in range(7)) if "prompt_id" in each]
    fields = ("hook_event_name", "prompt_id", "last_assistant_message")
    assert [tuple(each.get(name) for name in fields) for each in told] == [
        ("UserPromptSubmit", "msg_1", None),
        ("UserPromptSubmit", "msg_2", None),
        ("Stop", "msg_1", first),
        ("Stop", "msg_2", "two"),
    ]


@pytest.mark.spec("C4")
def test_a_call_says_whose_it_is(program: Program, daemon: Daemon) -> None:
    program.prompt()

    sent = daemon.calls.get(timeout=SOON)
    call = read_call(sent)
    assert (call.agent, call.badge) == ("opencode", "b-1")
    assert re.fullmatch(rb".* b-1 %7 \S+ /run/a b", sent.partition(b"\n")[0])
    assert HOOKS.identify(call.payload).native_id == ROOT


@pytest.mark.spec("C2")
def test_a_tool_is_told_of_before_and_after(prompted: Program, daemon: Daemon) -> None:
    asked = prompted.has_done(prompted.tool())
    after = recorded("events", "tool.execute.after")
    prompted.call("tool.execute.after", after["input"], after["output"])

    assert asked == ""
    assert daemon.told() == recorded("hooks", "PreToolUse")
    assert daemon.told() == recorded("hooks", "PostToolUse")


@pytest.mark.spec("D1", "D2")
def test_a_tool_that_is_denied_does_not_run_and_its_model_reads_why(
    prompted: Program, daemon: Daemon
) -> None:
    no = Verdict(Outcome.DENIED, "rule", "Not by this rule.")
    said = HOOKS.answer(recorded("hooks", "PreToolUse"), no)
    daemon.says["PreToolUse"] = hook.TAKEN + said.encode()

    assert prompted.has_done(prompted.tool()) == "Not by this rule."


@pytest.mark.spec("D3")
@pytest.mark.parametrize("said", [b"allow?", b"null", b"5", b'{"decision": 1}'])
def test_an_answer_that_cannot_be_read_is_no_yes(
    prompted: Program, daemon: Daemon, said: bytes
) -> None:
    daemon.says["PreToolUse"] = hook.TAKEN + said

    assert "cannot be read" in prompted.has_done(prompted.tool())


@pytest.mark.spec("D2", "D3")
def test_a_call_that_cannot_be_told_does_not_run(prompted: Program, daemon: Daemon) -> None:
    refused = prompted.has_done(prompted.nested_tool(30_000))

    assert "Rookery could not be asked about this call" in refused
    assert prompted.has_done(prompted.tool()) == ""  # the next one is asked about as before
    assert daemon.told()["hook_event_name"] == "PreToolUse"


@pytest.mark.spec("C3")
def test_a_call_that_cannot_be_told_runs_where_rookery_is_gone(
    program: Program, tmp_path: Path
) -> None:
    program.loaded()
    shutil.rmtree(tmp_path)

    assert program.has_done(program.nested_tool(30_000)) == ""


@pytest.mark.spec("C3")
def test_what_cannot_be_told_afterwards_is_not_told(prompted: Program, daemon: Daemon) -> None:
    prompted.has_done(prompted.nested_tool(30_000, "tool.execute.after"))

    assert prompted.has_done(prompted.tool()) == ""
    assert daemon.told()["hook_event_name"] == "PreToolUse"


@pytest.mark.spec("D2", "D3")
def test_a_tool_waits_for_a_person_and_the_others_do_not(
    prompted: Program, daemon: Daemon
) -> None:
    daemon.says["PreToolUse"] = ASKED

    number = prompted.tool()
    assert daemon.events(1) == ["PreToolUse"]
    prompted.event("session.created.child")
    assert daemon.events(1) == ["SubagentStart"]
    daemon.verdicts.put(b'{"decision": "deny", "reason": "Not on a Sunday."}')

    assert prompted.has_done(number) == "Not on a Sunday."


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize("event", ["session.idle", "session.error"])
def test_a_tool_whose_turn_was_interrupted_does_not_run_after_all(
    prompted: Program, daemon: Daemon, event: str
) -> None:
    daemon.says["PreToolUse"] = ASKED
    number = prompted.tool()
    daemon.events(1)

    prompted.event(event)

    assert "interrupted" in prompted.has_done(number)
    assert daemon.left.wait(SOON)


@pytest.mark.spec("C3")
def test_a_call_that_is_over_before_it_was_taken_is_not_told_later(
    prompted: Program, daemon: Daemon, setting: Setting
) -> None:
    daemon.says["PreToolUse"] = SILENCE
    number = prompted.tool()
    daemon.events(1)

    prompted.event("session.idle")

    assert "interrupted" in prompted.has_done(number)
    assert daemon.events(1) == ["Stop"]
    assert setting.spooled() == []


@pytest.mark.spec("C2")
def test_what_it_says_to_itself_in_mid_turn_is_no_prompt(
    prompted: Program, daemon: Daemon
) -> None:
    prompted.prompt(synthetic=True)
    prompted.event("session.idle")

    assert daemon.events(1) == ["Stop"]


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("verdict", "reply"),
    [
        (Verdict(Outcome.ALLOWED, "person"), {"reply": "once"}),
        (
            Verdict(Outcome.DENIED, "person", "Not on a Sunday."),
            {"reply": "reject", "message": "Not on a Sunday."},
        ),
    ],
)
def test_what_a_person_decides_reaches_its_dialog(
    prompted: Program, daemon: Daemon, verdict: Verdict, reply: dict[str, str]
) -> None:
    prompted.has_done(prompted.tool())
    daemon.events(1)
    daemon.says["PermissionRequest"] = ASKED
    said = HOOKS.answer(recorded("hooks", "PermissionRequest"), verdict)

    asked = prompted.call("event", {"event": recorded("events", "permission.asked")})
    assert daemon.told() == recorded("hooks", "PermissionRequest")
    daemon.verdicts.put(said.encode())

    permission = recorded("events", "permission.asked")["properties"]["id"]
    assert prompted.posted(f"/permission/{permission}/reply") == reply
    prompted.has_done(asked)
    prompted.event("permission.replied", reply=reply["reply"])
    prompted.event("session.idle")
    assert daemon.events(1) == ["Stop"]


@pytest.mark.spec("D5")
def test_what_a_person_answers_reaches_its_question(prompted: Program, daemon: Daemon) -> None:
    daemon.says["PermissionRequest"] = ASKED
    blue = Verdict(Outcome.ANSWERED, "person", answers={"Which colour?": ("Blue",)})
    said = HOOKS.answer(recorded("hooks", "PermissionRequest.question"), blue)

    prompted.call("event", {"event": recorded("events", "question.asked")})
    assert daemon.told() == recorded("hooks", "PermissionRequest.question")
    daemon.verdicts.put(said.encode())

    question = recorded("events", "question.asked")["properties"]["id"]
    assert prompted.posted(f"/question/{question}/reply") == {"answers": [["Blue"]]}


@pytest.mark.spec("D2")
def test_an_answer_at_the_keyboard_lets_go_of_whom_we_asked(
    prompted: Program, daemon: Daemon
) -> None:
    daemon.says["PermissionRequest"] = ASKED
    prompted.call("event", {"event": recorded("events", "permission.asked")})
    prompted.event("session.created.child")  # told once the other waits
    daemon.events(2)

    prompted.event("permission.replied")
    prompted.event("session.idle")

    assert daemon.left.wait(SOON)
    assert daemon.events(1) == ["Stop"]


@pytest.mark.spec("D2")
def test_an_answer_at_the_keyboard_is_told_where_nobody_else_was_asked(
    prompted: Program, daemon: Daemon
) -> None:
    prompted.event("permission.asked")
    prompted.event("permission.asked", id="per_2")

    prompted.event("permission.replied", requestID="per_2")
    prompted.event("permission.replied")
    prompted.event("session.idle")

    assert daemon.events(2) == ["PermissionRequest", "PermissionRequest"]
    assert daemon.told() == recorded("hooks", "PermissionSettled")
    assert daemon.events(1) == ["Stop"]


@pytest.mark.spec("A2")
@pytest.mark.parametrize("name", ["permission", "question"])
def test_a_refusal_at_the_keyboard_that_ends_the_turn_is_an_interruption(
    prompted: Program, daemon: Daemon, name: str
) -> None:
    prompted.event(f"{name}.asked", id="x_1")
    if name == "permission":
        prompted.event("permission.replied", requestID="x_1", reply="reject")
    else:
        prompted.event("question.rejected", requestID="x_1")
    prompted.event("session.idle")

    assert daemon.events(3)[2] == "Interrupt"


@pytest.mark.spec("A2")
def test_an_interruption_is_told_once(prompted: Program, daemon: Daemon) -> None:
    prompted.event("session.error")
    prompted.event("session.idle")
    prompted.event("session.idle")
    prompted.prompt()

    assert daemon.told() == recorded("hooks", "Interrupt")
    assert daemon.events(1) == ["UserPromptSubmit"]


@pytest.mark.spec("A2")
def test_a_failure_is_told_with_its_reason(prompted: Program, daemon: Daemon) -> None:
    error = {"name": "APIError", "data": {"message": "bad thing"}}

    prompted.event("session.status.retry")
    prompted.event("session.error", error=error)
    prompted.event("session.idle")

    assert daemon.told() == recorded("hooks", "Notification.retry")
    assert daemon.told() == recorded("hooks", "StopFailure")


@pytest.mark.spec("A1")
def test_another_conversation_is_the_same_session_under_another_id(
    prompted: Program, daemon: Daemon
) -> None:
    prompted.prompt(sessionID="ses_2")
    prompted.event("session.idle")
    prompted.event("session.idle", sessionID="ses_2")

    assert daemon.told() == recorded("hooks", "SessionEnd.clear")
    told = [daemon.told() for _ in range(3)]
    assert [each["hook_event_name"] for each in told] == [
        *("SessionStart", "UserPromptSubmit", "Stop")
    ]
    assert {each["session_id"] for each in told} == {"ses_2"}


@pytest.mark.spec("A1", "C2")
def test_what_a_subagent_does_is_its_parents(prompted: Program, daemon: Daemon) -> None:
    child = recorded("events", "session.created.child")["properties"]["sessionID"]

    prompted.event("session.created.child")
    prompted.prompt(sessionID=child)
    prompted.has_done(prompted.tool(sessionID=child))
    prompted.event("session.status.busy", sessionID=child)
    prompted.event("session.idle", sessionID=child)
    prompted.event("session.idle")

    told = [daemon.told() for _ in range(4)]
    assert told[0] == recorded("hooks", "SubagentStart")
    assert told[1] == recorded("hooks", "PreToolUse")
    assert told[2] == recorded("hooks", "SubagentStop")
    assert told[3]["hook_event_name"] == "Stop"


@pytest.mark.spec("A1")
def test_whose_subagent_an_older_conversation_is_opencode_says(
    prompted: Program, daemon: Daemon
) -> None:
    prompted.prompt(sessionID=f"ses_9-below-{ROOT}")
    prompted.event("session.idle")

    assert daemon.events(1) == ["Stop"]


@pytest.mark.spec("C3")
def test_without_a_daemon_all_is_spooled_in_its_order(
    program: Program, setting: Setting
) -> None:
    program.prompt()
    refused = program.has_done(program.tool())
    program.event("session.idle")
    program.has_done(program.tool())  # by then the others are there

    assert refused == ""
    assert setting.spooled() == [
        *("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "PreToolUse")
    ]


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize(
    ("globs", "refused"),
    [(["bash"], "Away."), (["b?s[a-h]", "x"], "Away."), (["*"], "Away."), (["ba"], "")],
)
def test_without_a_daemon_it_says_what_was_left_for_such_a_call(
    program: Program, setting: Setting, globs: list[str], refused: str
) -> None:
    no = Verdict(Outcome.DENIED, "absence", "Away.")
    said = HOOKS.answer({"hook_event_name": "PreToolUse"}, no)
    left = [{"event": "PreToolUse", "tools": globs, "say": said}]
    setting.offline_answers.write_bytes(with_checksum(json.dumps({"opencode": left}).encode()))

    assert program.has_done(program.tool()) == refused


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(None, id="missing"),
        pytest.param(b"", id="empty"),
        pytest.param(bytes(40), id="zeroed"),
        pytest.param(b'{"opencode": []}', id="without a checksum"),
        pytest.param(b'{"checksum": "1 124"}\n', id="with a wrong checksum"),
    ],
)
def test_without_offline_answers_no_tool_runs(
    program: Program, setting: Setting, stored: bytes | None
) -> None:
    setting.offline_answers.unlink()
    if stored is not None:
        setting.offline_answers.write_bytes(stored)

    assert "offline answers are damaged" in program.has_done(program.tool())


@pytest.mark.spec("C3")
def test_a_daemon_that_says_nothing_holds_nobody_for_long(
    program: Program, setting: Setting
) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as silent:
        silent.bind(str(setting.door))
        silent.listen()

        numbers = [program.tool(callID=f"call_{each}") for each in range(5)]
        refused = [program.has_done(number) for number in numbers]
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):  # only one has waited for it
            silent.accept()

    assert refused == [""] * 5
    assert len(setting.spooled()) == 6


@pytest.mark.spec("C3", "D2", "K3")
def test_if_the_daemon_dies_over_it_the_next_one_is_asked_for_the_same(
    program: Program, setting: Setting
) -> None:
    dying = Daemon(setting.door, PreToolUse=hook.WAIT + b"\n" + b"deci")
    number = program.tool()
    first = [dying.calls.get(timeout=SOON) for _ in range(2)][1]
    dying.close()
    said = b'{"decision": "deny", "reason": "No."}'
    following = Daemon(setting.door, PreToolUse=ASKED + hook.DECIDED + said)

    assert program.has_done(number) == "No."
    assert following.calls.get(timeout=SOON) == first
    following.close()


@pytest.mark.spec("C1")
def test_of_two_that_were_loaded_one_tells(program: Program) -> None:
    loaded = program.loaded()

    assert set(loaded["loaded"]) == {
        *("event", "chat.message", "tool.execute.before", "tool.execute.after", "shell.env")
    }
    assert loaded["again"] == []


@pytest.mark.spec("C3")
def test_one_that_nobody_filled_in_does_nothing(setting: Setting) -> None:
    template = resources.files("rookery.agents.opencode") / "plugin.js"
    setting.plugin.write_text(template.read_text())
    program = Program(setting.plugin, {})

    assert program.loaded()["loaded"] == []
    program.end()
