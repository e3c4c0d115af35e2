"""The folder of a command: what rules make of it, and what a person is shown."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest

from rookery.model.facts import SessionId, SessionStarted
from rookery.model.patterns import Pattern
from rookery.model.permissions import Call, Outcome, RequestId, Verdict
from rookery.model.rules import UNCERTAIN, Circumstances, Decision, Rule, decide, needs_folder
from rookery.permissions.decisions import Permissions, WaitForAnswer
from rookery.permissions.path_resolver import PathResolver
from rookery.permissions.rules_file import RulesFile
from rookery.store import audit, flags, requests, sessions
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.rows import make

HERE = Circumstances("codex", "/code/api", "build")

#: Allows one command, with and without the name of the project.
ALLOW = Rule("yes", "allow", Pattern("Bash"), {"command": Pattern("rm -rf build")})
ALLOW_HERE = Rule("yes", "allow", ALLOW.tool, ALLOW.input, project=Pattern("/code/api"))


def remove(folder: str = "", **more: Any) -> Call:  # noqa: ANN401 - as agents give it
    return Call("Bash", {"command": "rm -rf build", **more}, is_asked=False, folder=folder)


@pytest.mark.spec("D1")
@pytest.mark.parametrize("rule", [ALLOW, ALLOW_HERE, Rule("all", "allow")])
@pytest.mark.parametrize(
    ("call", "allowed"),
    [
        (remove("/code/api"), True),
        (remove("/code/api/sub"), True),
        (remove("/code/api-old"), False),
        (remove("/code"), False),
        (remove("/code/api/../web"), False),
        (remove("/code/api", workdir="/code/web"), False),
        (remove("/code/api", dir_path="../web"), False),
        (remove("/code/api", directory="sub"), True),
        (remove("/code/api", workdir="sub", cwd="/"), False),
        (Call("Read", {"file_path": "/etc/x"}, folder="/code/web"), None),
    ],
)
def test_a_rule_allows_no_command_outside_the_project(
    rule: Rule, call: Call, *, allowed: bool | None
) -> None:
    is_allowed = decide([rule], call, HERE) is rule

    # Of other calls the folder does not matter.
    assert is_allowed is (rule.name == "all" if allowed is None else allowed)


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    ("rule", "call", "allowed"),
    [
        (Rule("x", "allow", folder=Pattern("/code/*")), remove("/code/web"), True),
        (Rule("x", "allow", folder=Pattern("/code/*")), remove("/srv"), False),
        (Rule("x", "allow", folder=Pattern("*")), remove("/srv"), True),
        (
            Rule("x", "allow", input={"workdir": Pattern("/srv")}),
            remove("/code/api", workdir="/srv"),
            True,
        ),
        (
            Rule("x", "allow", input={"workdir": Pattern("/srv")}),
            remove("/code/api", workdir="/srv", cwd="/etc"),
            False,
        ),
    ],
)
def test_a_rule_that_names_the_folder_allows_a_command_there(
    rule: Rule, call: Call, *, allowed: bool
) -> None:
    assert (decide([rule], call, HERE) is rule) is allowed


@pytest.mark.spec("D1")
@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_rules_that_restrict_hold_in_every_folder_unless_they_name_one(
    decision: Decision,
) -> None:
    anywhere = Rule("a", decision, Pattern("Bash"), project=Pattern("/code/api"))
    there = Rule("b", decision, Pattern("Bash"), folder=Pattern("/srv*"))

    assert decide([anywhere], remove("/srv"), HERE) is anywhere
    assert decide([there], remove("/srv/web"), HERE) is there
    assert decide([there], remove("/code/api"), HERE) is None


@pytest.mark.anyio
@pytest.mark.spec("D1")
async def test_a_link_does_not_lead_a_command_out_of_its_project(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "link").symlink_to(tmp_path)
    project = str((tmp_path / "project").resolve())
    where = Circumstances("codex", project, "build")
    paths = PathResolver()

    inside = await paths.resolve_folders(remove(project), folder=project)
    linked = await paths.resolve_folders(remove(f"{project}/link"), folder=f"{project}/link")
    named = remove(project, workdir="link")
    named = await paths.resolve_folders(named, folder=project)

    decided = [decide([ALLOW], each, where) for each in (inside, linked, named)]
    assert decided == [ALLOW, None, None]
    assert not needs_folder([Rule("no", "deny")], inside)
    assert needs_folder([ALLOW], inside)


@pytest.mark.anyio
@pytest.mark.spec("D1")
async def test_a_folder_that_cannot_be_looked_up_is_allowed_by_no_rule() -> None:
    def fail(path: str) -> str:
        raise OSError(path)

    call = await PathResolver(real_path=fail).resolve_folders(remove("/x"), folder="/x")
    where = Circumstances("codex", "/x", "build")
    deny = Rule("no", "deny", folder=Pattern("/secret*"))

    assert decide([Rule("all", "allow")], call, where) is None
    assert decide([Rule("all", "allow", folder=Pattern("*"))], call, where) is None
    assert decide([deny], call, where) is UNCERTAIN


def ask(db: Connection, clock: FakeClock, call: Call) -> tuple[Permissions, RequestId]:
    """Have a session in ``/code/api`` ask a person about a call."""
    journal = Journal("here", clock, {}, set())
    sessions.add(db, make(journal, "w", agent="codex", project_path="/code/api"))
    journal.append(db, SessionStarted(SessionId("w")))
    session = sessions.get(db, SessionId("w"))
    flags.set_mode(db, "remote")
    permissions = Permissions(journal, RulesFile(Path("/nonexistent")), timedelta(minutes=5))
    reading = permissions.rules_file.look()
    assert reading
    permissions.rules_file.adopt(reading)
    ruling = permissions.consider(db, session, call, hook="k", can_ask=False)
    assert isinstance(ruling, WaitForAnswer)
    return permissions, ruling.request


@pytest.mark.spec("D2", "D4")
@pytest.mark.parametrize(
    ("given", "folder", "message"),
    [
        ({}, "/code/api", "May it use Bash? ls"),
        ({}, "/srv/web", "May it use Bash in /srv/web? ls"),
        ({}, "/code/api/sub", "May it use Bash in /code/api/sub? ls"),
        ({"workdir": "../web"}, "/code/api", "May it use Bash in /code/web? ls"),
        ({"workdir": "sub"}, "/code/api", "May it use Bash in /code/api/sub? ls"),
    ],
)
def test_a_person_is_shown_the_folder_of_a_command_that_is_not_the_projects(
    db: Connection, clock: FakeClock, given: dict[str, str], folder: str, message: str
) -> None:
    call = Call("Bash", {"command": "ls", **given}, folder=folder)
    permissions, request = ask(db, clock, call)

    asked = requests.get(db, request)
    permissions.answer(db, asked, Verdict(Outcome.ALLOWED, "anna"))

    assert asked.message == message
    assert asked.folder == call.working_folder
    (kept,) = audit.decided(db, limit=9)
    assert kept.folder == call.working_folder
