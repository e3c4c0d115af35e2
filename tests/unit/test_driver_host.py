"""The log of the driver host."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rookery import driver_host
from rookery.driver_host import LOG_BACKUPS, log_handler


@pytest.mark.spec("K4")
def test_the_log_is_bounded_and_keeps_its_latest_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_host, "MAX_LOG_BYTES", 1_000)
    handler = log_handler(tmp_path / "drivers.log")

    for number in range(1_000):
        line = f"error {number}"
        handler.handle(logging.LogRecord("x", logging.ERROR, "", 1, line, None, None))
    handler.close()

    files = [*tmp_path.iterdir()]
    assert len(files) == LOG_BACKUPS + 1
    assert sum(each.stat().st_size for each in files) <= 1_000 * len(files)
    assert (tmp_path / "drivers.log").read_text().endswith("ERROR error 999\n")
