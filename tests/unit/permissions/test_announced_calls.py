"""The dialogs of Gemini show only a part of most calls: rules decide on the announced call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from rookery.agents.catalog import AGENTS
from rookery.hook_protocol import Hook
from rookery.model.facts import SessionId
from rookery.model.permissions import Request, RequestId
from rookery.model.sessions import Badge, NativeId
from rookery.permissions.decisions import Permissions
from rookery.permissions.rules_file import RulesFile
from rookery.store import requests, sessions, tokens
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.intake import Intake
from tests.support.contract.agents.gemini import RECORDED
from tests.support.daemon import no_policy
from tests.support.rows import make

pytestmark = pytest.mark.anyio

WORKER = SessionId("worker")
NATIVE = NativeId("11111111-2222-4333-8444-555555555555")


class Gemini:
    """A session of Gemini in a project, whose hooks arrive one after the other."""

    def __init__(self, journal: Journal, database: Database, project: Path) -> None:
        self.rules = RulesFile(database.path.with_name("rules.toml"))
        permissions = Permissions(journal, self.rules, timedelta(minutes=5))
        self._intake = Intake(database, journal, AGENTS, permissions, no_policy(journal))
        self._journal, self._database, self._project = journal, database, project
        self._badge = Badge("")
        self._keys = 0
        self._seen: set[RequestId] = set()

    async def begin(self, rules: str) -> None:
        """Start the session and its first turn under these rules."""
        self.rules.path.write_text(rules.format(project=self._project))
        row = make(
            self._journal,
            WORKER,
            agent="gemini",
            native_id=NATIVE,
            project_path=str(self._project),
        )
        await self._database.write(partial(sessions.add, session=row))
        self._badge = await self._database.write(
            partial(tokens.give_badge, session=WORKER, at=self._journal.clock.now())
        )
        await self.tell("BeforeAgent", prompt="go")

    async def tell(self, event: str, **fields: object) -> None:
        self._keys += 1
        ids = {"session_id": NATIVE, "cwd": str(self._project), "hook_event_name": event}
        payload = {**ids, **fields}
        hook = Hook(f"k{self._keys}", "gemini", self._badge, payload, pid=os.getpid())
        await self._intake.receive(hook)

    async def announce(self, tool: str = "run_shell_command", **given: str) -> None:
        await self.tell("BeforeTool", tool_name=tool, tool_input=given)

    async def show(self, details: Mapping[str, str] | None = None) -> Request:
        """Tell of the dialog that is about to be drawn; return its request."""
        shown = {"type": "exec", "title": "Confirm Shell Command", "command": "make"}
        kind = RECORDED.hook("Notification.ToolPermission.exec")["notification_type"]
        await self.tell("Notification", notification_type=kind, details=details or shown)
        known = await self._database.read(partial(requests.listed, limit=9, only_open=False))
        (new,) = (each for each in known if each.id not in self._seen)
        self._seen.add(new.id)
        return new


@pytest.fixture
def gemini(journal: Journal, database: Database, tmp_path: Path) -> Gemini:
    project = tmp_path / "project"
    project.mkdir()
    return Gemini(journal, database, project)


MAKE = '[[allow]]\ntool = "run_shell_command"\ninput.command = "make"\n'


@pytest.mark.spec("D1", "D4")
@pytest.mark.parametrize(
    "rules",
    [MAKE, MAKE + 'folder = "{project}"', MAKE + "exact = true"],
    ids=["project", "folder", "exact"],
)
async def test_a_command_that_is_allowed_elsewhere_is_not_allowed_in_its_dialog(
    gemini: Gemini, rules: str
) -> None:
    await gemini.begin(rules)
    await gemini.announce(command="make", dir_path="../evil")

    assert (await gemini.show()).outcome == "open"


@pytest.mark.spec("D1", "D4")
@pytest.mark.parametrize(
    "rules",
    [MAKE, MAKE + 'folder = "{project}"', MAKE + "exact = true"],
    ids=["project", "folder", "exact"],
)
async def test_a_command_that_a_rule_allowed_at_its_announcement_is_allowed_in_its_dialog(
    gemini: Gemini, rules: str
) -> None:
    await gemini.begin(rules)
    await gemini.announce(command="make", description="Build it")

    shown = await gemini.show()

    assert (shown.outcome, shown.answered_by, shown.delivery) == ("allowed", "rule", "due")


@pytest.mark.spec("D1", "D4")
async def test_a_dialog_that_may_be_about_two_calls_is_allowed_only_if_both_are(
    gemini: Gemini,
) -> None:
    await gemini.begin(MAKE)
    await gemini.announce(command="make", dir_path="../evil")
    await gemini.announce(command="make")

    assert (await gemini.show()).outcome == "open"

    await gemini.tell("AfterAgent", prompt_response="Done.")
    await gemini.tell("BeforeAgent", prompt="again")
    await gemini.announce(command="make")
    assert (await gemini.show()).outcome == "allowed"


@pytest.mark.spec("D1", "D4")
async def test_a_dialog_that_hides_its_folder_is_not_allowed_without_its_announcement(
    gemini: Gemini,
) -> None:
    await gemini.begin(MAKE)

    assert (await gemini.show()).outcome == "open"


@pytest.mark.spec("D1", "D4")
async def test_an_announcement_that_other_rules_decided_allows_no_dialog(
    gemini: Gemini,
) -> None:
    await gemini.begin(MAKE)
    await gemini.announce(command="make")
    gemini.rules.path.write_text(MAKE + "# changed\n")

    assert (await gemini.show()).outcome == "open"


@pytest.mark.spec("D1", "D4")
@pytest.mark.parametrize(("path", "outcome"), [("/a", "allowed"), ("/b", "open")])
async def test_a_tool_of_an_mcp_server_is_decided_by_its_announced_arguments(
    gemini: Gemini, path: str, outcome: str
) -> None:
    await gemini.begin('[[allow]]\ntool = "mcp_disk_get"\ninput.path = "/a"\nexact = true\n')
    await gemini.announce("mcp_disk_get", path=path)

    shown = await gemini.show({"type": "mcp", "serverName": "disk", "toolName": "get"})

    assert shown.outcome == outcome


@pytest.mark.spec("D1", "D4")
async def test_a_rule_for_exactly_one_call_never_allows_an_edit_that_is_shown_in_part(
    gemini: Gemini,
) -> None:
    await gemini.begin(
        '[[allow]]\ntool = "replace"\ninput.file_path = "*"\ninput.content = "x"\nexact = true'
    )
    edit = {"type": "edit", "title": "", "filePath": "/a", "newContent": "x"}

    assert (await gemini.show(edit)).outcome == "open"
