"""The systemd unit: a home of any name is one value in it, and no line of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from rookery.cli.service import is_unit_of, unit_text
from rookery.model.errors import BadInput

pytestmark = pytest.mark.spec("I5", "K1")


def environment(root: str) -> str:
    (line,) = [
        each for each in unit_text(Path(root)).splitlines() if each.startswith("Environment=")
    ]
    return line


@pytest.mark.parametrize(
    ("root", "written"),
    [
        ("/a b", '"ROOKERY_HOME=/a b"'),
        ("/50%h", '"ROOKERY_HOME=/50%%h"'),
        ('/q"x\\', '"ROOKERY_HOME=/q\\"x\\\\"'),
    ],
)
def test_a_home_with_special_characters_is_quoted(root: str, written: str) -> None:
    assert environment(root) == f"Environment={written}"
    assert is_unit_of(unit_text(Path(root)), Path(root))
    assert not is_unit_of(unit_text(Path(root)), None)


@pytest.mark.parametrize("root", ["/a\nExecStartPre=/bin/evil", "/a\r", "/a\x1b"])
def test_a_home_with_control_characters_is_refused(root: str) -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        unit_text(Path(root))


def test_the_interpreter_is_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/opt/my $HOME/python")

    assert '\nExecStart="/opt/my $$HOME/python" -I -m rookery up\n' in unit_text(None)


def test_the_daemon_of_a_unit_gains_no_privileges_and_makes_private_files() -> None:
    lines = unit_text(None).splitlines()

    assert {"UMask=0077", "NoNewPrivileges=yes", "KillMode=process"} <= set(lines)
    assert is_unit_of(unit_text(None), None)


def test_a_unit_of_an_earlier_version_is_recognised() -> None:
    old = "[Service]\nExecStart=/p -I -m rookery up\nEnvironment=ROOKERY_HOME=/r\n"

    assert is_unit_of(old, Path("/r"))
    assert not is_unit_of(old, Path("/other"))
    assert not is_unit_of(old, None)
