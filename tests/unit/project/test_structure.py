"""What holds for the source as a whole."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import rookery
from tests.support.paths import ROOT

SOURCE = Path(rookery.__file__).parent
TESTS = ROOT / "tests"


def test_no_two_classes_have_the_same_name() -> None:
    found = defaultdict(list)
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(file.relative_to(SOURCE)))

    assert {name: files for name, files in found.items() if len(files) > 1} == {}


#: Subjects that leave open who acts.
VAGUE = ("nobody", "whoever", "somebody", "those who")

#: Docstrings that users read in the API's documents keep their words for now.
MAX_VAGUE = 10


def test_docstrings_and_comments_say_who_acts() -> None:
    found = []
    for file in SOURCE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        said = [line for line in text.splitlines() if "#" in line]
        documented = (
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            )
        )
        said += [ast.get_docstring(node) or "" for node in documented]
        found += [
            f"{file.name}: {each}" for each in said if any(map(each.lower().count, VAGUE))
        ]

    assert len(found) <= MAX_VAGUE, found


def test_no_test_imports_another_test() -> None:
    found = []
    for file in [*TESTS.rglob("test_*.py"), *(TESTS / "support").rglob("*.py")]:
        if "node_modules" in file.parts:
            continue
        found += [
            f"{file.relative_to(TESTS)}: {node.module}"
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").rpartition(".")[2].startswith("test_")
        ]

    assert found == []


def test_unit_tests_are_in_folders_named_like_the_packages() -> None:
    packages = {each.name for each in SOURCE.iterdir() if (each / "__init__.py").exists()}
    folders = {each.name for each in (TESTS / "unit").iterdir() if any(each.glob("test_*.py"))}

    # ``project`` is about the project's own files, ``support`` about helpers of tests.
    assert folders - packages == {"project", "support"}


#: What only one operating system has, and the library that stands for it elsewhere.
OF_THE_SYSTEM = ("/proc", "pidfd", "psutil", "SO_PEERCRED", "LOCAL_PEERCRED")

#: The package that knows the operating system, and programs that run outside of the daemon.
KNOWS_THE_SYSTEM = ("processes", "programs")


@pytest.mark.parametrize("name", OF_THE_SYSTEM)
def test_only_one_package_knows_the_operating_system(name: str) -> None:
    found = [
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if file.relative_to(SOURCE).parts[0] not in KNOWS_THE_SYSTEM
        and name in file.read_text(encoding="utf-8")
    ]

    assert found == []


def test_only_the_package_itself_knows_which_system_answers() -> None:
    inner = ("processes.linux", "processes.portable", "processes.operating_system")
    found = [
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if file.parent.name != "processes"
        and any(map(file.read_text(encoding="utf-8").count, inner))
    ]

    assert found == []
