"""Listeners against a simple model of them, for long."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.listeners_machine import ListenersMachine

STEPS = 100_000


@pytest.mark.prove
@pytest.mark.timeout(1_200)
@pytest.mark.spec("E1", "E3", "E4", "E6", "E7")
def test_whatever_happens_the_same_wait_and_the_same_are_told() -> None:
    long = settings(
        max_examples=200,
        stateful_step_count=100,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )

    before = ListenersMachine.steps
    while ListenersMachine.steps - before < STEPS:
        run_state_machine_as_test(ListenersMachine, settings=long)

    print(f"\n{ListenersMachine.steps - before:,} steps")  # noqa: T201 - figures for the docs
