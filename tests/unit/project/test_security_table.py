"""The table of attacks names tests that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.support.paths import ROOT

TABLE = (ROOT / "docs" / "reference" / "security.md").read_text(encoding="utf-8")

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows_of(page: str) -> Iterator[list[str]]:
    """Yield the cells of each row below the heading."""
    rows = [line.strip("|").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    heading, *others = ([cell.strip() for cell in row] for row in rows)
    assert heading == ["attack on such tools", "what Rookery does", "test"]
    yield from others


ROWS = list(rows_of(TABLE))


@cache
def names_defined_in(file: str) -> frozenset[str]:
    """Return the names that a file of tests defines at its top."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
    return frozenset(names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_every_attack_has_a_defence_and_tests_that_exist(row: list[str]) -> None:
    attack, defence, tests = row
    named = _TEST.findall(tests)

    assert attack
    assert defence
    assert named
    assert tests == ", ".join(f"`{file}::{name}`" for file, name in named)
    assert [name for file, name in named if name not in names_defined_in(file)] == []


def test_no_attack_is_listed_twice() -> None:
    attacks = [row[0] for row in ROWS]

    assert attacks
    assert len(attacks) == len(set(attacks))
