"""Specification and tests agree: what is built is proved, what is proved is written down."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pytest
from pydantic import BaseModel

from rookery.config import Settings
from rookery.delivery.dispatcher import TOOLS_TIMEOUT_S
from rookery.model.messages import MAX_LINE_BYTES, MAX_MESSAGE_BYTES
from rookery.model.scopes import DEEPEST, MOST_CHILDREN
from rookery.programs.hook import MAX_PAYLOAD_BYTES
from rookery.runtimes.tmux.floods import FLOOD_BYTES
from rookery.runtimes.tmux.typist import MAX_ENTERS
from rookery.sessions.expiry import UNIDENTIFIED_SILENCE
from rookery.sessions.supervisor import MAX_STARTS
from tests.support.paths import ROOT

SPECIFICATION = (ROOT / "docs" / "specification.md").read_text(encoding="utf-8")

_SECTION = re.compile(r"^## ([A-Z])\. ", re.MULTILINE)
_ID = re.compile(r"([A-Z])(\d+)")
_MISSING = re.compile(r" Missing: ([^.]+)\.$")
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Row:
    section: str
    id: str
    built: str
    missing: str = ""  #: what is said at its end to be missing

    @property
    def place(self) -> tuple[str, int]:
        found = _ID.fullmatch(self.id)
        assert found, f"{self.id!r} is no id"
        return found[1], int(found[2])


def rows_of(page: str) -> Iterator[Row]:
    """Read the tables of a specification; they are headed ``id | it must | built``."""
    section, is_ours = "", False
    for line in page.splitlines():
        if heading := _SECTION.match(line):
            section = heading[1]
        cells = [cell.strip() for cell in _BAR.split(line)[1:-1]]
        if cells == ["id", "it must", "built"]:
            is_ours = True
        elif not cells:
            is_ours = False
        elif is_ours and set(line) - set("|-: "):
            assert len(cells) == 3, f"a row of {len(cells)} cells: {line[:60]}"
            missing = _MISSING.search(cells[1])
            yield Row(section, cells[0], cells[2], missing[1] if missing else "")


def ids_named_in(source: str) -> Iterator[str]:
    """Name the ids in every ``pytest.mark.spec(…)``, wherever it stands."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(
                    attr="spec", value=ast.Attribute(attr="mark") | ast.Name(id="mark")
                ),
                args=ids,
            ):
                yield from map(ast.literal_eval, ids)


def ids_named_by_tests() -> dict[str, set[str]]:
    """Say for each id which files name it."""
    named: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if (
            "node_modules" in path.parts
        ):  # of agents that are tried out; pytest passes it over, too
            continue
        for each in ids_named_in(path.read_text(encoding="utf-8")):
            named[each].add(str(path.relative_to(ROOT)))
    return dict(named)


ROWS = list(rows_of(SPECIFICATION))

_DEFAULT = re.compile(r"^\| [^|]+ \| ([^|]+) \| `([a-z_.]+)` \|$", re.MULTILINE)

#: Defaults that are described, since they cannot be written down in a table.
DESCRIBED = {
    "computer": "the host's name",
    "stops.pattern": "a regular expression",
    "notifications.command.kinds": "all but long-turn, ended, started",
    "notifications.desktop.kinds": "all but long-turn, ended, started",
    "notifications.bell.kinds": "needs-you, failed, limit",
}


def defaults_of(settings: BaseModel, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Return each key of the configuration with its default, as the table writes it."""
    for name, field in type(settings).model_fields.items():
        value, key = getattr(settings, name), f"{prefix}{field.alias or name}"
        if isinstance(value, BaseModel):
            yield from defaults_of(value, f"{key}.")
        else:
            yield key, DESCRIBED.get(key) or _written(value)


def _written(value: object) -> str:
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case int() | float():
            return f"{value:g}"
        case str():
            return f"`{value}`"
        case _:
            assert not value, f"the table cannot show {value!r}"
            return "none"


def _without_unit(default: str) -> str:
    """Return a number without its unit and commas; all else as it is."""
    number = re.match(r"[\d,.]+(?= |$)", default)
    return f"{float(number[0].replace(',', '')):g}" if number else default


def test_every_id_that_a_test_names_is_in_the_specification() -> None:
    known = {row.id for row in ROWS}

    named = ids_named_by_tests()

    assert named
    assert {each: files for each, files in named.items() if each not in known} == {}


def test_every_line_that_is_built_is_named_by_a_test() -> None:
    named = ids_named_by_tests()

    assert [row.id for row in ROWS if row.built != "no" and row.id not in named] == []


def test_every_line_says_whether_it_is_built() -> None:
    assert {row.id: row.built for row in ROWS if row.built not in {"yes", "part", "no"}} == {}


def test_a_line_that_is_built_in_part_says_what_is_missing_and_no_other_does() -> None:
    said = {row.id for row in ROWS if row.missing}

    assert said == {row.id for row in ROWS if row.built == "part"}


def test_the_table_of_defaults_is_that_of_the_program() -> None:
    told = [(key, _without_unit(default)) for default, key in _DEFAULT.findall(SPECIFICATION)]

    assert sorted(told) == sorted(defaults_of(Settings()))


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        ("A3", f"{MAX_STARTS} programs start at the same time"),
        ("A8", f"nothing but its start for {UNIDENTIFIED_SILENCE.seconds // 60} min"),
        ("B2", f"any Unicode up to {MAX_MESSAGE_BYTES // 1_000_000} MB"),
        ("B2", f"{['once', 'twice', 'three times'][MAX_ENTERS - 1]} at most"),
        ("B2", f"wait for that listing, {TOOLS_TIMEOUT_S:g} s at most"),
        ("B2", f"a single line, of {MAX_LINE_BYTES:,} bytes or less"),
        ("B3", f"more than {FLOOD_BYTES // 1_000_000} MB in a second"),
        ("C3", f"larger than the hook socket accepts ({MAX_PAYLOAD_BYTES >> 20} MB)"),
        ("K5", f"({MOST_CHILDREN} live ones, {DEEPEST} deep, at the most)"),
    ],
)
def test_a_number_of_the_specification_is_that_of_the_program(line: str, phrase: str) -> None:
    (row,) = (each for each in SPECIFICATION.splitlines() if each.startswith(f"| {line} |"))

    assert phrase in row


def test_ids_are_unique_and_in_order() -> None:
    places = [row.place for row in ROWS]

    assert [pair for pair in pairwise(places) if pair[0] >= pair[1]] == []


def test_every_line_stands_in_its_own_section_and_no_section_is_empty() -> None:
    sections = sorted({row.section for row in ROWS})

    assert _SECTION.findall(SPECIFICATION) == sections
    assert [row.id for row in ROWS if row.place[0] != row.section] == []


def test_a_bar_in_a_cell_parts_nothing_and_other_tables_are_passed_over() -> None:
    page = (
        "## B. Birds\n\n| id | it must | built |\n|---|---|---|\n"
        "| B1 | Sing `a\\|b`. Missing: songs. | part |\n\n"
        "| what | key |\n|---|---|\n| B2 | later |\n"
    )

    assert list(rows_of(page)) == [Row("B", "B1", "part", "songs")]


@pytest.mark.parametrize(
    "source",
    [
        "@pytest.mark.spec('A1', 'B2')\ndef test_a() -> None: ...",
        "@pytest.mark.spec('A1')\n@pytest.mark.spec('B2')\nasync def test_a() -> None: ...",
        "class TestA:\n    @mark.spec('A1', 'B2')\n    def test_b(self) -> None: ...",
        "pytestmark = pytest.mark.spec('A1', 'B2')",
        "pytestmark = [pytest.mark.anyio, pytest.mark.spec('A1', 'B2')]",
        "cases = [pytest.param(1, marks=pytest.mark.spec('A1', 'B2'))]",
    ],
)
def test_ids_are_found_wherever_a_mark_may_stand(source: str) -> None:
    assert sorted(ids_named_in(source)) == ["A1", "B2"]


def test_an_id_that_cannot_be_read_off_the_page_is_an_error() -> None:
    with pytest.raises(ValueError, match="malformed"):
        list(ids_named_in("@pytest.mark.spec(*IDS)\ndef test_a() -> None: ..."))
