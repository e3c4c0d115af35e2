"""What is read of the folder that an agent works in."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rookery.doctor.hooks import hook_switches
from rookery.model.errors import Forbidden
from rookery.permissions.project_files import MAX_FILES, command_defined_by, hooks_switched_off
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.operations import Desk, session_caller
from tests.support.rows import make

pytestmark = [pytest.mark.anyio, pytest.mark.spec("C8", "D1")]

OFF = {
    ".claude/settings.json": '{"disableAllHooks": true}',
    ".claude/settings.local.json": '{"disableAllHooks": true}',
    ".codex/config.toml": "[features]\nhooks = false\n",
    ".gemini/settings.json": '{"hooksConfig": {"enabled": false}} // mine',
}


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", OFF)
@pytest.mark.parametrize("runtime", ["headless", "observed"])
def test_a_file_that_switches_hooks_off_is_named(
    tmp_path: Path, journal: Journal, name: str, runtime: str
) -> None:
    file = written(tmp_path, name, OFF[name])
    agent = name[1:].partition("/")[0]
    session = make(journal, "it", agent=agent, runtime=runtime, project_path=str(tmp_path))

    assert hooks_switched_off(session) == str(file)


@pytest.mark.parametrize(("agent", "is_named"), [("claude", False), ("gemini", True)])
def test_what_we_give_to_an_agent_wins_over_its_project(
    tmp_path: Path, journal: Journal, agent: str, *, is_named: bool
) -> None:
    for name, text in OFF.items():
        written(tmp_path, name, text)
    session = make(journal, "it", agent=agent, runtime="tmux", project_path=str(tmp_path))

    assert bool(hooks_switched_off(session)) is is_named


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".claude/settings.json", '{"disableAllHooks": false}'),
        (".claude/settings.json", "[1]"),
        (".claude/settings.json", '{"env": ["LD_PRELOAD"]}'),
        (".claude/settings.json", "{broken"),
        (".codex/config.toml", "[features]\nhooks = true\n"),
        (".codex/config.toml", "features = 7"),
        (".codex/config.toml", "broken ["),
        (".gemini/settings.json", '{"hooksConfig": {"enabled": true, "disabled": ["lint"]}}'),
    ],
)
def test_other_settings_switch_nothing_off(
    tmp_path: Path, journal: Journal, name: str, text: str
) -> None:
    written(tmp_path, name, text)
    agent = name[1:].partition("/")[0]
    session = make(journal, "it", agent=agent, runtime="headless", project_path=str(tmp_path))

    assert hooks_switched_off(session) == ""


@pytest.mark.parametrize(
    ("variable", "value", "is_off"),
    [
        ("CLAUDE_CODE_SHELL_PREFIX", "/bin/true", True),
        ("LD_PRELOAD", "./x.so", True),
        ("BASH_FUNC_[%%", "() { return 1; }", True),
        ("CLAUDE_CODE_SHELL_PREFIX", " ", False),
        ("EDITOR", "/bin/true", False),
    ],
)
def test_a_variable_that_replaces_the_programs_of_hooks_switches_them_off(
    tmp_path: Path, journal: Journal, variable: str, value: str, *, is_off: bool
) -> None:
    text = json.dumps({"env": {variable: value}})
    file = written(tmp_path, ".claude/settings.local.json", text)
    session = make(
        journal, "it", agent="claude", runtime="headless", project_path=str(tmp_path)
    )

    assert hooks_switched_off(session) == (str(file) if is_off else "")


def test_gemini_can_switch_off_our_hook_by_its_name(tmp_path: Path, journal: Journal) -> None:
    off = '{"hooksConfig": {"disabled": ["rookery"]}}'
    file = written(tmp_path, ".gemini/settings.json", off)
    session = make(journal, "it", agent="gemini", project_path=str(tmp_path))

    assert hooks_switched_off(session) == str(file)


def test_codex_reads_settings_up_to_the_root_of_the_repository(
    tmp_path: Path, journal: Journal
) -> None:
    root, inner = tmp_path / "repository", tmp_path / "repository" / "a" / "b"
    inner.mkdir(parents=True)
    (root / ".git").mkdir()
    written(tmp_path, ".codex/config.toml", OFF[".codex/config.toml"])
    session = make(journal, "it", agent="codex", runtime="headless", project_path=str(inner))
    outside = hooks_switched_off(session)
    file = written(root, ".codex/config.toml", OFF[".codex/config.toml"])

    assert (outside, hooks_switched_off(session)) == ("", str(file))


@pytest.mark.timeout(20)
def test_a_fifo_in_the_place_of_settings_blocks_nothing(
    tmp_path: Path, journal: Journal
) -> None:
    (tmp_path / ".claude").mkdir()
    os.mkfifo(tmp_path / ".claude" / "settings.json")
    session = make(
        journal, "it", agent="claude", runtime="headless", project_path=str(tmp_path)
    )

    assert hooks_switched_off(session) == ""


async def test_why_names_the_file_that_switches_hooks_off(
    database: Database, journal: Journal, tmp_path: Path
) -> None:
    file = written(tmp_path, ".claude/settings.json", OFF[".claude/settings.json"])
    desk = Desk(database, journal)
    await desk.settle("it", tmp_path, agent="claude", runtime="headless")

    found = await desk.ask("why", session="it")

    assert found.hooks_off == str(file)


def test_the_doctor_names_the_sessions_whose_hooks_are_switched_off() -> None:
    check = hook_switches({"api": "/code/.claude/settings.json"})

    assert check.ok is False
    assert check.items == ("api: hooks are switched off by /code/.claude/settings.json",)
    assert hook_switches({}).ok


DEFINITIONS = [
    ("claude", ".claude/commands/review.md"),
    ("claude", ".claude/commands/deep/er/Review.md"),
    ("claude", ".claude/skills/review/SKILL.md"),
    ("claude", ".claude/plugins/some/commands/review.md"),
    ("gemini", ".gemini/commands/review.toml"),
    ("opencode", ".opencode/command/review.md"),
    ("opencode", ".opencode/commands/review.md"),
]


@pytest.mark.spec("K5")
@pytest.mark.parametrize(("agent", "name"), DEFINITIONS)
def test_a_command_of_a_project_is_found(
    tmp_path: Path, journal: Journal, agent: str, name: str
) -> None:
    session = make(journal, "it", agent=agent, project_path=str(tmp_path))
    before = command_defined_by(session, "review")
    file = written(tmp_path, name, "say: hi")

    assert (before, command_defined_by(session, "review")) == ("", str(file))
    assert command_defined_by(session, "compact") == ""


@pytest.mark.spec("K5")
@pytest.mark.parametrize("text", ["---\nname: review\n---\n", "---\nname: 'Review'\n---\n"])
def test_a_skill_that_calls_itself_like_a_command_is_found(
    tmp_path: Path, journal: Journal, text: str
) -> None:
    file = written(tmp_path, ".claude/skills/harmless/SKILL.md", text)
    session = make(journal, "it", agent="claude", project_path=str(tmp_path))

    assert command_defined_by(session, "review") == str(file)


@pytest.mark.spec("K5")
def test_a_command_in_the_settings_of_opencode_is_found(
    tmp_path: Path, journal: Journal
) -> None:
    text = '{"command": {"review": {"template": "x"}}} // mine'
    file = written(tmp_path, "opencode.jsonc", text)
    session = make(journal, "it", agent="opencode", project_path=str(tmp_path))

    assert command_defined_by(session, "review") == str(file)


@pytest.mark.spec("K5")
def test_commands_count_up_to_the_root_of_the_repository(
    tmp_path: Path, journal: Journal
) -> None:
    inner = tmp_path / "repository" / "a"
    inner.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    written(tmp_path, ".claude/commands/review.md", "x")
    session = make(journal, "it", agent="claude", project_path=str(inner))
    outside = command_defined_by(session, "review")
    file = written(tmp_path / "repository", ".claude/commands/review.md", "x")

    assert (outside, command_defined_by(session, "review")) == ("", str(file))


@pytest.mark.spec("K5")
def test_commands_behind_a_link_are_found_and_a_loop_of_links_ends(
    tmp_path: Path, journal: Journal
) -> None:
    written(tmp_path / "elsewhere", "review.md", "x")
    own = tmp_path / "project" / ".claude"
    own.mkdir(parents=True)
    (own / "commands").symlink_to(tmp_path / "elsewhere")
    (own / "again").symlink_to(own)
    session = make(journal, "it", agent="claude", project_path=str(tmp_path / "project"))

    assert command_defined_by(session, "review")


@pytest.mark.spec("K5")
def test_more_files_than_are_looked_at_could_be_anything(
    tmp_path: Path, journal: Journal
) -> None:
    (tmp_path / ".claude").mkdir()
    for number in range(MAX_FILES + 1):
        (tmp_path / ".claude" / str(number)).touch()
    session = make(journal, "it", agent="claude", project_path=str(tmp_path))

    assert "more than 5,000 files" in command_defined_by(session, "review")


@pytest.mark.spec("K5")
async def test_a_session_may_not_give_a_command_that_the_project_defines(
    database: Database, journal: Journal, tmp_path: Path
) -> None:
    file = written(tmp_path, ".claude/commands/review.md", "!`touch x`")
    desk = Desk(database, journal)
    parent = await desk.settle("parent", tmp_path, agent="claude")
    await desk.settle("kid", tmp_path, agent="claude", parent=parent)
    by = session_caller(parent)

    with pytest.raises(Forbidden, match=str(file)):
        await desk.ask("command", by=by, session="kid", command="/review all of it")

    await desk.ask("command", by=by, session="kid", command="/compact")
    await desk.ask("command", session="kid", command="/review")  # the owner
