"""Lock files have versions and hashes, and no addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.paths import ROOT

LOCKS = [ROOT / "requirements.lock", *sorted(ROOT.glob("tests/agents/*/package-lock.json"))]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_lock_file_has_no_addresses(lock: Path) -> None:
    assert "://" not in lock.read_text(encoding="utf-8")
