"""Serve metrics in the formats of Prometheus. Needs the extra ``metrics``.

No label names a session, a project or a text: whatever collects metrics may keep them for
long, and show them to other people.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from sqlite3 import Connection
from typing import TypeAlias

from anyio.lowlevel import checkpoint
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rookery import __version__
from rookery.api.parameters import one_method
from rookery.model.errors import Forbidden
from rookery.model.money import in_dollars
from rookery.model.scopes import Need
from rookery.operations.access import reach, require
from rookery.operations.context import Caller, Context
from rookery.store import metrics
from rookery.store.metrics import Figures

PATH = "/metrics"

Family: TypeAlias = type[CounterMetricFamily] | type[GaugeMetricFamily]

#: The values of labels, and the number for them.
Samples: TypeAlias = Iterable[tuple[tuple[str, ...], float]]


@dataclass(frozen=True, slots=True)
class Description:
    """A metric, its labels, and how its samples are read from the figures."""

    name: str
    help: str
    labels: tuple[str, ...]
    samples: Callable[[Figures], Samples]


def _by_label(name: str) -> Callable[[Figures], Samples]:
    """Return a reader of the counters of this name, by their labels."""
    return lambda figures: [
        ((label,), number)
        for (counter, label), number in figures.counters.items()
        if counter == name
    ]


def _alone(name: str) -> Callable[[Figures], Samples]:
    """Return a reader of a counter without labels."""
    return lambda figures: [((), figures.counters.get((name, ""), 0))]


def _created(figures: Figures) -> Samples:
    for each in figures.agents:
        yield (each.label, "launched"), each.launched
        yield (each.label, "found"), each.found


def _tokens(figures: Figures) -> Samples:
    for each in figures.agents:
        yield (each.label, "input"), each.input_tokens
        yield (each.label, "output"), each.output_tokens


def _cost(figures: Figures) -> Samples:
    for each in figures.agents:
        if each.cost is not None:
            yield (each.label, "reported"), in_dollars(each.cost - each.estimated_cost)
            yield (each.label, "estimated"), in_dollars(each.estimated_cost)


GAUGES: tuple[Description, ...] = (
    Description(
        "rookery_sessions",
        "Live sessions.",
        ("agent", "status"),
        lambda figures: figures.live.items(),
    ),
    Description(
        "rookery_sessions_running",
        "Running sessions by activity: permission and question wait for a person.",
        ("agent", "activity"),
        lambda figures: figures.activities.items(),
    ),
    Description(
        "rookery_messages",
        "Stored messages to sessions, by the step of their delivery.",
        ("step",),
        lambda figures: [((step,), number) for step, number in figures.messages.items()],
    ),
)

COUNTERS: tuple[Description, ...] = (
    Description(
        "rookery_sessions_created",
        "Sessions that Rookery has launched or found.",
        ("agent", "origin"),
        _created,
    ),
    Description(
        "rookery_sessions_ended",
        "Sessions that have ended.",
        ("agent", "status"),
        lambda figures: figures.ended.items(),
    ),
    Description(
        "rookery_turns",
        "Turns that have begun.",
        ("agent",),
        lambda figures: [((each.label,), each.turns) for each in figures.agents],
    ),
    Description("rookery_tokens", "Tokens used.", ("agent", "direction"), _tokens),
    Description(
        "rookery_cost_dollars",
        "Cost as reported by agents, and as estimated from configured prices.",
        ("agent", "source"),
        _cost,
    ),
    Description(
        "rookery_requests_asked",
        "Permissions and questions that sessions have asked for.",
        ("kind",),
        _by_label("requests_asked"),
    ),
    Description(
        "rookery_requests_answered",
        "Requests that a person or a session has decided or answered.",
        ("decision",),
        _by_label("requests_answered"),
    ),
    Description(
        "rookery_calls_ruled",
        "Tool calls that a rule has decided.",
        ("decision",),
        _by_label("calls_ruled"),
    ),
    Description("rookery_tool_calls", "Tool calls.", (), _alone("tools_called")),
    Description(
        "rookery_messages_written",
        "Messages that were written to sessions.",
        (),
        _alone("messages_written"),
    ),
    Description(
        "rookery_hook_calls",
        "Hook calls of agents: recorded, or failed if they could not be read.",
        ("result",),
        _by_label("hook_calls"),
    ),
    Description(
        "rookery_journal_entries",
        "Entries that were written to the journal.",
        (),
        lambda figures: [((), figures.entries)],
    ),
)


@dataclass(frozen=True, slots=True)
class Scrape:
    """What one request for metrics is answered with; a collector of the library."""

    figures: Figures
    daemon: Mapping[str, tuple[str, float]]  #: help and value of each gauge without labels

    def collect(self) -> Iterable[Metric]:
        for description in GAUGES:
            yield _family(GaugeMetricFamily, description, self.figures)
        for description in COUNTERS:
            yield _family(CounterMetricFamily, description, self.figures)
        for name, (words, value) in self.daemon.items():
            yield GaugeMetricFamily(name, words, value=value)
        info = GaugeMetricFamily(
            "rookery_build_info", "The daemon's version.", labels=["version"]
        )
        info.add_metric([__version__], 1)
        yield info


def _family(family: Family, description: Description, figures: Figures) -> Metric:
    metric = family(description.name, description.help, labels=description.labels)
    for labels, value in sorted(description.samples(figures)):
        metric.add_metric(labels, value)
    return metric


def metrics_route(context: Context) -> Route:
    """Return the route that answers scrapes."""

    async def scrape(request: Request) -> Response:
        caller = Caller(request.scope["identity"])
        require(caller, Need.READ)

        def read(db: Connection) -> Figures:
            if reach(context, db, caller, Need.READ) is not None:
                raise Forbidden("metrics are about all sessions; a session may not read them.")
            return metrics.read(db)

        delay = await _event_loop_delay()
        figures = await context.database.read(read)
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        answer = encode(Scrape(figures, _daemon(context, delay)))
        return Response(answer, headers={"Content-Type": content_type})

    return one_method(PATH, scrape)


def _daemon(context: Context, delay: float) -> dict[str, tuple[str, float]]:
    started, waiting = context.started_at.timestamp(), context.database.waiting
    return {
        "rookery_start_time_seconds": ("When the daemon started, in Unix time.", started),
        "rookery_writer_queue_jobs": ("Jobs that wait for the database's writer.", waiting),
        "rookery_event_loop_delay_seconds": (
            "How long one pass of the event loop took at the time of the scrape.",
            delay,
        ),
    }


async def _event_loop_delay() -> float:
    begun = time.perf_counter()
    await checkpoint()
    return time.perf_counter() - begun
