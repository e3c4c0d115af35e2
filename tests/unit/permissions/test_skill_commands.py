"""Shell commands that a skill of Claude Code runs when it is loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.claude.skills import inline_commands, runs_at_start
from rookery.model.patterns import Pattern
from rookery.model.permissions import FOLDER, Call
from rookery.model.rules import Circumstances, Rule, decide
from rookery.model.sessions import NativeId, Sender
from rookery.permissions.skill_commands import with_inline_commands

pytestmark = [pytest.mark.anyio, pytest.mark.spec("D1")]

HERE = Circumstances("claude", "/code", "it")
BASH = Pattern("Bash")


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Do it well.", ()),
        ("Now: !`touch pwned`", ("touch pwned",)),
        ("- a: !`date`\n- b: !`git log -1`\n", ("date", "git log -1")),
        ("See x!`a !`touch pwned`", None),
        ("```!\necho hi\n !`touch pwned`\n```\n", None),
        ("```!\ntouch one\ntouch two\n```\n", ("touch one\ntouch two",)),
        ("Use ! and ```sh\nls\n``` with care!", ()),
        ("!`touch pwned", None),
        ("```!\ntouch pwned", None),
        ("---\nname: x\nhooks:\n  PreToolUse: []\n---\n", None),
        ("---\nname: x\ndescription: >-\n  Does\n  it.\nallowed-tools:\n- Read\n---\n", ()),
        ("---\n# a comment\nname: 'x'\n\nmetadata:\n  hooks: none\n---\nText\n---\n", ()),
    ],
)
def test_inline_commands_are_read(text: str, commands: tuple[str, ...] | None) -> None:
    assert inline_commands(text) == commands


@pytest.mark.parametrize(
    "head",
    [
        pytest.param('name: x\n"h\\u006foks": {}', id="an escape in a name"),
        pytest.param("{name: x, hooks: {}}", id="a flow mapping"),
        pytest.param("name: x\n? hooks\n: {}", id="an explicit key"),
        pytest.param("name: x\n'hooks': {}", id="a quoted key"),
        pytest.param("name: x\nhooks : {}", id="a blank after the key"),
        pytest.param("name: x\n<<: {hooks: {}}", id="a merged mapping"),
        pytest.param(" name: x\n hooks: {}", id="an indented mapping"),
        pytest.param("name: x\rhooks: {}", id="a carriage return"),
        pytest.param("name: x\u2028hooks: {}", id="a Unicode line break"),
        pytest.param("name: x --- y\nhooks: {}", id="a fence in a line"),
        pytest.param("name: x\n--- !!map\nhooks: {}", id="a second document"),
        pytest.param("name: x\nmcpServers: []", id="MCP servers"),
        pytest.param("name: x\nunheard-of: 1", id="an unknown field"),
        pytest.param("name: x\nagent: plugin:helper", id="a plugin's subagent"),
    ],
)
def test_frontmatter_that_is_not_clearly_harmless_may_run_commands(head: str) -> None:
    text = f"---\n{head}\n---\nDo it.\n"

    assert inline_commands(text) is None
    assert runs_at_start(text)


@pytest.mark.parametrize("start", ["\ufeff---\n", " ---\n", "\n---\n", "---\t\n", "---x\n"])
def test_frontmatter_is_found_however_it_begins(start: str) -> None:
    assert inline_commands(f"{start}name: x\nhooks: {{}}\n---\nDo it.\n") is None


def skill(folder: Path, text: str, name: str = "x") -> None:
    file = folder / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(text)


async def loaded(project: Path, tool: str = "Skill", **given: Any) -> Call:  # noqa: ANN401
    transcript = project / "home" / "projects" / "p" / "n.jsonl"
    folder = str(project / "api")
    sender = Sender("claude", NativeId("n"), folder, "PreToolUse", str(transcript))
    return await with_inline_commands(Call(tool, given, is_asked=False), sender)


async def test_the_commands_of_a_skill_are_found_where_claude_finds_it(tmp_path: Path) -> None:
    skill(tmp_path / ".claude", "!`touch project`")
    skill(tmp_path / "home", "!`touch home`", "y")
    command = tmp_path / "api" / ".claude" / "commands" / "sub" / "z.md"
    command.parent.mkdir(parents=True)
    command.write_text("!`touch command`")

    assert (await loaded(tmp_path, skill="x")).commands == ("touch project",)
    assert (await loaded(tmp_path, skill="y")).commands == ("touch home",)
    given = await loaded(tmp_path, "SlashCommand", command="/z with words")
    assert given.commands == ("touch command",)


async def test_commands_that_cannot_be_read_are_unknown(tmp_path: Path) -> None:
    skill(tmp_path / ".claude", "", "empty")
    skill(tmp_path / ".claude", "Do it.")

    for name in ("empty", "missing", "plugin:x", ""):
        assert (await loaded(tmp_path, skill=name)).commands is None
    assert (await loaded(tmp_path, skill="x")).commands == ()
    assert (await loaded(tmp_path, skill="x", args="!`id`")).commands is None
    assert (await loaded(tmp_path, "Read", file_path="x")).commands == ()


async def test_an_answer_holds_for_one_call_as_the_file_may_change(tmp_path: Path) -> None:
    skill(tmp_path / ".claude", "!`touch made`")
    skill(tmp_path / ".claude", "Do it.", "plain")

    assert not (await loaded(tmp_path, skill="x")).is_exact
    assert (await loaded(tmp_path, skill="plain")).is_exact


ALLOW_SKILLS = Rule("skills", "allow", Pattern("Skill"))
NO_BASH = Rule("no bash", "deny", BASH)
ASK_BASH = Rule("ask bash", "ask", BASH)
NO_TOUCH = Rule("no touch", "deny", BASH, {"command": Pattern("touch *")})


@pytest.mark.parametrize(
    ("rules", "commands", "decision"),
    [
        ([NO_BASH], ("touch x",), "deny"),
        ([ALLOW_SKILLS, NO_BASH], ("touch x",), "deny"),
        ([NO_TOUCH], ("date", "touch x"), "deny"),
        ([NO_TOUCH], ("date",), None),
        ([NO_TOUCH], ("$0 x",), "ask"),
        ([ASK_BASH], ("date",), "ask"),
        ([ALLOW_SKILLS, ASK_BASH], ("date",), "ask"),
        ([NO_BASH], (), None),
        ([NO_BASH], None, "ask"),
        ([NO_TOUCH], None, "ask"),
        ([ALLOW_SKILLS], None, "allow"),
        ([Rule("bash", "allow", BASH)], ("date",), None),
        ([Rule("no writes", "deny", Pattern("Write"))], None, None),
    ],
)
def test_inline_commands_must_pass_the_rules(
    rules: list[Rule], commands: tuple[str, ...] | None, decision: str | None
) -> None:
    call = Call("Skill", {"skill": "x"}, is_asked=False, commands=commands)

    found = decide(rules, call, HERE)

    assert (found and found.decision) == decision


IN_PROD = Pattern("/code/prod*")


@pytest.mark.parametrize(
    ("commands", "folder", "decision"),
    [
        (("touch x",), "/code/prod", "deny"),
        (("date",), "/code/prod", None),
        (("touch x",), "/code/test", None),
        (None, "/code/prod", "ask"),
        (None, "/code/test", None),
    ],
)
def test_a_rule_for_a_folder_holds_for_the_commands_of_a_skill(
    commands: tuple[str, ...] | None, folder: str, decision: str | None
) -> None:
    call = Call("Skill", {"skill": "x"}, is_asked=False, commands=commands, folder=folder)

    found = decide([replace(NO_TOUCH, folder=IN_PROD)], call, HERE)

    assert (found and found.decision) == decision


def test_a_skill_is_asked_about_where_its_folder_or_its_name_is_uncertain() -> None:
    call = Call("Skill", {"skill": "x"}, is_asked=False, commands=("touch x",), folder="/link")
    unsure = replace(call, uncertain=frozenset({FOLDER}))
    resolved = replace(call, real_folders=frozenset({"/code/prod"}))
    altered = replace(call, commands=("date",), uncertain=frozenset({"skill"}))
    rules = [replace(NO_TOUCH, folder=IN_PROD)]

    decisions = [decide(rules, each, HERE) for each in (call, unsure, resolved)]

    assert [found and found.decision for found in decisions] == [None, "ask", "deny"]
    found = decide([NO_TOUCH], altered, HERE)
    assert found
    assert found.decision == "ask"


def test_a_person_is_shown_the_commands() -> None:
    known = Call("Skill", {"skill": "x"}, commands=("touch a\ntouch b", "date"))
    unknown = Call("Skill", {"skill": "x"}, commands=None)

    assert known.summary.endswith("It runs: touch a ↵ touch b; date")
    assert unknown.summary.endswith("It may run shell commands, which could not be read.")


@pytest.mark.parametrize("arguments", ["`touch pwned`", "!\ntouch pwned\n"])
async def test_arguments_that_may_complete_a_command_make_the_commands_unknown(
    tmp_path: Path, arguments: str
) -> None:
    skill(tmp_path / ".claude", "See !$ARGUMENTS done\n```$ARGUMENTS```")

    assert (await loaded(tmp_path, skill="x", args=arguments)).commands is None
    assert (await loaded(tmp_path, skill="x", args="the api")).commands == ()


@pytest.mark.parametrize("tool", ["Agent", "Task"])
async def test_a_subagent_that_loads_skills_at_its_start_may_run_unknown_commands(
    tmp_path: Path, tool: str
) -> None:
    calm = await loaded(tmp_path, tool, subagent_type="helper")
    definition = tmp_path / ".claude" / "agents" / "team" / "helper.md"
    definition.parent.mkdir(parents=True)
    definition.write_text("---\nname: helper\nskills: [plain]\n---\nHelp.")

    assert calm.commands == ()
    assert (await loaded(tmp_path, tool, subagent_type="helper")).commands is None
    assert (await loaded(tmp_path, tool, subagent_type="plugin:helper")).commands is None


def subagent(folder: Path, head: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "helper.md").write_text(f"---\nname: helper\n{head}\n---\nHelp.")


@pytest.mark.parametrize("head", ['"sk\\u0069lls": x', '"h\\u006foks": {}', "mcpServers: []"])
async def test_a_subagent_with_more_than_harmless_fields_may_run_unknown_commands(
    tmp_path: Path, head: str
) -> None:
    subagent(tmp_path / ".claude" / "agents", "description: Helps.\ntools: Read, Grep")
    calm = await loaded(tmp_path, "Agent", subagent_type="helper")
    subagent(tmp_path / ".claude" / "agents", head)

    assert calm.commands == ()
    assert (await loaded(tmp_path, "Agent", subagent_type="helper")).commands is None


async def test_a_subagent_is_found_behind_a_link(tmp_path: Path) -> None:
    subagent(tmp_path / "elsewhere", "skills: x")
    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    (tmp_path / ".claude" / "agents" / "team").symlink_to(tmp_path / "elsewhere")

    assert (await loaded(tmp_path, "Agent", subagent_type="helper")).commands is None


async def test_a_cycle_of_links_ends(tmp_path: Path) -> None:
    agents = tmp_path / ".claude" / "agents"
    agents.mkdir(parents=True)
    for name in ("one", "two"):
        (agents / name).symlink_to(agents)

    assert (await loaded(tmp_path, "Agent", subagent_type="helper")).commands is None


async def test_a_skill_that_runs_in_a_subagent_may_run_what_that_one_does(
    tmp_path: Path,
) -> None:
    skill(tmp_path / ".claude", "---\ncontext: fork\nagent: helper\n---\nDo it.")
    calm = await loaded(tmp_path, skill="x")
    subagent(tmp_path / ".claude" / "agents", "skills: boom")

    assert calm.commands == ()
    assert (await loaded(tmp_path, skill="x")).commands is None


async def test_a_workflow_may_start_any_subagent(tmp_path: Path) -> None:
    assert (await loaded(tmp_path, "Workflow", script="agent()")).commands is None


@pytest.mark.parametrize("tool", ["CronCreate", "ScheduleWakeup"])
async def test_a_prompt_that_is_submitted_later_loads_a_skill(
    tmp_path: Path, tool: str
) -> None:
    skill(tmp_path / ".claude", "!`touch made`")

    assert (await loaded(tmp_path, tool, prompt="/x now")).commands == ("touch made",)
    assert (await loaded(tmp_path, tool, prompt=" \u200b/x")).commands == ("touch made",)
    assert (await loaded(tmp_path, tool, prompt="/missing")).commands is None
    assert (await loaded(tmp_path, tool, prompt=["/x"])).commands is None
    assert (await loaded(tmp_path, tool, prompt="Look at the build.")).commands == ()


async def test_a_skill_whose_name_is_written_with_escapes_may_be_any(tmp_path: Path) -> None:
    skill(tmp_path / ".claude", "Do it.")
    skill(tmp_path / ".claude", '---\nname: "\\u0078"\n---\n!`touch made`', "other")

    assert (await loaded(tmp_path, skill="x")).commands == ("touch made",)
