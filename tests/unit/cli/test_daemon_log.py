from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rookery.home import find_home
from tests.support.cli import Scripted, typed

pytestmark = pytest.mark.spec("I5")


def test_a_log_is_followed_also_after_it_was_rotated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("ROOKERY_HOME", str(tmp_path))
    home = find_home({"ROOKERY_HOME": str(tmp_path)})
    home.prepare()
    log = home.log
    log.write_text("first\n")

    def rotate() -> None:
        with log.open("a") as file:
            file.write("last\n")
        log.rename(log.with_suffix(".1"))
        log.write_text("new\n")

    def write() -> None:
        with log.open("a") as file:
            file.write("later\n")

    def nothing() -> None:
        pass

    steps: list[Callable[[], None]] = [rotate, nothing, write, nothing]

    def pause(seconds: float) -> None:
        if not steps:
            raise KeyboardInterrupt
        steps.pop(0)()

    monkeypatch.setattr("rookery.cli.daemon_log.pause", pause)

    typed(monkeypatch, Scripted(), "daemon", "logs", "-f")

    assert capsys.readouterr().out.split() == ["first", "last", "new", "later"]
