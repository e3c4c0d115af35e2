"""How each agent is started over ACP, and what its calls are named there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rookery.agents.acp_only import acp_agent, with_configured
from rookery.agents.catalog import AGENTS
from rookery.agents.claude.acp import name_tool as name_claude
from rookery.agents.codex.acp import name_tool as name_codex
from rookery.agents.gemini.acp import name_tool as name_gemini
from rookery.agents.opencode.acp import name_tool as name_opencode
from rookery.drivers.acp.options import AcpOptions, read_options
from rookery.drivers.acp.tools import (
    RUN_COMMAND,
    WRITE_FILE,
    AcpCall,
    FileDiff,
    NamedCall,
    by_kind,
)
from rookery.model.errors import BadInput
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec

SPEC = LaunchSpec(("program",), NativeId("n"), "", "", "hook", Path("/sessions/s"))

WRITE = AcpCall(
    "write-1",
    kind="edit",
    input={"path": "/p/a", "content": "new"},
    diffs=(FileDiff("/p/a", None, "new"),),
    method=WRITE_FILE,
)


def options(agent: str, spec: LaunchSpec = SPEC) -> AcpOptions:
    return read_options(AGENTS[agent].driven["acp"](spec).options)


def argv(agent: str, spec: LaunchSpec = SPEC) -> tuple[str, ...]:
    return AGENTS[agent].driven["acp"](spec).line.argv


@pytest.mark.parametrize(
    ("agent", "wanted"),
    [
        ("claude", ("program",)),
        ("codex", ("program",)),
        ("gemini", ("program", "--acp")),
        ("opencode", ("program", "acp")),
        ("demo", ("program", "--acp")),
    ],
)
def test_the_program_is_told_to_speak_acp(agent: str, wanted: tuple[str, ...]) -> None:
    assert argv(agent) == wanted


@pytest.mark.parametrize(
    ("agent", "command"),
    [("gemini", ("x", "--acp")), ("opencode", ("x", "acp")), ("demo", ("x", "--acp"))],
)
def test_a_configured_command_is_taken_as_it_is(agent: str, command: tuple[str, ...]) -> None:
    assert argv(agent, replace(SPEC, command=command)) == command


def test_codex_never_runs_in_the_mode_in_which_a_model_decides() -> None:
    assert options("codex").mode == "read-only"
    writing = replace(SPEC, permission_mode="workspace-write")
    assert options("codex", writing).mode == "workspace-write"
    with pytest.raises(BadInput, match="no permission mode 'plan' over ACP"):
        options("codex", replace(SPEC, permission_mode="plan"))


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "demo"])
def test_rookerys_tools_come_with_the_badge(agent: str) -> None:
    spec = replace(SPEC, tools=("rookery-mcp", "--stdio"), badge="secret")
    found = options(agent, spec)
    assert (found.tools, found.badge) == (("rookery-mcp", "--stdio"), "secret")


def test_opencode_has_rookerys_tools_in_its_settings_and_not_twice() -> None:
    spec = replace(SPEC, tools=("rookery-mcp",), badge="secret")
    assert options("opencode", spec).tools == ()
    settings = AGENTS["opencode"].driven["acp"](spec).line.environment
    assert "rookery-mcp" in settings["OPENCODE_CONFIG_CONTENT"]


@pytest.mark.parametrize("agent", ["codex", "gemini", "opencode", "demo"])
def test_a_system_prompt_is_refused_where_the_protocol_has_none(agent: str) -> None:
    with pytest.raises(BadInput, match="takes no system prompt over ACP"):
        options(agent, replace(SPEC, system_prompt="Be kind."))


def test_claude_takes_a_system_prompt_besides_its_own() -> None:
    found = options("claude", replace(SPEC, system_prompt="Be kind."))
    assert found.meta == {"systemPrompt": {"append": "Be kind."}}


def test_rookery_does_only_what_it_is_asked_about() -> None:
    def services(mode: str) -> tuple[str, ...]:
        return options("claude", replace(SPEC, permission_mode=mode)).services

    assert services("") == services("default") == ("read", "write", "terminal")
    assert services("acceptEdits") == ("read", "terminal")
    assert services("bypassPermissions") == services("plan") == ("read",)


def test_a_conversation_is_continued_or_branched() -> None:
    assert options("claude", replace(SPEC, resumes=True)).resumes == "n"
    assert options("claude").resumes == ""
    assert options("claude", replace(SPEC, forks=NativeId("old"))).forks == "old"


def test_claude_is_named_by_its_adapter() -> None:
    call = AcpCall(
        "1", "ls", input={"command": "ls"}, meta={"claudeCode": {"toolName": "Bash"}}
    )
    assert name_claude(call) == NamedCall("Bash", {"command": "ls"})
    assert name_claude(WRITE) == NamedCall("Write", {"file_path": "/p/a", "content": "new"})
    assert name_claude(AcpCall("1", kind="execute", title="ls")).tool == "execute"


def test_codex_is_named_by_what_a_call_holds() -> None:
    command = AcpCall("1", "Look", kind="read", input={"command": "cat a", "cwd": "/p"})
    assert name_codex(command) == NamedCall("Bash", {"command": "cat a", "cwd": "/p"})
    edit = AcpCall("1", kind="edit", diffs=(FileDiff("/p/a", "old", "new"),))
    patch = "*** Begin Patch\n*** Update File: /p/a\n@@\n-old\n+new\n*** End Patch"
    assert name_codex(edit) == NamedCall("apply_patch", {"command": patch}, ("/p/a",))
    mcp = AcpCall("1", input={"server": "rookery", "tool": "x", "arguments": {"a": 1}})
    assert name_codex(mcp) == NamedCall("mcp__rookery__x", {"a": 1})
    assert name_codex(WRITE).tool == "apply_patch"


@pytest.mark.parametrize(
    "call_id", ["run_shell_command__fc-1", "run_shell_command-1763450000000-1"]
)
def test_gemini_is_named_by_the_id_of_a_call(call_id: str) -> None:
    call = AcpCall(call_id, "ls", kind="execute", text="[in sub] (to look)")
    wanted = NamedCall("run_shell_command", {"command": "ls", "dir_path": "sub"})
    assert name_gemini(call) == wanted
    assert name_gemini(replace(call, call_id="?")) == wanted


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    ("command", "text", "folder"),
    [
        ("touch [in .]", "touch [in .] [in /srv] (to make it)", "/srv"),
        ("touch [in .]", "[in /srv] (to make it)", "/srv"),
        ("touch x", "[in /srv] (as [in .])", "/srv"),
        ("touch x", "(as [in .])", None),
        ("touch x", "touch [in .] x", "/"),
    ],
)
def test_the_words_of_a_command_do_not_name_its_folder(
    command: str, text: str, folder: str | None
) -> None:
    call = AcpCall("run_shell_command__1", command, kind="execute", text=text)

    assert name_gemini(call).input.get("dir_path") == folder


def test_a_tool_of_gemini_that_shows_a_command_is_not_its_shell() -> None:
    call = AcpCall("mcp_server_run__1", "ls", kind="other")
    assert name_gemini(call).tool == "mcp_server_run"


def test_gemini_names_the_file_that_a_call_changes() -> None:
    call = AcpCall("replace__1", "a", kind="edit", diffs=(FileDiff("/p/a", "old", "new"),))
    wanted = {"file_path": "/p/a", "content": "new"}
    assert name_gemini(call) == NamedCall("replace", wanted)
    assert name_gemini(WRITE) == NamedCall("write_file", wanted)


def test_opencode_is_named_by_the_title_of_the_announcement_only() -> None:
    call = AcpCall("1", "touch x", first_title="bash", kind="execute", input={"command": "x"})
    assert name_opencode(call) == NamedCall("bash", {"command": "x"})
    unannounced = replace(call, title="read", first_title="")
    assert name_opencode(unannounced).tool == "bash"


def test_an_unknown_agent_is_named_by_kind_or_by_the_request_itself() -> None:
    assert by_kind(AcpCall("1", "Look", kind="read", paths=("/p/a",))) == NamedCall(
        "read", {"title": "Look", "path": "/p/a"}
    )
    assert by_kind(WRITE).tool == WRITE_FILE
    run = AcpCall("1", "ls", kind="execute", input={"command": "ls"}, method=RUN_COMMAND)
    assert by_kind(run) == NamedCall(RUN_COMMAND, {"command": "ls"})


def test_an_agent_of_the_configuration_has_no_terminal() -> None:
    agents = with_configured(["robot"])
    assert {*agents} == {*AGENTS, "robot"}
    assert [*agents["robot"].driven] == ["acp"]
    assert agents["robot"].is_driven_only
    with pytest.raises(BadInput):
        acp_agent("robot").command_line(SPEC)


def test_the_sessions_of_an_agent_that_was_removed_go_on() -> None:
    agents = with_configured([])
    assert agents["robot"].name == "robot"
    assert agents.get("robot") is None
