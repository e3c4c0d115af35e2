"""The command line speaks to the daemon through the typed functions of the client only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rookery.cli

pytestmark = pytest.mark.spec("I5")

MODULES = sorted(Path(rookery.cli.__file__).parent.glob("*.py"))

#: What carries untyped JSON.
UNTYPED = frozenset({"get", "post"})


def untyped_calls(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="daemon" | "client"), attr=attribute)
            ) if attribute in UNTYPED:
                yield node.lineno


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_command_sends_or_reads_json_by_itself(module: Path) -> None:
    assert [*untyped_calls(ast.parse(module.read_text()))] == []


def test_such_a_call_would_be_found() -> None:
    assert [*untyped_calls(ast.parse('found = daemon.get("sessions")'))] == [1]
