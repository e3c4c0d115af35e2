"""The map leads somewhere: every file and every function that docs/flow.md names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.paths import ROOT

FLOW = (ROOT / "docs" / "flow.md").read_text(encoding="utf-8")

#: `path/file.py: name, name` or a bare `Class.name`.
_STOP = re.compile(r"`([\w/]+\.py)(?:: ([\w., ]+))?`")


def names_in(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            members = (ast.FunctionDef, ast.AsyncFunctionDef)
            found |= {
                f"{node.name}.{each.name}" for each in node.body if isinstance(each, members)
            }
    return found


def test_every_stop_of_the_flow_exists() -> None:
    stops = _STOP.findall(FLOW)

    assert len(stops) > 25
    for file, names in stops:
        path = ROOT / "src" / "rookery" / file
        assert path.exists(), file
        for name in filter(None, re.split(r", ", names)):
            assert name in names_in(path), f"{file}: {name}"
