from __future__ import annotations

from rookery.agents.codex.driver.items import CodexCall
from rookery.agents.codex.driver.requests import CodexRequest
from rookery.drivers.commands import AgentAnswer
from rookery.drivers.events import Asked
from rookery.model.permissions import Question

YES = AgentAnswer("s", "7", allow=True)
NO = AgentAnswer("s", "7", allow=False, message="Not now.")


def request(method: str, **params: object) -> CodexRequest:
    return CodexRequest(7, method, {"threadId": "t", "itemId": "call", **params})


def test_a_command_is_asked_about_in_the_words_of_the_permission_hook() -> None:
    asks = request(
        "item/commandExecution/requestApproval",
        kind="command",
        command="/bin/bash -lc 'touch x'",
        reason="why",
    )

    assert asks.asked({}, "t") == Asked(
        "7", "Bash", {"command": "touch x", "description": "why"}, "call"
    )
    assert asks.reply(YES) == {"decision": "accept"}
    assert asks.reply(NO) == {"decision": "decline"}


def test_a_command_is_asked_about_with_its_folder() -> None:
    asks = request("item/commandExecution/requestApproval", command="ls", cwd="/elsewhere")
    asked = asks.asked({}, "t")

    assert asked
    assert asked.folder == "/elsewhere"


def test_a_request_of_a_subagent_names_it() -> None:
    asks = request("item/commandExecution/requestApproval", command="ls")
    asked = asks.asked({}, "another thread")

    assert asked
    assert asked.subagent == "t"


def test_a_patch_is_asked_about_with_its_text() -> None:
    known = {"call": CodexCall("apply_patch", {"command": "*** Begin Patch"})}
    asked = request("item/fileChange/requestApproval", reason="why").asked(known, "t")

    assert asked
    assert asked.tool == "apply_patch"
    assert asked.input == {"command": "*** Begin Patch", "reason": "why"}


def test_more_permissions_are_granted_as_asked_or_not_at_all() -> None:
    wanted = {"fileSystem": {"write": ["/x"]}}
    asks = request("item/permissions/requestApproval", permissions=wanted)

    assert asks.reply(YES) == {"permissions": wanted, "scope": "turn"}
    assert asks.reply(NO) == {"permissions": {}, "scope": "turn"}


def test_answers_are_returned_by_the_id_of_their_question() -> None:
    questions = [{"id": "a", "question": "One?"}, {"id": "b", "question": "Two?"}]
    asks = request("item/tool/requestUserInput", questions=questions)
    answer = AgentAnswer("s", "7", allow=True, message="Later.", answers={"One?": ("x", "y")})

    asked = asks.asked({}, "t")
    assert asked
    assert (asked.tool, asked.input) == ("request_user_input", {"questions": questions})
    assert asks.reply(answer) == {
        "answers": {"a": {"answers": ["x", "y"]}, "b": {"answers": ["No answer. Later."]}}
    }


def test_a_tool_of_an_mcp_server_is_asked_about_by_its_name() -> None:
    meta = {
        "codex_approval_kind": "mcp_tool_call",
        "tool_name": "add",
        "tool_params": {"a": 1},
    }
    asks = request("mcpServer/elicitation/request", serverName="sums", _meta=meta)

    asked = asks.asked({}, "t")
    assert asked
    assert (asked.tool, asked.input) == ("mcp__sums__add", {"a": 1})
    assert asks.reply(YES) == {"action": "accept", "content": {}, "_meta": None}
    assert asks.reply(NO) == {"action": "decline", "content": None, "_meta": None}


def test_the_form_of_an_mcp_server_is_a_question_whose_answer_fills_it_in() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    form = {"serverName": "x", "message": "Name?", "requestedSchema": schema}
    asks = request("mcpServer/elicitation/request", **form)
    given = AgentAnswer("s", "r", True, "", {"Name?": ("Ann",)})

    asked = asks.asked({}, "t")
    assert asked
    assert asked.questions == (Question("Name?"),)
    accepted = {"action": "accept", "content": {"name": "Ann"}, "_meta": None}
    assert asks.reply(given) == accepted
    assert asks.reply(NO)["action"] == "decline"
    assert asks.reply(YES)["action"] == "cancel"  # allowing a form does not fill it in


def test_no_person_is_asked_what_rookery_cannot_answer() -> None:
    assert request("account/chatgptAuthTokens/refresh").asked({}, "t") is None
    assert request("applyPatchApproval").asked({}, "t") is None
