"""Print the problems that a running daemon reports."""

from __future__ import annotations

from rookery.cli.render import complain, say
from rookery.client.daemon import StatusInfo
from rookery.presentation.evidence import rules_warning
from rookery.presentation.next_steps import lost_hint


def say_http_note(status: StatusInfo | None) -> None:
    """Print a note if HTTP is off, or not on the configured port."""
    if status and status.http_note:
        say(status.http_note)


def say_lost(status: StatusInfo | None) -> None:
    """Print how many sessions were lost and can be resumed."""
    if status and status.lost:
        say(lost_hint(status.lost))


def warn_of_problems(status: StatusInfo | None) -> None:
    """Print on standard error what does not work, such as rules, hooks, metrics or settings."""
    if status and status.rules_problem:
        complain(rules_warning(status.rules_problem))
    if status and status.hooks_problem:
        complain(f"{status.hooks_problem}.")
    if status and status.metrics_problem:
        complain(status.metrics_problem)
    if status and status.headless_problem:
        complain(f"{status.headless_problem}.")
    if status and status.config_note:
        complain(status.config_note)
