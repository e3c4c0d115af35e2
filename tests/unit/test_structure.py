"""What holds for the source as a whole."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import rookery

SOURCE = Path(rookery.__file__).parent


def test_no_two_classes_have_the_same_name() -> None:
    found = defaultdict(list)
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(file.relative_to(SOURCE)))

    assert {name: files for name, files in found.items() if len(files) > 1} == {}
