"""Statistics against a recount, over many random histories with kills."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.support.statistics_model import TIME_ZONES, History, check
from tests.support.time_zones import time_zone

HISTORIES = 1_000
DELIVERIES = 60


@pytest.mark.prove
@pytest.mark.timeout(1_800)
@pytest.mark.spec("A11", "G6", "A5")
def test_figures_equal_a_recount_in_a_thousand_histories(tmp_path: Path) -> None:
    first = secrets.randbelow(1_000_000)
    kills = 0

    for seed in range(first, first + HISTORIES):
        with time_zone(TIME_ZONES[seed % len(TIME_ZONES)]):
            path = tmp_path / f"{seed}.db"
            history = History(path, seed)
            history.run(DELIVERIES)
            check(history)
            history.db.close()
            kills += history.kills
        for file in tmp_path.glob(f"{seed}.db*"):
            file.unlink()

    print(f"\n{HISTORIES:,} histories, {kills:,} kills, seed {first}")  # noqa: T201 - figures
