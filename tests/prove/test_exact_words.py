"""Two thousand texts arrive byte for byte, twenty of them a megabyte long.

`make prove` runs this; the figures are kept in docs/proofs.md.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from rookery.agents.shell import Shell
from rookery.ports import Agent
from tests.real.test_exact_words import Boxed, send_many

pytestmark = pytest.mark.prove

SEED = int(os.environ.get("ROOKERY_SEED", "0")) or random.SystemRandom().randrange(10**6)


@pytest.mark.timeout(3_600)
@pytest.mark.spec("B2")
@pytest.mark.parametrize("dialect", [Shell(), Boxed()], ids=["unboxed", "boxed"])
def test_two_thousand_texts_arrive_exactly_and_once(dialect: Agent, tmp_path: Path) -> None:
    print(f"\nseed {SEED}")  # noqa: T201 - to repeat it

    arrived = send_many(tmp_path, dialect, generated=1_980, sizes=[1_000_000] * 20, seed=SEED)

    print(f"{arrived} texts, each arrived once")  # noqa: T201 - figures for the docs
    assert arrived == 2_000
