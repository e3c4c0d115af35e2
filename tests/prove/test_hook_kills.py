"""The daemon is killed again and again while eight agents tell it what they do.

What hooks told is in the journal once and in order, and no agent was held up or told anything.
`make prove` runs this; the figures are kept in docs/proofs.md.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.support.real.hook_storms import Restless, restless, tell_while_it_dies

__all__ = ["restless"]

pytestmark = pytest.mark.prove

SEED = int(os.environ.get("ROOKERY_SEED", "0")) or random.SystemRandom().randrange(10**6)

KILLS = int(os.environ.get("ROOKERY_KILLS", "10"))


@pytest.mark.timeout(1_800)
@pytest.mark.spec("C3", "C5", "K3")
def test_kills_among_hooks_lose_none_double_none_and_keep_their_order(
    restless: Restless,
) -> None:
    print(f"\nseed {SEED}, {KILLS} kills")  # noqa: T201 - to repeat it
    chance = random.Random(SEED)  # noqa: S311 - to be repeated, not to be guessed

    returned = tell_while_it_dies(restless, agents=8, calls=25, kills=KILLS, chance=chance)

    slowest = max(each.seconds for each in returned)
    print(f"{len(returned)} calls, each taken once; slowest {slowest:.2f} s")  # noqa: T201
    assert len(returned) >= 200
