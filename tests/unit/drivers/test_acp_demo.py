"""The demo agent over ACP, driven as the driver host does it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.demo import DEMO
from rookery.drivers.acp.options import AcpOptions, FolderTrust, as_json
from rookery.drivers.driver import DriverError
from rookery.drivers.events import (
    Asked,
    AskingEnded,
    Ended,
    FileChanged,
    ModeChanged,
    Noticed,
    ProcessStarted,
    PromptTaken,
    TextAdded,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Up,
)
from rookery.model.sessions import NativeId
from rookery.ports.agent import CommandLine, DriverLine, LaunchSpec
from tests.support.acp_sessions import AcpSession, of

pytestmark = pytest.mark.anyio

COMMAND = (sys.executable, "-I", "-m", "rookery.programs.demo")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def demo(place: Path, *, mode: str = "", resumes: str = "", **more: Any) -> AcpSession:  # noqa: ANN401
    spec = LaunchSpec(
        COMMAND, NativeId(resumes), "", mode, "true", place, resumes=bool(resumes)
    )
    line = DEMO.driven["acp"](spec)
    return AcpSession(place, line, {"ROOKERY_DEMO_HOME": str(place / "demo")}, **more)


def program(place: Path, script: str, **options: Any) -> AcpSession:  # noqa: ANN401
    argv = (sys.executable, "-c", script)
    return AcpSession(
        place, DriverLine("acp", CommandLine(argv, {}), as_json(AcpOptions(**options)))
    )


@pytest.mark.spec("G1", "G2")
async def test_it_comes_up_and_answers_prompts(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        up = await session.up()
        first = await session.say("say: one")
        second = await session.say("say: two")
    assert up.native_id
    assert first == [PromptTaken("say: one"), TextAdded("one"), TurnOver("one")]
    assert second == [PromptTaken("say: two"), TextAdded("two"), TurnOver("two")]
    assert session.events[-1] == Ended("completed", "it was closed")


async def test_a_call_that_is_allowed_runs(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("permission: Bash rm -rf build;; say: Gone.")
        asked = await session.until(Asked)
        assert (asked.tool, asked.input) == ("Bash", {"command": "rm -rf build"})
        await session.answer(asked, allow=True)
        assert await session.over(before) == TurnOver("Gone.")
    (ended,) = of(ToolEnded, session.events)
    assert (ended.call_id, ended.result, ended.failed) == (asked.call_id, "ok", False)


async def test_a_call_that_is_denied_does_not_run_and_the_turn_goes_on(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("permission: Bash rm -rf build;; say: Kept.")
        await session.answer(await session.until(Asked), allow=False, message="no")
        assert await session.over(before) == TurnOver("Kept.")
    (ended,) = of(ToolEnded, session.events)
    assert ended.failed


async def test_a_turn_that_ends_with_a_refusal_counts_as_interrupted(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("permission: Bash rm -rf build")
        await session.answer(await session.until(Asked), allow=False)
        assert (await session.over(before)).how == "interrupted"


async def test_the_answer_to_a_question_is_the_option_of_that_name(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("question: Which? | Red | Blue")
        asked = await session.until(Asked)
        assert asked.tool == "AskUserQuestion"
        await session.answer(asked, allow=True, answers={"Which?": ("Blue",)})
        assert await session.over(before) == TurnOver("You chose Blue")


async def test_an_answer_that_is_no_option_chooses_none(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("question: Which? | Red | Blue")
        asked = await session.until(Asked)
        await session.answer(asked, allow=True, answers={"Which?": ("Green",)})
        await session.over(before)
    (ended,) = of(ToolEnded, session.events)
    assert ended.result == "No answer"


@pytest.mark.spec("G3")
async def test_an_interrupt_ends_the_turn_and_the_next_prompt_is_answered(
    tmp_path: Path,
) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("sleep: 60;; say: b")
        await session.until(PromptTaken)
        await session.driven.interrupt()
        assert await session.over(before) == TurnOver("", "interrupted")
        assert (await session.say("say: c"))[-1] == TurnOver("c")


@pytest.mark.spec("G3")
async def test_an_interrupt_withdraws_what_the_agent_asks(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("permission: Bash rm -rf build;; say: Gone.")
        asked = await session.until(Asked)
        await session.driven.interrupt()
        assert await session.over(before) == TurnOver("", "interrupted")
    assert AskingEnded(asked.request) in session.events
    assert of(TextAdded, session.events) == []


async def test_a_second_prompt_within_a_turn_is_refused(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        await session.begin("sleep: 60")
        await session.until(PromptTaken)
        with pytest.raises(DriverError, match="in the middle of a turn"):
            await session.begin("say: two")


@pytest.mark.spec("G2")
async def test_a_turn_that_fails_says_why_and_the_session_goes_on(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        failed = await session.say("fail: API error 529: overloaded")
        assert failed[-1] == TurnOver("", "failed", "API error 529: overloaded")
        assert (await session.say("say: again"))[-1] == TurnOver("again")


@pytest.mark.spec("A5", "G2")
async def test_a_program_that_is_killed_in_a_turn_fails_turn_and_session(
    tmp_path: Path,
) -> None:
    async with demo(tmp_path) as session:
        await session.begin("say: a;; crash:")
        ended = await session.ended()
    assert ended == Ended("failed", "its program was killed by SIGKILL")
    (over,) = of(TurnOver, session.events)
    assert (over.how, over.fails_session) == ("failed", True)
    assert session.events.index(over) < session.events.index(ended)


async def test_a_program_that_ends_in_a_turn_fails_the_session(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        await session.begin("exit: 3")
        assert (await session.ended()).reason == "its program exited with status 3"


@pytest.mark.spec("A10")
async def test_a_conversation_goes_on_and_is_not_repeated(tmp_path: Path) -> None:
    async with demo(tmp_path) as first:
        native_id = (await first.up()).native_id
        await first.say("say: one")
    async with demo(tmp_path, resumes=native_id) as second:
        assert await second.up() == Up(native_id)
        assert (await second.say("say: two"))[-1] == TurnOver("two")
    assert [each.text for each in of(TextAdded, second.events)] == ["two"]


async def test_a_conversation_that_is_unknown_fails_the_session(tmp_path: Path) -> None:
    unknown = "00000000-0000-4000-8000-000000000000"
    async with demo(tmp_path, resumes=unknown) as session:
        ended = await session.ended()
    assert ended.reason == f"session/load failed: there is no conversation {unknown}"


async def test_the_permission_mode_is_set(tmp_path: Path) -> None:
    async with demo(tmp_path, mode="bypassPermissions") as session:
        assert (await session.say("permission: Bash ls;; say: x"))[-1] == TurnOver("x")


async def test_a_mode_that_the_agent_does_not_have_fails_the_session(tmp_path: Path) -> None:
    async with demo(tmp_path, mode="bold") as session:
        ended = await session.ended()
    assert ended.reason.startswith("it has no mode 'bold' over ACP. It has: plan, default")


@pytest.mark.spec("G2")
async def test_a_session_of_one_turn_ends_after_it(tmp_path: Path) -> None:
    async with demo(tmp_path, is_single_turn=True) as session:
        await session.begin("say: done")
        assert await session.ended() == Ended("completed", "its only turn is over")


async def test_a_file_is_written_once_it_is_allowed(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("tool: fs/write_text_file notes.txt Hello there")
        asked = await session.until(Asked)
        file = session.project / "notes.txt"
        assert not file.exists()
        assert asked.tool == "fs/write_text_file"
        assert asked.input == {"path": str(file), "content": "Hello there"}
        await session.answer(asked, allow=True)
        assert await session.over(before) == TurnOver("ok")
        assert file.read_text() == "Hello there"
    (change,) = of(FileChanged, session.events)
    assert change.diff.endswith("+Hello there")
    assert change.call_id == asked.call_id


async def test_a_file_is_not_written_if_that_is_denied(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("tool: fs/write_text_file notes.txt Hello")
        await session.answer(await session.until(Asked), allow=False, message="Not now.")
        assert (await session.over(before)).text == "Error: The user refused it. Not now."
        assert not (session.project / "notes.txt").exists()


async def test_a_file_outside_the_project_is_refused_without_a_question(
    tmp_path: Path,
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s")
    async with demo(tmp_path) as session:
        (session.project / "link").symlink_to(secret)
        for path in ("../secret", "link", str(secret)):
            read = await session.say(f"tool: fs/read_text_file {path}")
            assert "is not in the project folder" in read[-1].text  # type: ignore[union-attr]
            written = await session.say(f"tool: fs/write_text_file {path} x")
            assert "is not in the project folder" in written[-1].text  # type: ignore[union-attr]
    assert of(Asked, session.events) == []
    assert secret.read_text() == "s"


async def test_a_command_runs_in_the_project_once_it_is_allowed(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("tool: terminal/create echo $ROOKERY_DEMO_HOME; pwd")
        asked = await session.until(Asked)
        assert asked.tool == "terminal/create"
        await session.answer(asked, allow=True)
        printed = (await session.over(before)).text
        assert printed == f"{tmp_path / 'demo'}\n{session.project}"
    (began,), (ended,) = of(ToolBegan, session.events), of(ToolEnded, session.events)
    assert (began.call_id, ended.failed) == (ended.call_id, False)


async def test_a_command_does_not_run_if_that_is_denied(tmp_path: Path) -> None:
    async with demo(tmp_path) as session:
        before = await session.begin("tool: terminal/create touch made")
        await session.answer(await session.until(Asked), allow=False)
        await session.over(before)
        assert not (session.project / "made").exists()


@pytest.mark.spec("G2")
async def test_a_program_that_prints_something_else_is_named(tmp_path: Path) -> None:
    script = "import sys; print('Hello!', flush=True); sys.stdin.read()"
    async with program(tmp_path, script) as session:
        assert (await session.ended()).reason == 'it does not speak ACP: it printed "Hello!"'


@pytest.mark.spec("G2", "A6")
async def test_a_program_that_closes_its_output_is_not_reported_as_killed(
    tmp_path: Path,
) -> None:
    script = "import os, sys; os.close(1); sys.stdin.read()"
    async with program(tmp_path, script) as session:
        assert (await session.ended()).reason == "it closed its output"


@pytest.mark.spec("G2")
async def test_a_program_that_ends_at_once_is_reported_with_its_last_words(
    tmp_path: Path,
) -> None:
    script = "import sys; print('a\\nno key', file=sys.stderr); sys.exit(4)"
    async with program(tmp_path, script) as session:
        assert (await session.ended()).reason == "its program exited with status 4: a / no key"


async def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    line = DriverLine("acp", CommandLine(("/no/such/program",), {}), {})
    async with AcpSession(tmp_path, line) as session:
        assert "/no/such/program cannot be run" in (await session.ended()).reason


async def test_a_program_that_says_nothing_is_ended_with_the_session(tmp_path: Path) -> None:
    async with program(tmp_path, "import sys; sys.stdin.read()") as session:
        pass
    # Its process is reported if it was noted before the end.
    reported = [each for each in session.events if not isinstance(each, ProcessStarted)]
    assert reported == [Ended("completed", "it was closed")]


async def test_much_error_output_does_not_block_the_program(tmp_path: Path) -> None:
    script = "import sys; sys.stderr.write('x' * 2_000_000 + '\\nlast'); sys.exit(5)"
    async with program(tmp_path, script) as session:
        assert (await session.ended()).reason.endswith("/ last")


#: Answers each request with the next line of a list, whatever it is.
_ANSWERS = """
import json, sys
answers = iter({answers!r})
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps(dict(jsonrpc="2.0", id=message["id"], **next(answers))), flush=True)
"""

_HELLO = {"result": {"protocolVersion": 1, "agentCapabilities": {}}}


async def test_an_agent_that_is_not_signed_in_says_what_to_do(tmp_path: Path) -> None:
    refusal = {"error": {"code": -32000, "message": "Authentication required"}}
    script = _ANSWERS.format(answers=[_HELLO, refusal])
    async with program(tmp_path, script, sign_in="Type  it login.") as session:
        assert (await session.ended()).reason == "it is not signed in. Type  it login."


async def test_an_agent_that_cannot_resume_says_so(tmp_path: Path) -> None:
    script = _ANSWERS.format(answers=[_HELLO])
    async with program(tmp_path, script, resumes="abc") as session:
        reason = (await session.ended()).reason
    assert reason == "this agent cannot continue a conversation over ACP."


async def test_an_agent_of_another_version_of_the_protocol_is_refused(tmp_path: Path) -> None:
    script = _ANSWERS.format(answers=[{"result": {"protocolVersion": 7}}])
    async with program(tmp_path, script) as session:
        assert (await session.ended()).reason.startswith("it speaks version 7 of ACP")


_NEW = {"result": {"sessionId": "s"}}


async def test_a_turn_that_does_not_stop_ends_with_the_session(tmp_path: Path) -> None:
    script = _ANSWERS.format(answers=[_HELLO, _NEW, {"result": {}}]).replace(
        'if "id" in message:', 'if "id" in message and message["method"] != "session/prompt":'
    )
    async with program(tmp_path, script) as session:
        before = await session.begin("Work for ever.")
        await session.until(PromptTaken, after=before)
    assert session.events[-2:] == [
        TurnOver("", "interrupted"),
        Ended("completed", "it was closed"),
    ]


@pytest.mark.spec("G2", "A6")
async def test_the_end_of_a_program_in_a_turn_is_noticed_while_a_child_has_its_pipes(
    tmp_path: Path,
) -> None:
    ends = """if message.get("method") == "session/prompt":
        import subprocess
        subprocess.Popen(["sleep", "100"])
        sys.exit(3)
    if "id" in message:"""
    script = _ANSWERS.format(answers=[_HELLO, _NEW]).replace('if "id" in message:', ends)
    async with program(tmp_path, script) as session:
        await session.begin("Work.")
        ended = await session.ended()
    assert ended == Ended("failed", "its program exited with status 3")


@pytest.mark.spec("G2")
@pytest.mark.parametrize("before", [[], [_HELLO, _NEW]])
async def test_a_response_that_is_no_message_ends_the_session(
    tmp_path: Path, before: list[object]
) -> None:
    script = _ANSWERS.format(answers=[*before, {"error": "boom"}])
    async with program(tmp_path, script) as session:
        if before:
            await session.begin("Work.")
        ended = await session.ended()
    assert ended.reason.startswith("it does not speak ACP: it printed ")
    assert "boom" in ended.reason


@pytest.mark.spec("G2")
async def test_a_program_that_closes_its_input_fails_the_turn_that_it_cannot_get(
    tmp_path: Path,
) -> None:
    closes = """if message.get("method") == "session/new":
        import os, signal
        os.close(0)
        print(json.dumps(dict(id=message["id"], result=next(answers)["result"])), flush=True)
        signal.pause()
    if "id" in message:"""
    script = _ANSWERS.format(answers=[_HELLO, _NEW]).replace('if "id" in message:', closes)
    async with program(tmp_path, script) as session:
        await session.begin("Work.")
        ended = await session.ended()
    assert ended == Ended("failed", "the connection to it broke")


#: Asks for permission to write a file, and lets its client write it.
_WRITER = """
import json, sys
def receive():
    return json.loads(sys.stdin.readline())
def send(**message):
    print(json.dumps(dict(jsonrpc="2.0", **message)), flush=True)
hello = receive()
send(id=hello["id"], result=dict(protocolVersion=1))
new = receive()
path = new["params"]["cwd"] + "/a.txt"
send(id=new["id"], result=dict(sessionId="s"))
prompt = receive()
diff = dict(type="diff", path=path, oldText=None, newText="text")
call = dict(toolCallId="1", title="Write", kind="edit", content=[diff])
options = [dict(optionId="yes", name="Yes", kind="allow_once")]
params = dict(sessionId="s", toolCall=call, options=options)
send(id=1, method="session/request_permission", params=params)
receive()
for text in ("text", "more text"):
    file = dict(sessionId="s", path=path, content=text)
    send(id=2, method="fs/write_text_file", params=file)
    receive()
send(id=prompt["id"], result=dict(stopReason="end_turn"))
sys.stdin.read()
"""


@pytest.mark.spec("D2")
async def test_a_person_is_asked_although_the_agent_offers_an_unknown_option(
    tmp_path: Path,
) -> None:
    known = 'options = [dict(optionId="yes", name="Yes", kind="allow_once")'
    assert known in _WRITER
    unknown = ', dict(optionId="all", name="All", kind="allow_for_project")'
    async with program(tmp_path, _WRITER.replace(known, known + unknown)) as session:
        before = await session.begin("Write.")
        await session.answer(await session.until_asked(1), allow=True)
        await session.answer(await session.until_asked(2), allow=True)
        await session.over(before)

    assert [each.event for each in of(Noticed, session.events)] == ["warning"]
    assert (session.project / "a.txt").read_text() == "more text"


async def test_a_write_is_asked_about_again_only_if_it_is_another_one(tmp_path: Path) -> None:
    async with program(tmp_path, _WRITER) as session:
        before = await session.begin("Write.")
        first = await session.until(Asked)
        await session.answer(first, allow=True)
        other = await session.until_asked(2)
        assert (session.project / "a.txt").read_text() == "text"
        await session.answer(other, allow=False)
        await session.over(before)
        assert (session.project / "a.txt").read_text() == "text"
    asked = [(each.tool, each.basis) for each in of(Asked, session.events)]
    write = "fs/write_text_file"
    assert asked == [("edit", "person"), (write, "granted"), (write, "person")]


async def test_a_granted_write_that_a_rule_denies_is_not_made(tmp_path: Path) -> None:
    async with program(tmp_path, _WRITER) as session:
        session.denied_bases = frozenset({"granted"})
        before = await session.begin("Write.")
        await session.answer(await session.until_asked(1), allow=True)
        await session.answer(await session.until_asked(2), allow=False)
        await session.over(before)
    assert not (session.project / "a.txt").exists()


#: Requests a permission, a command and a change after its turn; tells the answers as its mode.
_LATE = r"""
import json, sys
def receive():
    return json.loads(sys.stdin.readline())
def send(**message):
    print(json.dumps(dict(jsonrpc="2.0", **message)), flush=True)
def end_turn():
    send(id=receive()["id"], result=dict(stopReason="end_turn"))
send(id=receive()["id"], result=dict(protocolVersion=1))
new = receive()
send(id=new["id"], result=dict(sessionId="s"))
end_turn()
call = dict(toolCallId="1", title="ls", kind="execute", rawInput=dict(command="ls"))
options = [dict(optionId="yes", name="Yes", kind="allow_once")]
requests = {
    "session/request_permission": dict(toolCall=call, options=options),
    "terminal/create": dict(command="touch", args=["made"]),
    "fs/write_text_file": dict(path=new["params"]["cwd"] + "/written", content="x"),
}
answers = []
for number, (method, params) in enumerate(requests.items(), 1):
    send(id=number, method=method, params=dict(sessionId="s", **params))
    answers.append(receive())
mode = dict(sessionUpdate="current_mode_update", currentModeId=json.dumps(answers))
send(method="session/update", params=dict(sessionId="s", update=mode))
sys.stdin.read()
"""


@pytest.mark.spec("D1", "G4")
async def test_what_an_agent_requests_between_two_turns_is_refused_and_not_reported(
    tmp_path: Path,
) -> None:
    async with program(tmp_path, _LATE) as session:
        await session.say("Go.")
        told = await session.until(ModeChanged)
    outcome, *errors = (each.get("result") or each["error"] for each in json.loads(told.mode))
    assert outcome == {"outcome": {"outcome": "cancelled"}}
    assert [each["message"] for each in errors] == [
        "The user refused it. the turn was cancelled"
    ] * 2
    assert of(ToolBegan, session.events) + of(Asked, session.events) == []
    assert [*session.project.iterdir()] == []


#: Tells the parameters with which its session is opened, as the name of its model, and writes
#: the mode that is chosen to a file.
_TELLER = r"""
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    if call["method"] in ("session/new", "session/load"):
        told = json.dumps(call["params"].get("_meta"))
        option = {"id": "model", "name": "m", "category": "model", "type": "select"}
        option |= {"currentValue": told, "options": []}
        modes = {"currentModeId": "free", "availableModes": [{"id": "strict", "name": "s"}]}
        result = {"sessionId": "it", "configOptions": [option], "modes": modes}
    if call["method"] == "session/set_mode":
        open("mode", "w").write(call["params"]["modeId"])
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"""


def accepted_by_name(folder: Path, environment: object) -> bool:
    return (folder / "accepted").exists()


def trust(**more: Any) -> FolderTrust:  # noqa: ANN401 - fields of the class
    return FolderTrust(check=f"{__name__}:{accepted_by_name.__name__}", **more)


@pytest.mark.parametrize("resumes", ["", "it"])
@pytest.mark.parametrize("is_accepted", [True, False])
async def test_a_folder_that_the_user_has_not_accepted_restricts_the_agent(
    tmp_path: Path, is_accepted: bool, resumes: str
) -> None:
    (tmp_path / "project").mkdir()
    if is_accepted:
        (tmp_path / "project" / "accepted").touch()
    rules = trust(meta={"own": 0}, mode="strict", notice="Not accepted.")
    options = {"meta": {"own": 1}, "trust": rules, "resumes": resumes}
    async with program(tmp_path, _TELLER, **options) as session:
        up = await session.up()

    mode = session.project / "mode"
    assert up.model == ('{"own": 1}' if is_accepted else '{"own": 0}')
    assert (mode.read_text() if mode.exists() else "free") == (
        "free" if is_accepted else "strict"
    )
    notices = [] if is_accepted else [Noticed("untrusted-folder", "Not accepted.")]
    assert of(Noticed, session.events) == notices


async def test_an_agent_that_cannot_be_restricted_is_not_started(tmp_path: Path) -> None:
    script = f"open({str(tmp_path / 'started')!r}, 'w')"
    async with program(tmp_path, script, trust=trust(refusal="Accept it first.")) as session:
        assert await session.ended() == Ended("failed", "Accept it first.")

    assert not (tmp_path / "started").exists()
