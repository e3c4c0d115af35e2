from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rookery.model.patterns import Pattern
from rookery.model.permissions import Call
from rookery.model.rules import UNCERTAIN, Circumstances, Rule, decide
from rookery.permissions.path_resolver import MAX_THREADS, PathResolver

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
@pytest.mark.parametrize("blanks", [" ", "\t", "\n ", "\u00a0", "\ufeff", "\u3000"])
async def test_blanks_around_a_path_do_not_lead_around_a_rule(
    tmp_path: Path, blanks: str
) -> None:
    deny = Rule("no", "deny", input={"path": Pattern(f"{tmp_path}/secret*")})
    allow = Rule("yes", "allow", input={"path": Pattern(f"{tmp_path}/project*")})
    folder = tmp_path / "project"
    given = Call("Grep", {"path": f"{blanks}{tmp_path}/secret{blanks}"})

    call = await PathResolver().resolve(given, folder=str(folder), fields={"path"})

    assert decide([deny], call, where(folder)) is deny
    assert decide([allow], call, where(folder)) is None


@pytest.mark.spec("D1")
async def test_an_encoded_path_with_a_blank_is_also_matched_with_it(tmp_path: Path) -> None:
    """Gemini CLI decodes a path and keeps its blanks."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "secret ").symlink_to(tmp_path / "elsewhere")
    deny = Rule("no", "deny", input={"path": Pattern(f"{tmp_path}/elsewhere*")})

    call = await PathResolver().resolve(
        Call("read_file", {"path": "%73ecret "}), folder=str(tmp_path), fields={"path"}
    )

    assert decide([deny], call, where(tmp_path)) is deny


@pytest.mark.spec("D1")
async def test_a_tilde_after_a_blank_is_uncertain() -> None:
    call = await PathResolver().resolve(
        Call("Grep", {"path": " ~/.ssh"}), folder="/code", fields={"path"}
    )

    assert call.uncertain == {"path"}


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """Make a project with a link that leads deep into a folder where writing is allowed."""
    deep = tmp_path / "scratch" / "1" / "2" / "3"
    deep.mkdir(parents=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "link").symlink_to(deep)
    return tmp_path


@pytest.mark.spec("D1")
@pytest.mark.parametrize("is_absolute", [True, False])
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("link/x", True),
        ("../scratch/1/../x", True),
        ("link/../x", False),
        ("link/../../x", False),
        ("link/.././x", False),
        ("link//..//x", False),
    ],
)
async def test_an_allow_rule_holds_for_every_meaning_of_a_link_and_two_dots(
    linked: Path, path: str, *, allowed: bool, is_absolute: bool
) -> None:
    allow = Rule("yes", "allow", input={"file_path": Pattern(f"{linked}/scratch/*")})
    folder = linked / "project"
    written = f"{folder}/{path}" if is_absolute else path
    seen_from = "" if is_absolute else str(folder)

    given = Call("write", {"file_path": written})
    call = await PathResolver().resolve(given, folder=seen_from, fields=FIELDS)

    assert (decide([allow], call, where(folder)) is allow) is allowed


@pytest.mark.spec("D1")
async def test_an_allow_rule_holds_whether_the_folder_is_a_link_or_not(linked: Path) -> None:
    inner = linked / "project" / "inner"
    inner.mkdir()
    (linked / "scratch" / "door").symlink_to(inner)
    (inner / "link").symlink_to(linked / "scratch" / "1" / "2" / "3")
    allow = Rule("yes", "allow", input={"file_path": Pattern(f"{linked}/scratch/*")})

    given = Call("write", {"file_path": "link/../../x"})
    door = linked / "scratch" / "door"
    call = await PathResolver().resolve(given, folder=str(door), fields=FIELDS)

    assert decide([allow], call, where(door)) is None


@pytest.mark.spec("D1")
@pytest.mark.parametrize("denied", ["project/x", "scratch/1/2/x"])
async def test_a_deny_rule_matches_any_meaning_of_a_link_and_two_dots(
    linked: Path, denied: str
) -> None:
    deny = Rule("no", "deny", input={"file_path": Pattern(f"{linked}/{denied}")})
    folder = linked / "project"

    given = Call("write", {"file_path": "link/../x"})
    call = await PathResolver().resolve(given, folder=str(folder), fields=FIELDS)

    assert decide([deny], call, where(folder)) is deny


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


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    "path",
    [
        "@secret/key",
        "@/secret/key",
        "secre%74/key",
        "@secre%74/key",
        "file://{}/secre%2574/key",
    ],
)
async def test_a_path_that_an_agent_may_rewrite_does_not_lead_around_a_rule(
    tmp_path: Path, path: str
) -> None:
    deny = Rule("no", "deny", input={"file_path": Pattern(f"{tmp_path}/secret/*")})

    given = Call("read_file", {"file_path": path.format(tmp_path)})
    call = await PathResolver().resolve(given, folder=str(tmp_path), fields=FIELDS)

    assert decide([deny], call, where(tmp_path)) is deny


@pytest.mark.spec("D1")
@pytest.mark.parametrize("path", ["/proc/self/cwd/x", "/dev/fd/3", "link/x", "/proc/1/cwd/x"])
async def test_a_path_through_the_folder_of_a_process_is_never_allowed(
    tmp_path: Path, path: str
) -> None:
    (tmp_path / "link").symlink_to("/proc/thread-self/cwd")
    deny = Rule("no", "deny", input={"file_path": Pattern(f"{tmp_path}/secret/*")})
    allow = Rule("yes", "allow", input={"file_path": Pattern("*")})

    given = Call("Read", {"file_path": path})
    call = await PathResolver().resolve(given, folder=str(tmp_path), fields=FIELDS)

    assert decide([deny], call, where(tmp_path)) is UNCERTAIN
    assert decide([allow], call, where(tmp_path)) is None


@pytest.mark.spec("D1")
async def test_of_several_paths_one_is_enough_to_deny_and_all_are_needed_to_allow(
    tmp_path: Path,
) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "link").symlink_to(tmp_path / "secret")
    folder = tmp_path / "project"
    deny = Rule("no", "deny", input={"path": Pattern("*/secret/*")})
    allow = Rule("yes", "allow", input={"path": Pattern(f"{folder}/*")})

    both, one = [
        await PathResolver().resolve(
            Call("edit", {"path": paths}), folder=str(folder), fields={"path"}
        )
        for paths in (["a", "link/x"], ["a", str(folder / "b")])
    ]

    assert decide([deny, allow], both, where(folder)) is deny
    assert decide([allow], both, where(folder)) is None
    assert decide([deny, allow], one, where(folder)) is allow
