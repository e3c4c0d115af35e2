"""What holds for the source as a whole."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import rookery
from rookery.agents.names import PACKAGES
from rookery.ports.runtime import HeldProgram, Runtime, RuntimeHandle
from rookery.ports.terminal import Terminal, TerminalAddress
from rookery.runtimes.tmux import places
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


#: What makes handles, and what says what they are.
KNOWS_HANDLES = ("runtimes", "ports")


def _outside(*packages: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield each node of the source outside these packages, with its file."""
    for file in SOURCE.rglob("*.py"):
        name = file.relative_to(SOURCE)
        if name.parts[0] not in packages:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                yield str(name), node


def test_only_runtimes_make_handles_and_look_inside() -> None:
    inner = {field.name for field in fields(RuntimeHandle)} - {"runtime"}
    made = {each.__name__ for each in (RuntimeHandle, HeldProgram)}
    found = [
        f"{name}:{node.lineno}"
        for name, node in _outside(*KNOWS_HANDLES)
        if (isinstance(node, ast.Attribute) and node.attr in inner)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in made)
        or (isinstance(node, ast.ImportFrom) and node.module == places.__name__)
    ]

    assert found == []


#: The modules that read where a session is in tmux, and why. Each is a part of Rookery that
#: works with tmux alone; with another terminal, it would have to change.
READS_TMUX_ADDRESSES = {
    "model/sessions.py",  # a session shows these fields
    "cli/discovery.py",  # prints the user's panes
    "cli/show.py",  # prints where the terminal of a session is
    "cli/attach.py",  # it asks and runs tmux
    "operations/discovery.py",  # lists panes with their sessions
    "sessions/recovery.py",  # the made-up native id of an unknown pane is its number
    "tracking/discovery.py",  # finds agents in the user's panes
    "tracking/pane_matching.py",  # the same
}


def test_the_modules_that_know_where_a_session_is_in_tmux_are_named() -> None:
    parts = {field.name for field in fields(TerminalAddress)}
    found = {
        name
        # What builds the daemon knows tmux's classes.
        for name, node in _outside(*KNOWS_HANDLES, "startup")
        if isinstance(node, ast.Attribute) and node.attr in parts
    }

    assert found == READS_TMUX_ADDRESSES


def _words(node: ast.AST) -> Iterator[str]:
    """Yield what a node of code is called, and texts of one word. Prose may name agents."""
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
            yield word
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.ImportFrom(module=str(word), names=names):
            yield from (word, *(each.name for each in names))
        case ast.Import(names=names):
            yield from (each.name for each in names)
        case ast.Constant(value=str(word)) if word.isidentifier():
            yield word
        case _:
            pass


@pytest.mark.parametrize("agent", [each.NAME for each in PACKAGES])
def test_code_names_an_agent_only_in_the_package_of_that_agent(agent: str) -> None:
    found = {
        name
        # The demo agent, a program, behaves like Claude Code and has its event names.
        for name, node in _outside("agents", "programs")
        if any(agent in word.lower() for word in _words(node))
    }

    assert found == set()


#: More questions than these make a runtime hard to write, and hard to fake.
MAX_PORT_MEMBERS = 10


@pytest.mark.parametrize("port", [Runtime, Terminal])
def test_the_ports_of_runtimes_stay_small(port: type) -> None:
    members = [name for name in vars(port) if not name.startswith("_")]

    assert 0 < len(members) <= MAX_PORT_MEMBERS
