"""What a session names as its transcript: only a plain file of the user is opened."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rookery.tracking.transcript_files import opened


@pytest.mark.spec("K1")
@pytest.mark.parametrize("plant", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_only_a_plain_file_is_opened_as_a_transcript(
    tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    path = tmp_path / "named"
    plant(path)

    with pytest.raises(PermissionError, match="not a regular file"), opened(str(path)):
        pass


@pytest.mark.spec("K1")
@pytest.mark.skipif(os.getuid() != 0, reason="devices belong to root")
def test_no_device_is_opened_as_a_transcript() -> None:
    with pytest.raises(PermissionError, match="not a regular file"), opened("/dev/zero"):
        pass
