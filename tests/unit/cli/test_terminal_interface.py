from __future__ import annotations

import sys
from typing import Any

import pytest

from rookery.cli import terminal_interface
from rookery.cli.terminal_interface import open_interface
from rookery.model.errors import BadInput
from tests.support.cli import FakeClient, typed

pytestmark = pytest.mark.spec("I7")


def test_without_a_terminal_the_interface_names_another_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(monkeypatch, FakeClient(), "tui") == 2

    said = capsys.readouterr().err
    assert "needs a terminal" in said
    assert "rookery ls" in said


def test_without_its_library_the_interface_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'textual'", name="textual.app")

    monkeypatch.setattr(terminal_interface, "import_quickly", missing)

    with pytest.raises(BadInput, match=r"pipx install '\.\[tui\]'"):
        open_interface(FakeClient())


def test_another_missing_module_is_not_blamed_on_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'rookery.tui.gone'", name="rookery.tui.gone")

    monkeypatch.setattr(terminal_interface, "import_quickly", missing)

    with pytest.raises(ModuleNotFoundError):
        open_interface(FakeClient())


def test_the_interface_gets_the_client_and_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("rookery.tui.app.run", opened.append)
    client = FakeClient()

    open_interface(client)

    (setup,) = opened
    assert setup.daemon is client
    assert "demo" in setup.agents
    assert setup.program == (sys.executable, "-m", "rookery")
