"""Which folders count as accepted by the user in Codex."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rookery.agents.codex.driver.trust import is_trusted


def accept(home: Path, **levels: str) -> dict[str, str]:
    """Write Codex's settings with the levels of folders in ``home``."""
    tables = [
        f"[projects.{json.dumps(str(home / name))}]\ntrust_level = {json.dumps(level)}\n"
        for name, level in levels.items()
    ]
    (home / "config.toml").write_text("".join(tables))
    return {"CODEX_HOME": str(home)}


def test_only_an_accepted_folder_is_trusted(tmp_path: Path) -> None:
    environment = accept(tmp_path, project="trusted", other="untrusted")

    assert is_trusted(tmp_path / "project", environment)
    assert not is_trusted(tmp_path / "project" / "inner", environment)
    assert not is_trusted(tmp_path / "other", environment)


def test_a_repository_is_trusted_as_a_whole_unless_a_folder_of_it_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    environment = accept(tmp_path, **{"project": "trusted", "project/not": "untrusted"})

    assert is_trusted(tmp_path / "project" / "inner", environment)
    assert not is_trusted(tmp_path / "project" / "not", environment)


@pytest.mark.parametrize("settings", ["", "[", "projects = 1", '[projects]\n"/" = 1'])
def test_an_unclear_answer_is_no(tmp_path: Path, settings: str) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(settings)

    assert not is_trusted(Path("/"), {"HOME": str(tmp_path)})
    assert not is_trusted(Path("/"), {})
