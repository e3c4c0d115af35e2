from __future__ import annotations

import pytest

from tests.support.cli import Scripted, typed

pytestmark = pytest.mark.spec("I5")


@pytest.mark.parametrize(
    "words",
    [
        ("start", "demo", "--project", "~no-user/x", "go"),
        ("resume", "api", "--project", "~no-user/x"),
        ("permissions", "test", '{"tool": "Bash"}', "--project", "~no-user/x"),
    ],
)
def test_a_folder_of_an_unknown_user_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert typed(monkeypatch, Scripted(), *words) == 2

    told = capsys.readouterr().err
    assert told == "rookery: ~no-user/x: the home of this user is not known.\n"
