"""Shell commands that a skill of Claude Code runs when it is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rookery.agents.claude.skills import inline_commands
from rookery.model.patterns import Pattern
from rookery.model.permissions import Call
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
    ],
)
def test_inline_commands_are_read(text: str, commands: tuple[str, ...] | None) -> None:
    assert inline_commands(text) == commands


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
