"""The pages name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md")),
    *(ROOT / "docs").rglob("*.md"),
]

#: A file of tests or of the source, as a page names it. Examples are about an agent "parrot".
_FILE = re.compile(r"`?((?:tests|src/rookery)/[\w/]+\.(?:py|c|js))\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_files_that_exist(page: Path) -> None:
    named = set(_FILE.findall(page.read_text(encoding="utf-8")))

    assert [each for each in named if "parrot" not in each and not (ROOT / each).exists()] == []
