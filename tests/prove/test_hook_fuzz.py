"""A storm of hooks, and a hundred thousand that no agent would send.

Whoever asks for the list has it at once, no session of others is moved, and memory is bounded.
`make prove` runs this; the figures are kept in docs/proofs.md.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.real.hook_fuzz import withstand
from tests.support.real.hook_storms import storm
from tests.support.real.rookery import Rookery

pytestmark = pytest.mark.prove

SEED = int(os.environ.get("ROOKERY_SEED", "0")) or random.SystemRandom().randrange(10**6)
CALLS = int(os.environ.get("ROOKERY_CALLS", "100000"))


@pytest.fixture
def cold(tmp_path: Path) -> Iterator[Rookery]:
    rookery = Rookery(tmp_path)
    yield rookery
    rookery.clear_away()


@pytest.mark.timeout(3_600)
@pytest.mark.spec("C2", "C4", "C5", "K4")
def test_a_hundred_thousand_odd_calls_move_nobody_and_stop_nothing(cold: Rookery) -> None:
    print(f"\nseed {SEED}")  # noqa: T201 - to repeat it

    outcome = withstand(cold, seed=SEED, number=CALLS)

    print(f"{dict(outcome.calls)}, {outcome.parked} parked")  # noqa: T201 - for the docs
    print(f"memory grew by {outcome.grown / 1e6:.0f} MB")  # noqa: T201
    assert set(outcome.calls) == {"taken", "wait", "hung up"}
    assert outcome.calls.total() == CALLS
    assert outcome.grown < 150_000_000


@pytest.mark.timeout(600)
@pytest.mark.spec("C5", "K4")
def test_a_storm_of_ten_thousand_hooks_keeps_nobody_waiting(cold: Rookery) -> None:
    cold.up()

    passed = storm(cold, events=10_000)

    print(f"\n{passed.taken} events in {passed.seconds:.1f} s")  # noqa: T201 - for the docs
    print(f"{len(passed.waits)} lists, p99 {passed.p99 * 1000:.0f} ms")  # noqa: T201
    print(f"memory grew by {passed.grown / 1e6:.0f} MB")  # noqa: T201
    assert passed.taken == 10_000
    assert passed.p99 < 0.25
    assert passed.grown < 60_000_000
