"""Drivers by name, and what is said about one that cannot be used."""

from __future__ import annotations

import sys

import pytest

from rookery.agents.driver_catalog import find_driver
from rookery.drivers.driver import DriverError

SDK_MODULES = ("rookery.agents.claude.driver.sdk", "rookery.agents.claude.driver.process")


def test_without_its_package_a_driver_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for each in SDK_MODULES:
        monkeypatch.delitem(sys.modules, each, raising=False)
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)

    with pytest.raises(DriverError) as raised:
        find_driver("sdk")

    assert str(raised.value) == (
        "the Python package 'claude_agent_sdk' is missing."
        " Install it in the clone of Rookery:  pipx install --force '.[tui,sdk]'"
    )


def test_an_unknown_driver_is_named() -> None:
    with pytest.raises(DriverError, match="there is no driver 'telepathy'"):
        find_driver("telepathy")
