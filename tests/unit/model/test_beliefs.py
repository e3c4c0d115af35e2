"""Which source is believed about a session: tables of ``model.beliefs``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rookery.model import beliefs, facts
from rookery.model.beliefs import (
    Confidence,
    DialogState,
    FileReport,
    KnownSession,
    confidence,
    is_outdated,
    missed_facts,
    shown_facts,
)
from rookery.model.evidence import Claim, Evidence, Source
from rookery.model.facts import Fact, SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.model.screens import Dialog, View
from rookery.model.sessions import Session

S = SessionId("s1")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
EARLIER, LATER = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)
WORKING, IDLE = Activity.WORKING, Activity.IDLE
PERMISSION, QUESTION = Activity.PERMISSION, Activity.QUESTION
DIALOG = Dialog("permission", "May it?")
TRUST = Dialog("permission", "Trust?")
BOX, DRAFT = View(box=""), View(box="a draft")


def of(**known: Any) -> Session:  # noqa: ANN401 - its fields
    """Make a session of which only what is said here matters."""
    usual = {"name": "it", "agent": "demo", "runtime": "tmux", "computer": "here"}
    times = {"since": NOW, "created_at": NOW, "last_activity_at": NOW}
    return Session(id=S, **{**usual, **times, **known})


def known(
    activity: Activity | None = WORKING,
    *,
    hook: datetime | None = None,
    file: tuple[str, datetime] | None = None,
    sets_hooks: bool = False,
    **fields: Any,  # noqa: ANN401 - of the session
) -> KnownSession:
    """Make a running session about which hooks and its file last said something then."""
    said: dict[Source, Evidence] = {}
    if hook:
        said["hook"] = Evidence("hook", "working", hook)
    if file:
        said["registry"] = Evidence("registry", *file)
    session = of(**{"status": Status.RUNNING, "activity": activity, **fields})
    return KnownSession(session, said, sets_hooks)


def report(claim: Activity, *, said_before: Activity | None = None) -> FileReport:
    return FileReport(S, Claim(claim, LATER, "why"), said_before)


def disagreed(claim: Activity, believed: Activity) -> Fact:
    return facts.EvidenceDisagreed(S, "registry", claim, believed)


INTERRUPTED = facts.TurnEnded(S, "", "interrupted")
SETTLED = facts.InputSettled(S, "terminal")


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("activity", "said_before", "claim", "happened"),
    [
        (WORKING, None, IDLE, [INTERRUPTED]),
        (PERMISSION, None, IDLE, [INTERRUPTED]),
        (PERMISSION, PERMISSION, WORKING, [SETTLED]),
        (PERMISSION, WORKING, WORKING, []),
        (PERMISSION, None, WORKING, []),
        (IDLE, None, WORKING, [facts.TurnStarted(S, "")]),
        (WORKING, None, PERMISSION, [facts.InputAsked(S, "permission", "why")]),
        (
            IDLE,
            None,
            PERMISSION,
            [facts.TurnStarted(S, ""), facts.InputAsked(S, "permission", "why")],
        ),
        (IDLE, None, QUESTION, [facts.InputAsked(S, "question", "why")]),
        (IDLE, None, IDLE, []),
        (WORKING, None, WORKING, []),
    ],
)
def test_an_agents_own_file_tells_what_no_hook_does(
    activity: Activity, said_before: Activity | None, claim: Activity, happened: list[Fact]
) -> None:
    told = report(claim, said_before=said_before)

    found = missed_facts(known(activity, hook=EARLIER), told, DialogState())

    noted = [disagreed(claim, activity)] if happened else []
    assert found == [*noted, *happened]


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("activity", "claim", "happened"),
    [
        (WORKING, IDLE, [facts.TurnEnded(S)]),
        # The transcript says how: it was denied, or it was answered and the turn finished.
        (PERMISSION, IDLE, [facts.TurnEnded(S)]),
        (IDLE, WORKING, [facts.TurnStarted(S, "")]),
    ],
)
def test_without_hooks_an_agents_own_file_disagrees_with_no_one(
    activity: Activity, claim: Activity, happened: list[Fact]
) -> None:
    assert missed_facts(known(activity), report(claim), DialogState()) == happened


@pytest.mark.spec("C8")
def test_a_menu_that_closes_without_a_turn_leaves_its_agent_idle() -> None:
    closed = missed_facts(known(QUESTION), report(IDLE), DialogState(has_turn=False))

    assert closed == [facts.InputSettled(S, "terminal", rests=True)]


@pytest.mark.spec("C8")
@pytest.mark.parametrize("claim", [IDLE, WORKING])
def test_an_agents_own_file_does_not_close_the_dialog_of_a_subagent(claim: Activity) -> None:
    told = report(claim, said_before=PERMISSION)

    assert missed_facts(known(PERMISSION), told, DialogState(is_of_subagent=True)) == []


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("since", "hooked", "outdated"),
    [
        (LATER, LATER, True),  # a hook has changed it
        (LATER, EARLIER, False),  # the same file has, which was believed a moment late
        (EARLIER, LATER, False),  # a hook that changed nothing, such as of a compaction
        (LATER, None, False),
    ],
)
def test_only_what_a_hook_told_since_outdates_an_agents_own_file(
    since: datetime, hooked: datetime | None, outdated: bool
) -> None:
    session = known(hook=hooked, since=since)

    assert is_outdated(session, Claim(IDLE, NOW)) is outdated
    happened = missed_facts(session, FileReport(S, Claim(IDLE, NOW), WORKING), DialogState())
    assert bool(happened) is not outdated


@pytest.mark.spec("C8", "A2")
@pytest.mark.parametrize("status", [each for each in Status if each is not Status.RUNNING])
def test_of_one_that_does_not_run_no_file_tells(status: Status) -> None:
    assert missed_facts(known(None, status=status), report(WORKING), DialogState()) == []


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("said", "sure"),
    [
        ({}, "unsure"),
        ({"process": "running"}, "unsure"),
        ({"screen": "idle"}, "likely"),
        ({"hook": "idle"}, "sure"),
        ({"hook": "idle", "registry": "idle"}, "sure"),
        ({"hook": "idle", "registry": "working"}, "likely"),
        ({"registry": "idle"}, "sure"),
    ],
)
def test_a_state_is_as_sure_as_the_sources_that_tell_it(
    said: dict[Source, str], sure: Confidence
) -> None:
    evidence = {source: Evidence(source, claim, NOW) for source, claim in said.items()}
    session = of(status=Status.RUNNING, activity=IDLE)

    assert confidence(KnownSession(session, evidence)) == sure


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("session", "do_report"),
    [
        (known(runtime="tmux", sets_hooks=True), True),
        (known(runtime="tmux"), False),  # its user has to install them
        (known(runtime="tmux", hook=NOW), True),  # and has done so
        (known(runtime="observed", sets_hooks=True), False),  # Rookery did not launch it
        (known(runtime="observed", hook=NOW), True),
    ],
)
def test_hooks_report_turns_if_they_were_set_at_launch_or_came_before(
    session: KnownSession, do_report: bool
) -> None:
    assert beliefs.hooks_report_turns(session) is do_report


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("session", "is_believed"),
    [
        (known(runtime="tmux", file=("working", NOW)), False),
        (known(runtime="observed"), False),
        (known(runtime="observed", file=("working", EARLIER)), True),
        (known(runtime="observed", file=("idle", NOW)), True),
        (known(runtime="observed", file=("idle", EARLIER)), False),  # it missed a short turn
    ],
)
def test_the_file_of_an_observed_session_is_believed_until_it_is_older_than_the_state(
    session: KnownSession, is_believed: bool
) -> None:
    assert beliefs.file_reports_activity(session) is is_believed


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("activity", "server", "may_end"),
    [
        (WORKING, "/run/default", True),
        (PERMISSION, "/run/default", True),
        (IDLE, "/run/default", False),
        (None, "/run/default", False),
        (WORKING, None, False),
    ],
)
def test_only_the_screen_may_show_the_end_of_a_turn_in_a_users_pane(
    activity: Activity | None, server: str | None, may_end: bool
) -> None:
    session = known(activity, runtime="observed", tmux_server=server, hook=NOW)

    assert beliefs.may_end_unreported(session) is may_end


@pytest.mark.spec("C8")
@pytest.mark.parametrize(("at", "may_end"), [(NOW, False), (EARLIER, True)])
def test_a_current_file_makes_the_screen_of_a_users_pane_unnecessary(
    at: datetime, may_end: bool
) -> None:
    session = known(runtime="observed", tmux_server="/run/default", file=("idle", at))

    assert beliefs.may_end_unreported(session) is may_end


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("file", "rested"),
    [
        (None, False),
        (("idle", LATER), True),
        (("idle", NOW), False),
        (("working", LATER), False),
    ],
)
def test_a_turn_that_was_over_at_once_is_told_by_the_file(
    file: tuple[str, datetime] | None, rested: bool
) -> None:
    assert beliefs.has_rested(known(file=file), since=NOW) is rested


@pytest.mark.spec("C8", "B4")
@pytest.mark.parametrize(
    ("runtime", "source", "is_believed"),
    [
        ("tmux", "process", True),
        ("tmux", "hook", False),
        ("tmux", "registry", False),
        ("observed", "hook", True),
        ("headless", "hook", True),
        ("headless", "registry", True),
    ],
)
def test_a_program_that_rookery_started_ends_only_with_its_process(
    runtime: str, source: Source, is_believed: bool
) -> None:
    assert beliefs.is_end_believed(of(runtime=runtime), source) is is_believed


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("claim", "hook", "may_go_on", "seconds"),
    [
        (IDLE, NOW, True, beliefs.BETWEEN_TURNS_S),
        (IDLE, NOW, False, 0.0),
        (WORKING, NOW, False, beliefs.PROMPT_HOOK_S),
        (WORKING, None, False, 0.0),
        (PERMISSION, NOW, True, 0.0),
    ],
)
def test_hooks_get_time_to_report_what_the_file_says(
    claim: Activity, hook: datetime | None, may_go_on: bool, seconds: float
) -> None:
    found = beliefs.hook_grace_s(known(hook=hook), Claim(claim, NOW), may_go_on=may_go_on)

    assert found == seconds


@pytest.mark.spec("C8", "A7")
@pytest.mark.parametrize(
    ("file", "is_missed"),
    [(None, True), (("idle", EARLIER), True), (("idle", LATER), False)],
)
def test_an_idle_agent_whose_file_makes_a_new_claim_may_have_been_busy(
    file: tuple[str, datetime] | None, is_missed: bool
) -> None:
    claim = Claim(IDLE, LATER)

    assert beliefs.may_have_missed_turns(known(IDLE, file=file), claim) is is_missed
    assert beliefs.needs_transcript(known(IDLE, file=file), claim) is is_missed
    assert not beliefs.may_have_missed_turns(known(WORKING, file=file), claim)


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("activity", "claim", "hook", "is_needed"),
    [
        (IDLE, WORKING, None, True),
        (IDLE, PERMISSION, None, True),
        (WORKING, IDLE, None, True),
        (WORKING, IDLE, NOW, False),
        (PERMISSION, IDLE, None, True),
        (PERMISSION, IDLE, NOW, False),
        (QUESTION, IDLE, None, True),
        (WORKING, WORKING, None, False),
    ],
)
def test_the_transcript_is_read_where_only_the_file_tells_of_a_turn(
    activity: Activity, claim: Activity, hook: datetime | None, is_needed: bool
) -> None:
    assert beliefs.needs_transcript(known(activity, hook=hook), Claim(claim, NOW)) is is_needed


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("background", "claim", "has_ended"),
    [
        (1, Claim(IDLE, LATER), True),
        (0, Claim(IDLE, LATER), False),
        (1, Claim(IDLE, LATER, runs_commands=True), False),
        (1, Claim(WORKING, LATER), False),
        (1, Claim(IDLE, EARLIER), False),
    ],
)
def test_a_later_file_tells_that_background_commands_have_ended(
    background: int, claim: Claim, has_ended: bool
) -> None:
    session = known(IDLE, hook=NOW, background=background)

    assert beliefs.has_background_ended(session, claim) is has_ended


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("session", "needs_none", "is_believed"),
    [
        (known(None, status=Status.STARTING, sets_hooks=True), False, True),
        (known(started_at=NOW, sets_hooks=True), True, False),
        (known(started_at=NOW), False, True),
        (
            known(started_at=NOW, runtime="observed", tmux_server="/run/default", hook=NOW),
            False,
            False,
        ),
        (known(started_at=NOW, runtime="observed", file=("working", NOW)), False, False),
        (known(None, status=Status.FAILED), True, True),
    ],
    ids=["starting", "hooked", "unhooked", "hooked in a user's pane", "file", "over"],
)
def test_a_screen_is_read_where_nothing_better_reports(
    session: KnownSession, needs_none: bool, is_believed: bool
) -> None:
    assert beliefs.needs_no_screen(session, has_screen=True) is needs_none
    assert beliefs.is_changing_screen_believed(session) is is_believed


@pytest.mark.spec("C8", "A3")
@pytest.mark.parametrize(
    ("started_at", "view", "has_start_hook", "is_believed"),
    [
        (None, BOX, True, False),  # the box may not accept input yet
        (None, BOX, False, True),
        (None, View(dialog=TRUST), True, True),
        (NOW, BOX, True, True),
    ],
)
def test_a_start_hook_is_believed_before_a_visible_box(
    started_at: datetime | None, view: View, has_start_hook: bool, is_believed: bool
) -> None:
    session = of(started_at=started_at)

    found = beliefs.is_view_believed(session, view, has_start_hook=has_start_hook)

    assert found is is_believed


@pytest.mark.spec("A3", "C8")
@pytest.mark.parametrize(
    ("status", "activity", "view", "told"),
    [
        (Status.STARTING, None, View(), []),
        (Status.STARTING, None, View(box=""), [facts.SessionStarted(S)]),
        (Status.STARTING, None, View(box="draft"), [facts.SessionStarted(S)]),
        (
            Status.STARTING,
            None,
            View(dialog=TRUST),
            [facts.InputAsked(S, "question", "Trust?")],
        ),
        (Status.RUNNING, Activity.QUESTION, View(dialog=TRUST), []),
        (Status.RUNNING, Activity.QUESTION, View(box=""), [facts.SessionStarted(S)]),
        (Status.CLOSING, None, View(box=""), []),
        (Status.FAILED, None, View(dialog=TRUST), []),
    ],
)
def test_a_screen_tells_that_it_is_up_or_asks_something_first(
    status: Status, activity: Activity | None, view: View, told: list[Fact]
) -> None:
    session = of(status=status, activity=activity)

    assert shown_facts(session, view) == told


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("activity", "view", "told"),
    [
        (Activity.IDLE, View(box=""), []),
        (Activity.IDLE, View(dialog=DIALOG), [facts.InputAsked(S, "permission", "May it?")]),
        (
            Activity.WORKING,
            View(dialog=DIALOG, is_working=True),
            [facts.InputAsked(S, "permission", "May it?")],
        ),
        (Activity.WORKING, View(box="", is_working=True), []),
        (Activity.WORKING, View(box=""), [facts.TurnEnded(S)]),
        (Activity.WORKING, View(), []),
        (Activity.PERMISSION, View(dialog=DIALOG), []),
        (Activity.PERMISSION, View(box=""), [facts.InputSettled(S)]),
        (Activity.QUESTION, View(is_working=True), [facts.InputSettled(S)]),
        (Activity.QUESTION, View(), []),
        (None, View(dialog=DIALOG), []),
    ],
)
def test_a_screen_tells_what_is_not_known_yet(
    activity: Activity | None, view: View, told: list[Fact]
) -> None:
    status = Status.RUNNING if activity else Status.CLOSING
    session = of(status=status, activity=activity, started_at=NOW)

    assert shown_facts(session, view) == told


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("session", "view", "was_working", "ended"),
    [
        (known(sets_hooks=True), BOX, True, INTERRUPTED),
        (known(sets_hooks=True), DRAFT, False, INTERRUPTED),
        (known(), BOX, False, facts.TurnEnded(S)),
        (known(), DRAFT, True, facts.TurnEnded(S)),
        (known(), DRAFT, False, None),  # the text is about to be submitted
        (known(IDLE), BOX, True, None),
        (known(None, status=Status.CLOSING), BOX, True, None),
    ],
)
def test_a_quiet_screen_ends_a_turn_that_hooks_have_not_ended(
    session: KnownSession, view: View, was_working: bool, ended: Fact | None
) -> None:
    assert beliefs.end_on_quiet_screen(session, view, was_working=was_working) == ended
