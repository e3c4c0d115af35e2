from __future__ import annotations

import pytest

from rookery import __version__
from rookery.cli.versions import skew

pytestmark = pytest.mark.spec("I5")


def test_nothing_is_said_of_the_same_version() -> None:
    assert skew(__version__) == ""


@pytest.mark.parametrize("daemon", ["0.9.0", "0.10.0", "1.0"])
def test_an_older_command_is_told_to_be_upgraded(daemon: str) -> None:
    said = skew(daemon, own="0.1.9")

    assert f"This command is version 0.1.9, the daemon {daemon}: upgrade this command" in said
    assert "restart" not in said


@pytest.mark.parametrize("daemon", ["0.9.0", "0.9", "0.9.0.dev1"])
def test_an_older_daemon_is_told_to_be_restarted(daemon: str) -> None:
    assert "restart the daemon with `rookery down` and `rookery up`." in skew(daemon, "0.10.0")
