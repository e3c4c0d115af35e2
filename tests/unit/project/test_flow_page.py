"""Check docs/flow.md against the source: every stop exists, and every arrow is a call.

``a → b`` on the page means that ``a`` mentions ``b`` in its code, directly or through one
function in between. ``a ⇢ b`` means a hand-over that is no call: a row, a socket, a process.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "rookery"
FLOW = (ROOT / "docs" / "flow.md").read_text(encoding="utf-8")

#: `path/file.py`, `path/file.py: name, name` or, in the file of the last stop, `Class.name`.
_STOP = r"`(?:[\w/]+\.(?:py|c)(?:: [\w., ]+)?|[A-Z]\w*\.\w+)`"
_CHAIN = re.compile(rf"{_STOP}(?:\s+(?:→|⇢)\s+{_STOP})*")
_LINK = re.compile(rf"(→|⇢)?\s*({_STOP})")

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Stop:
    """A function, class or file that the page names."""

    file: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Mentions:
    """What the code of a function mentions."""

    #: Functions and classes of a module, as their file and name.
    known: set[Stop] = field(default_factory=set)
    #: Attributes of objects whose type is not known, such as ``read`` in ``x.y.read()``.
    attributes: set[str] = field(default_factory=set)


class Module:
    """A source file: what it defines and what each definition mentions."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._tree = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
        self._imported: dict[str, Stop] = dict(self._imports())
        self.definitions: dict[str, ast.AST] = dict(self._defined())

    def _imports(self) -> Iterator[tuple[str, Stop]]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rookery"):
                package = "/".join((node.module or "").split(".")[1:])
                for each in node.names:
                    as_module = f"{package}/{each.name}.py".lstrip("/")
                    is_module = (SOURCE / as_module).exists()
                    found = Stop(as_module) if is_module else Stop(f"{package}.py", each.name)
                    yield each.asname or each.name, found

    def _defined(self) -> Iterator[tuple[str, ast.AST]]:
        for node in self._tree.body:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                yield node.name, node
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    if isinstance(each, FUNCTIONS):
                        yield f"{node.name}.{each.name}", each

    def mentions(self, name: str) -> Mentions:
        """Return what a definition mentions; without a name, what the whole file does."""
        found = Mentions()
        owner = name.partition(".")[0]
        for node in ast.walk(self.definitions[name] if name else self._tree):
            if isinstance(node, ast.Name):
                if node.id in self._imported:
                    found.known.add(self._imported[node.id])
                elif node.id in self.definitions and node.id != name:
                    found.known.add(Stop(self.file, node.id))
            elif isinstance(node, ast.Attribute):
                self._add_attribute(node, owner, found)
        return found

    def _add_attribute(self, node: ast.Attribute, owner: str, found: Mentions) -> None:
        base = node.value.id if isinstance(node.value, ast.Name) else ""
        imported = self._imported.get(base)
        if imported and not imported.name:
            found.known.add(Stop(imported.file, node.attr))
        elif base == "self" and f"{owner}.{node.attr}" in self.definitions:
            found.known.add(Stop(self.file, f"{owner}.{node.attr}"))
        else:
            found.attributes.add(node.attr)


@cache
def module(file: str) -> Module:
    return Module(file)


@cache
def mentions(stop: Stop) -> Mentions:
    return module(stop.file).mentions(stop.name)


@cache
def methods() -> dict[str, list[Stop]]:
    """Return every method of the source by its bare name."""
    found: dict[str, list[Stop]] = {}
    for path in SOURCE.rglob("*.py"):
        file = str(path.relative_to(SOURCE))
        for name in module(file).definitions:
            if "." in name:
                found.setdefault(name.rpartition(".")[2], []).append(Stop(file, name))
    return found


def calls(a: Stop, b: Stop) -> bool:
    """Return whether the code of ``a`` mentions ``b``."""
    found = mentions(a)
    if not b.name:
        return any(each.file == b.file for each in found.known)
    owner, _, method = b.name.rpartition(".")
    return b in found.known or bool(owner and method in found.attributes)


def called_by(a: Stop) -> Iterator[Stop]:
    """Return the functions of the source that the code of ``a`` mentions."""
    found = mentions(a)
    for each in found.known:
        if (SOURCE / each.file).exists() and each.name in module(each.file).definitions:
            yield each
    for name in found.attributes:
        yield from methods().get(name, ())


def leads_to(a: Stop, b: Stop) -> bool:
    """Return whether ``a`` calls ``b`` directly or through one function in between."""
    return calls(a, b) or any(calls(each, b) for each in called_by(a))


def chains(page: str) -> Iterator[list[tuple[str, list[Stop]]]]:
    """Yield each chain of stops with the arrow before each; "" before the first."""
    file = ""
    for chain in _CHAIN.finditer(page):
        found = []
        for arrow, stop in _LINK.findall(chain[0]):
            text = stop.strip("`")
            if "/" in text or ".py" in text or text.endswith(".c"):
                file, _, names = text.partition(": ")
            else:
                names = text
            stops = [Stop(file, each) for each in names.split(", ")]
            found.append((arrow, stops))
        yield found


CHAINS = list(chains(FLOW))


def test_every_stop_of_the_flow_exists() -> None:
    stops = {stop for chain in CHAINS for _, stops in chain for stop in stops}

    assert len(stops) > 25
    for stop in stops:
        assert (SOURCE / stop.file).exists(), stop.file
        if stop.name:
            assert stop.name in module(stop.file).definitions, stop


def test_every_arrow_of_the_flow_is_a_call() -> None:
    wrong = []
    checked = 0
    for chain in CHAINS:
        for (_, before), (arrow, after) in pairwise(chain):
            if arrow == "→":
                checked += 1
                if not any(leads_to(a, b) for a in before for b in after):
                    wrong.append((before, after))

    assert checked > 25
    assert wrong == []


def test_an_arrow_in_the_wrong_direction_is_found() -> None:
    append, project = (
        Stop("store/journal.py", "Journal.append"),
        Stop("store/projections.py", "project"),
    )

    assert leads_to(append, project)
    assert not leads_to(project, append)
