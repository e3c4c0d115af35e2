"""Decide how a driven session ends."""

from __future__ import annotations

import logging

from rookery.drivers.commands import Start
from rookery.drivers.driver import DriverError
from rookery.drivers.events import Ended, TurnOver
from rookery.model.money import in_dollars

_log = logging.getLogger(__name__)


def after_error(error: Exception, start: Start) -> Ended:
    """Return the end of a session whose driver has raised an error."""
    if isinstance(error, DriverError | OSError):
        return Ended("failed", str(error))
    _log.error("The driver of session %s failed.", start.session, exc_info=error)
    return Ended("failed", f"its driver failed: {type(error).__name__}: {error}")


def after_only_turn(turn: TurnOver) -> Ended:
    """Return the end of a session of one turn."""
    if turn.how == "finished":
        return Ended("completed", "its only turn is over")
    return Ended("failed", turn.reason or f"its turn was {turn.how}")


def over_budget(spent: int, budget: int) -> Ended:
    """Return the end of a session that has used its budget, both in micro-dollars."""
    dollars = f"{in_dollars(budget):g} USD"
    reason = f"its budget of {dollars} is used up: it has used {in_dollars(spent):.2f} USD"
    return Ended("failed", reason, is_over_budget=True)
