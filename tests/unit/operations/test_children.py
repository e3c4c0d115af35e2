"""A child does no more unasked than its parent, by what its program really does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import pytest

from rookery.agent_settings import AgentSettings
from rookery.agents.catalog import AGENTS
from rookery.config import Settings, Trust
from rookery.model.autonomy import Autonomy, HeldMode, mode_within
from rookery.model.errors import BadInput, Forbidden, LimitReached, NameTaken, RateExceeded
from rookery.model.facts import SessionEnded, SessionId
from rookery.model.scopes import Identity, Scope
from rookery.model.sessions import NativeId
from rookery.ports.agent import CommandLine, LaunchSpec
from rookery.sessions import record_end
from rookery.store import senders, sessions
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller

pytestmark = pytest.mark.spec("K5")

NAMES = [name for name in AGENTS if name != "shell"]


def line_of(agent: str, mode: str, environment: dict[str, str] | None = None) -> CommandLine:
    return AGENTS[agent].command_line(
        LaunchSpec(
            *((agent,), NativeId("n-1"), "", mode, "hook", Path("/s")),
            environment=environment or {},
        )
    )


def after(argv: tuple[str, ...], option: str) -> str:
    """Return the value of an option; empty if it is not given."""
    return argv[argv.index(option) + 1] if option in argv else ""


def by_option(option: str, **reaches: Autonomy) -> Callable[[CommandLine], Autonomy]:
    """Read the reach off one option: whatever is not named here could mean anything."""
    return lambda line: reaches.get(after(line.argv, option), Autonomy.ALL)


def of_codex(line: CommandLine) -> Autonomy:
    sandbox = after(line.argv, "--sandbox")
    if sandbox == "read-only":
        never = after(line.argv, "--ask-for-approval") == "never"
        return Autonomy.READ if never else Autonomy.ASK
    return Autonomy.RUN if sandbox == "workspace-write" else Autonomy.ALL


def of_opencode(line: CommandLine) -> Autonomy:
    """Read what OpenCode was seen to make of such settings: the last key that fits counts."""
    settings = json.loads(line.environment["OPENCODE_CONFIG_CONTENT"])
    given = settings.get("permission")
    if given is None:
        return Autonomy.ALL
    assert given == settings["agent"][settings["default_agent"]]["permission"]
    if any(given[each] == "allow" for each in ("*", "bash", "task", "webfetch")):
        return Autonomy.ALL
    if given["edit"] == "allow":
        return Autonomy.EDIT
    refused = {given[each] for each in ("*", "bash", "edit", "task")} == {"deny"}
    return Autonomy.READ if refused else Autonomy.ASK


#: How far a command line lets its program go, read off it without a look at our tables.
READ_OFF: dict[str, Callable[[CommandLine], Autonomy]] = {
    "claude": by_option(
        "--permission-mode",
        plan=Autonomy.READ,
        default=Autonomy.ASK,
        manual=Autonomy.ASK,
        dontAsk=Autonomy.ASK,
        acceptEdits=Autonomy.EDIT,
    ),
    "demo": by_option(
        "--permission-mode", plan=Autonomy.READ, default=Autonomy.ASK, acceptEdits=Autonomy.EDIT
    ),
    "gemini": by_option(
        "--approval-mode", plan=Autonomy.READ, default=Autonomy.ASK, auto_edit=Autonomy.EDIT
    ),
    "codex": of_codex,
    "opencode": of_opencode,
}

PARENTS = [(name, mode) for name in AGENTS for mode in ("", "unheard-of", *AGENTS[name].modes)]


def held(agent: str, mode: str) -> HeldMode:
    return HeldMode(agent, mode, AGENTS[agent].modes)


@pytest.mark.parametrize(("agent", "mode"), PARENTS)
def test_what_a_child_is_started_with_goes_no_further_than_its_parent(
    agent: str, mode: str
) -> None:
    parent = held(agent, mode)
    known = READ_OFF[agent](line_of(agent, mode)) if mode in parent.modes else Autonomy.ASK

    started = 0
    for child, asked in product(NAMES, ("", "unheard-of", "plan", "default", "acceptEdits")):
        try:
            given = mode_within(parent, held(child, asked))
        except Forbidden:
            continue
        started += 1
        if (child, given) != (agent, mode):
            assert READ_OFF[child](line_of(child, given)) <= known, (child, asked, given)
    assert started >= len(NAMES)


@pytest.mark.parametrize("agent", NAMES)
def test_what_a_dialect_says_of_its_modes_is_what_its_command_line_does(agent: str) -> None:
    for mode, reach in AGENTS[agent].modes.items():
        assert READ_OFF[agent](line_of(agent, mode)) <= reach, mode


def test_a_freer_mode_is_refused_by_name_and_another_is_named() -> None:
    with pytest.raises(Forbidden, match=r"at most its parent's \(plan\).*codex.*: plan\."):
        mode_within(held("claude", "plan"), held("codex", "workspace-write"))
    with pytest.raises(Forbidden, match="at most its parent's"):
        mode_within(held("claude", "acceptEdits"), held("codex", "workspace-write"))


def test_a_child_of_the_same_agent_in_the_same_mode_is_started_alike() -> None:
    assert mode_within(held("opencode", ""), held("opencode", "")) == ""
    assert mode_within(held("claude", "auto"), held("claude", "auto")) == "auto"


@pytest.mark.spec("K5")
@pytest.mark.parametrize(
    ("at_start", "present", "wanted", "given"),
    [
        ("acceptEdits", "plan", "acceptEdits", None),
        ("acceptEdits", "plan", "default", None),
        ("acceptEdits", "plan", "plan", "plan"),
        ("acceptEdits", "plan", "", "plan"),
        ("acceptEdits", "acceptEdits", "acceptEdits", "acceptEdits"),
        ("acceptEdits", "bypassPermissions", "acceptEdits", "acceptEdits"),
        ("acceptEdits", "bypassPermissions", "bypassPermissions", None),
        ("acceptEdits", "of a later version", "acceptEdits", None),
        ("", "plan", "", "plan"),
        ("", "plan", "default", None),
        ("", "default", "", "default"),
        ("", "bypassPermissions", "acceptEdits", None),
        ("", "bypassPermissions", "", "default"),
    ],
)
def test_a_child_goes_no_further_than_its_parent_does_at_present(
    at_start: str, present: str, wanted: str, given: str | None
) -> None:
    parent = replace(held("claude", at_start), present=present)

    if given is None:
        with pytest.raises(Forbidden, match=f"now {present}"):
            mode_within(parent, held("claude", wanted))
    else:
        assert (
            AGENTS["claude"].modes[mode_within(parent, held("claude", wanted))]
            == (AGENTS["claude"].modes[given])
        )


def test_opencode_is_not_started_in_a_mode_that_cannot_be_set() -> None:
    with pytest.raises(BadInput, match="no permission mode"):
        line_of("opencode", "bypassPermissions")
    with pytest.raises(BadInput, match="cannot be read"):
        line_of("opencode", "plan", {"OPENCODE_CONFIG_CONTENT": "{"})


def test_a_mode_of_opencode_leaves_the_other_settings_as_they_are() -> None:
    own = {"model": "a/b", "agent": {"build": {"prompt": "x"}, "mine": {"mode": "primary"}}}

    line = line_of("opencode", "plan", {"OPENCODE_CONFIG_CONTENT": json.dumps(own)})

    given = json.loads(line.environment["OPENCODE_CONFIG_CONTENT"])
    assert given["model"] == "a/b"
    assert given["agent"]["mine"] == {"mode": "primary"}
    assert given["agent"]["build"]["prompt"] == "x"


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock) -> Desk:
    return Desk(database, Journal("here", clock, readers={}))


@pytest.mark.anyio
async def test_the_restriction_is_in_the_row_that_the_child_is_started_from(
    desk: Desk, tmp_path: Path
) -> None:
    planner = await desk.settle("planner", tmp_path, agent="claude", permission_mode="plan")

    by = session_caller(planner)
    made = await desk.ask("start", by=by, agent="opencode", project=str(tmp_path))
    by_person = await desk.ask("start", agent="opencode", project=str(tmp_path))

    assert made.permission_mode == "plan"
    assert by_person.permission_mode == ""
    with pytest.raises(Forbidden):
        await desk.ask(
            *("start",), by=by, agent="claude", project=str(tmp_path), permission_mode="default"
        )


@pytest.mark.anyio
async def test_a_session_in_a_stricter_mode_than_at_its_start_starts_no_freer_child(
    desk: Desk, tmp_path: Path
) -> None:
    words = {"agent": "claude", "project": str(tmp_path), "permission_mode": "acceptEdits"}
    parent = await desk.settle(
        "parent", tmp_path, agent="claude", permission_mode="acceptEdits"
    )
    free = await desk.ask("start", by=session_caller(parent), **words)

    await desk.database.write(partial(senders.learn_mode, session=parent, mode="plan"))

    assert free.permission_mode == "acceptEdits"
    with pytest.raises(Forbidden, match="acceptEdits, now plan"):
        await desk.ask("start", by=session_caller(parent), **words)


@pytest.mark.anyio
@pytest.mark.parametrize(("own", "most"), [(None, 5_000_000), (2_000_000, 2_000_000)])
async def test_a_child_has_no_larger_budget_than_its_parent_or_than_is_usual(
    desk: Desk, tmp_path: Path, own: int | None, most: int
) -> None:
    parent = await desk.settle("parent", tmp_path, budget=own)
    asked: dict[str, Any] = {"agent": "claude", "project": str(tmp_path), "runtime": "sdk"}
    asked["budget_usd"] = 1000.0

    made = await desk.ask("start", by=session_caller(parent), **asked)
    by_person = await desk.ask("start", **asked)

    assert (made.budget, by_person.budget) == (most, 1_000_000_000)


@pytest.mark.anyio
async def test_a_child_works_in_its_parents_project_or_below(
    desk: Desk, tmp_path: Path
) -> None:
    own, below, beside = tmp_path / "own", tmp_path / "own" / "below", tmp_path / "own-beside"
    for folder in (own, below, beside):
        folder.mkdir()
    (own / "link").symlink_to(beside)
    by = session_caller(await desk.settle("planner", own))

    for folder in (own, below):
        await desk.ask("start", by=by, agent="demo", project=str(folder))
    for folder in (tmp_path, beside, own / "link", own / ".." / "own-beside"):
        with pytest.raises(Forbidden, match="its own project only"):
            await desk.ask("start", by=by, agent="demo", project=str(folder))


@pytest.mark.anyio
async def test_trust_can_let_a_session_start_others_anywhere(
    database: ObservedDatabase, clock: FakeClock, tmp_path: Path
) -> None:
    settings = Settings(trust=Trust(projects="any"))
    desk = Desk(database, Journal("here", clock, readers={}), settings)
    by = session_caller(await desk.settle("planner", "/nowhere"))

    made = await desk.ask("start", by=by, agent="demo", project=str(tmp_path))

    assert made.parent == "planner"


@pytest.mark.anyio
async def test_sessions_start_others_up_to_3_generations(desk: Desk, tmp_path: Path) -> None:
    last = await desk.settle("of-a-person", tmp_path)
    words: dict[str, Any] = {"agent": "demo", "project": str(tmp_path)}

    for _ in range(3):
        last = (await desk.ask("start", by=session_caller(last), **words)).id
    with pytest.raises(LimitReached, match="3 generations"):
        await desk.ask("start", by=session_caller(last), **words)


@pytest.mark.anyio
async def test_a_session_has_20_live_descendants_at_most(desk: Desk, tmp_path: Path) -> None:
    planner = await desk.settle("planner", tmp_path)
    child = await desk.settle("child", tmp_path, parent=planner)
    await desk.settle("grandchild", tmp_path, parent=child)
    for number in range(17):
        await desk.settle(f"kid-{number}", tmp_path, parent=planner)
    start = partial(
        desk.ask, "start", by=session_caller(planner), agent="demo", project=str(tmp_path)
    )

    await start()
    with pytest.raises(LimitReached, match="20 descendants"):
        await start()
    ended = SessionEnded(SessionId("kid-0"), "exit")
    await desk.database.write(lambda db: desk.journal.append(db, ended))

    assert (await start()).parent == planner


@pytest.mark.anyio
async def test_a_session_starts_only_so_many_in_a_minute(
    database: ObservedDatabase, clock: FakeClock, tmp_path: Path
) -> None:
    limits = Settings().limits.model_copy(update={"starts_a_minute": 2})
    desk = Desk(database, Journal("here", clock, readers={}), Settings(limits=limits))
    by = session_caller(await desk.settle("planner", tmp_path))
    words: dict[str, Any] = {"agent": "demo", "project": str(tmp_path)}

    for _ in range(2):
        await desk.ask("start", by=by, **words)
    with pytest.raises(RateExceeded, match="at most 2 others a minute"):
        await desk.ask("start", by=by, **words)
    await desk.ask("start", **words)
    clock.advance(61)

    assert (await desk.ask("start", by=by, **words)).parent == "planner"


@pytest.mark.anyio
@pytest.mark.spec("K1")
@pytest.mark.parametrize("is_fork", [None, False, True])
async def test_the_environment_of_a_sessions_command_is_left_out(
    desk: Desk, tmp_path: Path, *, is_fork: bool | None
) -> None:
    native_id = "0a0b0c0d-0000-4000-8000-000000000001"
    planner = await desk.settle("planner", tmp_path, agent="claude")
    old = await desk.settle(
        "old", tmp_path, agent="claude", parent=planner, native_id=native_id
    )
    given: dict[str, Any] = {"environment": {"PATH": "/evil"}}
    if is_fork is None:
        operation, given = "start", given | {"agent": "demo", "project": str(tmp_path)}
    else:
        operation, given = "resume", given | {"session": old, "fork": is_fork}
    if is_fork is False:
        await desk.database.write(
            lambda db: desk.journal.append(db, SessionEnded(old, "it is done"))
        )

    made = await desk.ask(operation, by=session_caller(planner), **given)

    asked = await desk.database.read(partial(sessions.launch_of, session=made.id))
    assert asked["environment"] == {}
    with pytest.raises(Forbidden, match="only the owner may pass an environment"):
        await desk.ask(operation, by=Identity(Scope.SESSION, "tcp", planner), **given)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["Worker", "w0rker", "vvorker"])
async def test_a_session_gives_no_child_a_name_that_looks_like_anothers(
    desk: Desk, tmp_path: Path, name: str
) -> None:
    by = session_caller(await desk.settle("planner", tmp_path))
    await desk.settle("worker", tmp_path)

    with pytest.raises(NameTaken, match="looks like it"):
        await desk.ask("start", by=by, agent="demo", project=str(tmp_path), name=name)

    made = await desk.ask("start", by=by, agent="demo", project=str(tmp_path), name="tester")
    assert made.name == "tester"


@pytest.mark.anyio
@pytest.mark.spec("G1")
async def test_a_budget_is_refused_where_the_agent_does_not_report_its_cost(
    desk: Desk, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="demo does not report what it costs"):
        await desk.ask(
            "start", agent="demo", project=str(tmp_path), runtime="acp", budget_usd=1.0
        )


@pytest.mark.anyio
@pytest.mark.spec("K5")
async def test_a_session_starts_a_child_over_acp_only_if_the_owner_configured_that(
    desk: Desk, tmp_path: Path
) -> None:
    parent = session_caller(await desk.settle("parent", tmp_path))
    over_acp = session_caller(await desk.settle("over-acp", tmp_path, runtime="acp"))
    asked: dict[str, Any] = {"agent": "demo", "project": str(tmp_path)}

    with pytest.raises(Forbidden, match="Use the runtime tmux"):
        await desk.ask("start", by=parent, **asked, runtime="acp")
    made = [
        await desk.ask("start", **asked, runtime="acp"),
        await desk.ask("start", by=parent, **asked),
        await desk.ask("start", by=over_acp, **asked, runtime="acp"),
        await desk.ask("start", by=over_acp, **asked),
    ]
    settings = Settings(agents={"demo": AgentSettings(runtime="acp")})
    configured = Desk(desk.database, desk.journal, settings)
    made.append(await configured.ask("start", by=parent, **asked))

    assert [each.runtime for each in made] == ["acp", "tmux", "acp", "tmux", "acp"]


@pytest.mark.anyio
@pytest.mark.spec("K5")
@pytest.mark.parametrize("fork", [True, False])
async def test_a_session_does_not_move_a_conversation_to_acp(
    desk: Desk, tmp_path: Path, fork: bool
) -> None:
    parent = session_caller(await desk.settle("parent", tmp_path, agent="claude"))
    for name, runtime in (("in-tmux", "tmux"), ("over-acp", "acp")):
        native_id = NativeId(str(uuid5(NAMESPACE_DNS, name)))
        more = {"parent": "parent", "native_id": native_id, "agent": "claude"}
        child = await desk.settle(name, tmp_path, runtime=runtime, **more)
        end = partial(record_end.end, journal=desk.journal, session=child)
        await desk.database.write(partial(end, outcome="completed", reason="it ended"))

    for words in ({"session": "in-tmux", "runtime": "acp"}, {"session": "over-acp"}):
        with pytest.raises(Forbidden, match="may not start claude over ACP"):
            await desk.ask("resume", by=parent, fork=fork, **words)


@pytest.mark.anyio
@pytest.mark.spec("K5")
async def test_only_the_owner_chooses_the_origin_of_a_session(
    desk: Desk, tmp_path: Path
) -> None:
    parent = await desk.settle("parent", tmp_path)
    asked: dict[str, Any] = {"agent": "demo", "project": str(tmp_path)}

    with pytest.raises(Forbidden, match="only the owner may choose the origin"):
        await desk.ask("start", by=session_caller(parent), **asked, origin="person")
    child = await desk.ask("start", by=session_caller(parent), **asked)
    by_person = await desk.ask("start", **asked, origin="telegram|1")

    assert (child.origin, by_person.origin) == ("session parent", "telegram|1")
