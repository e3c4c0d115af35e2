"""The page on the agents' abilities is proved: every "works" names a real test that exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "agents.md"

_TEST = re.compile(r"`(test_\w+\.py): (test_\w+)`")


class Row(NamedTuple):
    ability: str
    holds: str
    seen: str
    test: str


def rows() -> Iterator[Row]:
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells and cells[0] != "feature" and set(line) - set("|- "):
            assert len(cells) == len(Row._fields), f"a row of {len(cells)} cells: {line}"
            yield Row(*cells)


def functions_of(file: Path) -> set[str]:
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {
        node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.ability)
def test_what_is_said_to_work_names_an_existing_test(row: Row) -> None:
    assert row.holds in {"works", "part", "not", "none"}
    assert (row.holds == "works") == bool(row.test)
    if row.test:
        found = _TEST.fullmatch(row.test)
        assert found, f"{row.test} names no test"
        assert found[2] in functions_of(ROOT / "tests" / "real" / found[1])
    else:
        assert row.holds == "none" or row.seen, "it says what is missing"
