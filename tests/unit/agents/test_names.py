"""What Rookery knows of one agent program is in its package: no other module names it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator

from rookery.agents.catalog import AGENTS
from rookery.agents.names import RUNTIMES, WITH_SETTINGS
from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "rookery"


def names_in(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node uses, and texts of one word: prose may name agents."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            yield name
        case (
            ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
            | ast.ClassDef(name=name)
            | ast.keyword(arg=str(name))
        ):
            yield name
        case ast.ImportFrom(module=module, names=names):
            yield from (module or "", *(each.name for each in names))
        case ast.Import(names=names):
            yield from (each.name for each in names)
        case ast.Constant(value=str(text)) if " " not in text:
            yield text


def agents_named_in(code: str) -> set[str]:
    used = [name.lower() for node in ast.walk(ast.parse(code)) for name in names_in(node)]
    return {agent for agent in WITH_SETTINGS if any(agent in name for name in used)}


def test_only_the_packages_of_agents_and_their_drivers_name_them() -> None:
    elsewhere = [
        path
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in {"agents", "drivers"}
    ]

    named = {str(path): agents_named_in(path.read_text()) for path in elsewhere}

    assert len(elsewhere) > 200
    assert {path: agents for path, agents in named.items() if agents} == {}


def test_what_several_agents_share_imports_none_of_them() -> None:
    own = {f"rookery.agents.{name}" for name in WITH_SETTINGS}

    for path in (SOURCE / "agents" / "shared").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not any((node.module or "").startswith(each) for each in own), path


def test_a_name_in_code_is_found_and_one_in_prose_is_not() -> None:
    assert agents_named_in('claude_folders = {"x": 1}') == {"claude"}
    assert agents_named_in('if agent == "codex": pass') == {"codex"}
    assert agents_named_in("from rookery.agents.gemini import screen") == {"gemini"}
    assert agents_named_in('help = "claude, codex, gemini"  # opencode') == set()


def test_commands_that_only_name_agents_load_no_dialect() -> None:
    script = (
        "import sys, rookery.cli.start, rookery.cli.hooks, rookery.cli.completion;"
        "print(*[each for each in sys.modules if each.startswith('rookery.agents.')])"
    )

    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    packages = {f"rookery.agents.{name}" for name in WITH_SETTINGS}
    assert set(run.stdout.split()) == {"rookery.agents.names", *packages}


def test_the_runtimes_that_are_offered_are_those_that_the_agents_have() -> None:
    assert {name: ("tmux", *agent.driven) for name, agent in AGENTS.items()} == RUNTIMES
