"""Profiles: each key of a profile has its effect, and sessions start no freer ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from rookery import config
from rookery.agent_settings import AgentSettings
from rookery.agents.catalog import AGENTS
from rookery.cli.configuration import flat, masked
from rookery.config import Settings, check_agents
from rookery.home import find_home
from rookery.hook_setup.programs import HookPrograms
from rookery.model.errors import (
    AgentUnknown,
    BadInput,
    ConfigBroken,
    Forbidden,
    ProfileUnknown,
)
from rookery.model.sessions import NativeId, Session
from rookery.sessions import record_end
from rookery.startup.components import Parts
from rookery.store import sessions
from rookery.store.journal import Journal
from rookery.tracking.agent_folders import folders_of
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import FakeRuntime
from tests.support.operations import PROGRAM, Desk, session_caller

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I5")]

PROFILES = """
[agents.demo]
arguments = ["--agent"]

[profiles.work]
agent = "claude"
arguments = ["--add-dir", "../lib"]
model = "opus"
permission_mode = "plan"
environment = { ACCOUNT = "s3cret", PATH = "/bin" }
config_dir = "~/accounts/work"

[profiles.own]
agent = "demo"
command = ["/bin/true", "-x"]
arguments = ["-y"]

[profiles.plain]
agent = "demo"
model = "small"

[profiles.free]
agent = "claude"
permission_mode = "bypassPermissions"
"""


#: Where the profile ``work`` has its account.
WORK = str(Path("~/accounts/work").expanduser())


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    file = tmp_path / "config.toml"
    file.write_text(PROFILES)
    return config.load(file)


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock, settings: Settings) -> Desk:
    return Desk(database, Journal("here", clock, readers={}), settings)


async def command_of(desk: Desk, session: Session) -> list[str]:
    launch = await desk.database.read(lambda db: sessions.launch_of(db, session.id))
    command: list[str] = launch["command"]
    return command


async def test_a_profile_names_agent_model_and_mode_and_is_stored(desk: Desk) -> None:
    session: Session = await desk.ask("start", profile="work", project="/")

    assert (session.agent, session.profile) == ("claude", "work")
    assert (session.model, session.permission_mode) == ("opus", "plan")
    assert await command_of(desk, session) == [PROGRAM, "--add-dir", "../lib"]


async def test_what_is_asked_for_has_precedence_over_the_profile(desk: Desk) -> None:
    session = await desk.ask(
        "start", profile="work", project="/", model="haiku", permission_mode="default"
    )

    assert (session.model, session.permission_mode) == ("haiku", "default")


async def test_the_command_of_a_profile_replaces_the_agents(desk: Desk) -> None:
    session = await desk.ask("start", profile="own", project="/")

    assert await command_of(desk, session) == ["/bin/true", "-x", "-y"]


async def test_arguments_are_added_to_the_program_without_a_configured_command(
    database: ObservedDatabase, clock: FakeClock, settings: Settings, tmp_path: Path
) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    desk = Desk(database, Journal("here", clock, readers={}), settings)
    agents = {"claude": AgentSettings(arguments=("--agent",))}
    desk.context.settings.agents.update(agents)
    found = {"PATH": str(tmp_path)}

    session = await desk.ask("start", agent="claude", project="/", environment=found)

    assert await command_of(desk, session) == [str(program), "--agent"]


async def test_a_profile_is_kept_when_a_session_is_resumed(desk: Desk) -> None:
    first = await desk.ask("start", profile="work", project="/")
    await desk.database.write(
        lambda db: record_end.end(
            db, desk.journal, first.id, outcome="completed", reason="done"
        )
    )

    resumed = await desk.ask("resume", session=first.id)
    branch = await desk.ask("resume", session=first.id, fork=True)

    assert resumed.profile == branch.profile == "work"
    assert resumed.model == "opus"
    assert await command_of(desk, resumed) == await command_of(desk, first)


@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        ({"profile": "wrok"}, ProfileUnknown, "free, own, plain, work"),
        ({"profile": "work", "agent": "demo"}, BadInput, "starts claude"),
        ({}, BadInput, "which agent"),
    ],
)
async def test_a_profile_that_cannot_be_used_is_refused(
    desk: Desk, given: dict[str, Any], error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        await desk.ask("start", project="/", **given)


async def environment(
    desk: Desk, settings: Settings, home: Path, agent: str, profile: str
) -> dict[str, str]:
    """Return the environment that the daemon gives to a session of a profile."""
    here = find_home({"ROOKERY_HOME": str(home)})
    here.prepare()
    parts = Parts(here, settings, {"HOME": "/home/me", "CODEX_HOME": "/mine"})
    programs = HookPrograms(here, AGENTS)
    supervisor = parts.supervisor(desk.database, desk.journal, FakeRuntime(), programs)
    return dict(supervisor.launcher.context.environment(agent, profile, {"PATH": "/usr/bin"}))


async def test_a_program_gets_the_variables_of_its_profile(
    desk: Desk, settings: Settings, tmp_path: Path
) -> None:
    own = await environment(desk, settings, tmp_path / "h", "claude", "work")
    none = await environment(desk, settings, tmp_path / "h", "claude", "")

    assert (own["ACCOUNT"], own["PATH"]) == ("s3cret", "/bin")
    assert own["CLAUDE_CONFIG_DIR"] == WORK
    assert "ACCOUNT" not in none
    assert "CLAUDE_CONFIG_DIR" not in none


@pytest.mark.parametrize(
    ("agent", "variable"),
    [
        ("claude", "CLAUDE_CONFIG_DIR"),
        ("codex", "CODEX_HOME"),
        ("gemini", "GEMINI_CLI_HOME"),
        ("opencode", "OPENCODE_CONFIG_DIR"),
    ],
)
async def test_a_configuration_folder_is_the_agents_own_variable(
    desk: Desk, tmp_path: Path, agent: str, variable: str
) -> None:
    profile = {"agent": agent, "config_dir": "/accounts/a"}
    settings = Settings.model_validate({"profiles": {"a": profile}})

    given = await environment(desk, settings, tmp_path / "h", agent, "a")

    assert given[variable] == "/accounts/a"


async def test_a_profile_that_is_gone_at_the_launch_is_an_error(
    desk: Desk, tmp_path: Path
) -> None:
    with pytest.raises(ProfileUnknown, match="has no"):
        await environment(desk, Settings(), tmp_path / "h", "claude", "work")


@pytest.mark.spec("C1")
def test_the_files_of_a_profiles_account_are_found(settings: Settings) -> None:
    folders = folders_of(AGENTS["claude"], settings, {"HOME": "/home/me"})

    assert Path(WORK) in folders
    assert Path("/home/me/.claude") in folders


def test_the_values_of_a_profiles_variables_are_never_shown(settings: Settings) -> None:
    lines = flat(masked(settings.model_dump(mode="json")))

    assert 'profiles.work.environment.ACCOUNT = "(set)"' in lines
    assert 'profiles.work.environment.PATH = "(set)"' in lines
    assert 'profiles.work.config_dir = "~/accounts/work"' in lines
    assert "s3cret" not in "\n".join(lines)


@pytest.mark.parametrize(
    ("profile", "error"),
    [
        ({"agent": "clod"}, AgentUnknown),
        ({"agent": "demo", "config_dir": "/x"}, ConfigBroken),
    ],
)
def test_a_profile_that_can_start_nothing_is_an_error(
    profile: dict[str, str], error: type[Exception]
) -> None:
    settings = Settings.model_validate({"profiles": {"a": profile}})

    with pytest.raises(error, match=r"profiles\.a"):
        check_agents(settings)


@pytest.mark.parametrize(
    "text",
    [
        '[profiles."a b"]\nagent = "demo"',
        "[profiles.a]\nmodel = 'x'",
        "[profiles.a]\nagent = 'demo'\nmodle = 'x'",
        "[profiles.a]\nagent = 'claude'\nconfig_dir = 'relative'",
        "[profiles.a]\nagent = 'demo'\nenvironment = { 'A=B' = 'x' }",
    ],
)
def test_a_profile_with_a_mistake_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)

    with pytest.raises(ConfigBroken, match="profiles"):
        config.load(file)


@pytest.mark.spec("K5")
@pytest.mark.parametrize(
    ("parent", "profile", "is_allowed"),
    [
        ("", "plain", True),
        ("", "own", False),
        ("", "work", False),
        ("", "free", False),
        ("work", "work", True),
        ("work", "own", False),
    ],
)
async def test_a_session_starts_only_profiles_that_are_not_freer(
    desk: Desk, parent: str, profile: str, *, is_allowed: bool
) -> None:
    boss = await desk.settle(
        "boss",
        "/",
        agent="claude",
        profile=parent,
        permission_mode="plan" if parent else "default",
        native_id=NativeId(str(uuid4())),
    )
    start = desk.ask("start", by=session_caller(boss), profile=profile, project="/")

    if is_allowed:
        assert (await start).profile == profile
    else:
        with pytest.raises(Forbidden):
            await start
