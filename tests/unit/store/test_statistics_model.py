"""Random histories, with kills and repeated deliveries, against a recount of their facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.statistics_model import TIME_ZONES, History, check
from tests.support.time_zones import time_zone

HISTORIES = 40


@pytest.mark.spec("A11", "G6", "A5")
@pytest.mark.parametrize("zone", TIME_ZONES)
def test_figures_equal_a_recount_whatever_happens(tmp_path: Path, zone: str) -> None:
    with time_zone(zone):
        for seed in range(HISTORIES // len(TIME_ZONES)):
            history = History(tmp_path / f"{seed}.db", seed)
            history.run(40)
            check(history)
            history.db.close()
