"""Metrics: what they show, to whom, and that counters never go down."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import Message

from rookery.api.http import build_app
from rookery.api.metrics import COUNTERS, GAUGES, Scrape
from rookery.config import Http, MetricsSettings, Settings
from rookery.http_port import HttpPort
from rookery.model import facts
from rookery.model.scopes import Identity, Scope
from rookery.operations import metrics as extra
from rookery.operations.metrics import check_metrics, find_metrics_problem
from rookery.store import metrics
from rookery.store.journal import Journal
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import PERSON, Desk, session_caller
from tests.support.statistics_model import History

ENABLED = Settings(metrics=MetricsSettings(enabled=True))
READER = Identity(Scope.READER, "tcp")

#: Label names and values that are allowed; whatever names a session or its work is not.
LABELS = {"agent", "status", "activity", "step", "origin", "direction", "source"} | {
    *("kind", "decision", "result", "version")
}


@pytest.fixture
def desk(database: ObservedDatabase, journal: Journal) -> Desk:
    desk = Desk(database, journal, ENABLED)
    desk.context = replace(desk.context, started_at=journal.clock.now())
    return desk


async def scraped(desk: Desk, by: Identity = PERSON, accept: str = "") -> tuple[int, str]:
    """Ask for the metrics; return the status and the text."""
    answered: list[Message] = []

    async def send(message: Message) -> None:
        answered.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/metrics",
        "query_string": b"",
        "headers": [(b"accept", accept.encode())],
        "identity": by,
    }
    await build_app(desk.context)(scope, receive, send)
    body = b"".join(each.get("body", b"") for each in answered)
    return answered[0]["status"], body.decode()


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.anyio
@pytest.mark.spec("A11")
async def test_metrics_show_states_and_sums_by_agent(desk: Desk) -> None:
    worker = await desk.settle("worker")
    told = (
        facts.TurnStarted(worker, "go"),
        facts.UsageReported(worker, 100, 7, 2_000_000),
        facts.UsageReported(worker, 1, 1, 500_000, estimated=True),
        facts.InputAsked(worker, "permission", "may it?"),
        facts.CallDecided(worker, "Bash", "deny", "person"),
    )
    await desk.database.write(lambda db: desk.journal.append(db, *told))

    status, text = await scraped(desk, READER)

    found = samples(text)
    demo = ("agent", "demo")
    expected = {
        ("rookery_sessions", (demo, ("status", "running"))): 1,
        ("rookery_sessions_running", (("activity", "permission"), demo)): 1,
        ("rookery_sessions_created_total", (demo, ("origin", "launched"))): 1,
        ("rookery_turns_total", (demo,)): 1,
        ("rookery_tokens_total", (demo, ("direction", "input"))): 101,
        ("rookery_cost_dollars_total", (demo, ("source", "reported"))): 2.0,
        ("rookery_cost_dollars_total", (demo, ("source", "estimated"))): 0.5,
        ("rookery_requests_asked_total", (("kind", "permission"),)): 1,
        ("rookery_requests_answered_total", (("decision", "deny"),)): 1,
        ("rookery_journal_entries_total", ()): 6,
        ("rookery_writer_queue_jobs", ()): 0,
    }
    assert status == 200
    assert {key: found[key] for key in expected} == expected
    assert "worker" not in text
    assert ("rookery_event_loop_delay_seconds", ()) in found


@pytest.mark.anyio
@pytest.mark.spec("K5")
async def test_a_session_may_not_read_metrics(desk: Desk) -> None:
    worker = await desk.settle("worker")

    status, text = await scraped(desk, session_caller(worker))

    assert (status, "about all sessions" in text) == (403, True)


@pytest.mark.anyio
async def test_metrics_are_off_unless_they_are_enabled(
    database: ObservedDatabase, journal: Journal
) -> None:
    status, _ = await scraped(Desk(database, journal))

    assert status == 404


@pytest.mark.anyio
async def test_prometheus_gets_the_format_that_it_prefers(desk: Desk) -> None:
    _, text = await scraped(desk, accept="application/openmetrics-text;version=1.0.0")

    assert text.endswith("# EOF\n")


def test_names_follow_the_conventions_and_labels_name_no_session(tmp_path: Path) -> None:
    history = History(tmp_path / "a.db", seed=7)
    history.run(60)
    text = generate_latest(Scrape(metrics.read(history.db), {})).decode()
    history.db.close()

    for description in (*GAUGES, *COUNTERS):
        assert re.fullmatch(r"rookery_[a-z_]+", description.name)
        assert not description.name.endswith("_total")  # the library adds it to counters
        assert description.help.endswith(".")
        assert LABELS.issuperset(description.labels)
    values = {value for _, labels in samples(text) for _, value in labels}
    assert values.isdisjoint(map(str, history.agents))


@pytest.mark.spec("A11")
@pytest.mark.parametrize("seed", range(5))
def test_counters_never_go_down(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path / "a.db", seed)
    before: dict[Any, float] = {}

    for _ in range(12):
        history.run(5)  # with kills, restarts and deleted sessions
        text = generate_latest(Scrape(metrics.read(history.db), {})).decode()
        found = {key: value for key, value in samples(text).items() if "_total" in key[0]}
        assert {key: value for key, value in before.items() if found[key] < value} == {}
        before = found

    history.db.close()
    assert len(before) > 20


def test_without_the_library_one_sentence_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extra, "METRICS_LIBRARY", "no_such_library")

    assert find_metrics_problem(Settings()) == ""
    assert "pipx install" in find_metrics_problem(ENABLED)
    assert check_metrics(ENABLED, HttpPort(4870)).ok is False


def test_the_doctor_says_where_metrics_are() -> None:
    off = ENABLED.model_copy(update={"http": Http(enabled=False)})

    assert check_metrics(Settings(), HttpPort(4870)).ok is None
    assert "unix socket only" in check_metrics(off, HttpPort()).detail
    assert "http://127.0.0.1:4870/metrics" in check_metrics(ENABLED, HttpPort(4870)).detail


@pytest.mark.anyio
async def test_without_the_library_the_daemon_runs_and_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra, "METRICS_LIBRARY", "no_such_library")

    status, _ = await scraped(desk)

    assert status == 404
