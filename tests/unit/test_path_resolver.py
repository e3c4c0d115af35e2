from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rookery.model.patterns import Pattern
from rookery.model.permissions import Call
from rookery.model.rules import Circumstances, Rule, decide
from rookery.path_resolver import MAX_THREADS, PathResolver

pytestmark = pytest.mark.anyio

FIELDS = frozenset({"file_path"})


def where(folder: Path) -> Circumstances:
    return Circumstances("claude", str(folder), "build")


@pytest.mark.spec("D1")
async def test_a_link_does_not_lead_around_a_rule(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "link").symlink_to(tmp_path / "secret")
    deny = Rule("no", "deny", input={"file_path": Pattern("*/secret/*")})
    allow = Rule("yes", "allow", input={"file_path": Pattern(f"{tmp_path}/project/*")})
    folder = tmp_path / "project"

    call = await PathResolver().resolve(
        Call("Write", {"file_path": "link/x"}), folder=str(folder), fields=FIELDS
    )

    assert decide([deny], call, where(folder)) is deny
    assert decide([allow], call, where(folder)) is None


@pytest.mark.spec("D1")
async def test_a_path_on_a_dead_mount_is_uncertain_and_blocks_nothing(tmp_path: Path) -> None:
    mount_is_back = threading.Event()

    def hang(path: str) -> str:
        mount_is_back.wait(60)
        return path

    resolver = PathResolver(timeout_s=0.01, real_path=hang)
    given = Call("Write", {"file_path": "/mnt/dead/x"})
    try:
        for _ in range(MAX_THREADS + 1):
            call = await resolver.resolve(given, folder=str(tmp_path), fields=FIELDS)
            assert call.uncertain == FIELDS
    finally:
        mount_is_back.set()


@pytest.mark.spec("D1")
@pytest.mark.parametrize("path", ["~/x", "nul\0byte"])
async def test_a_path_of_unknown_meaning_is_uncertain(tmp_path: Path, path: str) -> None:
    given = Call("Write", {"file_path": path})

    call = await PathResolver().resolve(given, folder=str(tmp_path), fields=FIELDS)

    assert call.uncertain == FIELDS


async def test_only_the_fields_that_rules_look_at_are_resolved(tmp_path: Path) -> None:
    given = Call("Write", {"file_path": "/x", "path": 7})

    assert await PathResolver().resolve(given, folder="/", fields=frozenset({"path"})) is given
