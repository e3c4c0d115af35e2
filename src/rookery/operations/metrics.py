"""Whether metrics for Prometheus are served, and why not."""

from __future__ import annotations

from importlib.util import find_spec

from rookery.config import Settings
from rookery.doctor.checks import Check
from rookery.http_port import HttpPort

#: The library that the extra ``metrics`` installs.
METRICS_LIBRARY = "prometheus_client"

MISSING = (
    "Metrics are enabled (metrics.enabled), but the package prometheus-client is not installed."
    " Install it in the clone of Rookery:  pipx install --force '.[tui,metrics]'"
)


def find_metrics_problem(settings: Settings) -> str:
    """Return why metrics are enabled and not served; empty if there is no problem."""
    is_missing = settings.metrics.enabled and find_spec(METRICS_LIBRARY) is None
    return MISSING if is_missing else ""


def check_metrics(settings: Settings, port: HttpPort) -> Check:
    """Return the doctor's check of metrics."""
    if not settings.metrics.enabled:
        return Check("metrics", ok=None, detail="metrics are disabled (metrics.enabled)")
    if problem := find_metrics_problem(settings):
        return Check("metrics", ok=False, detail=problem)
    if port.url is None:
        detail = "they are served on the unix socket only, since HTTP is off"
        return Check("metrics", ok=None, detail=detail)
    return Check("metrics", ok=True, detail=f"{port.url}/metrics, with a token")
