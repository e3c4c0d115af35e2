"""A call that is to be allowed always becomes a rule for this call, and for no other."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rookery.model.errors import BadInput, CommandRefused
from rookery.model.permissions import Call
from rookery.model.rules import Circumstances, Rule, decide
from rookery.permissions.always_rules import RuleWish, as_toml, make_rule, offer
from rookery.permissions.rule_additions import add_rule
from rookery.permissions.rules_file import MAX_FILE_BYTES, parse

pytestmark = pytest.mark.spec("D1", "D2")

HERE = Circumstances("claude", "/code/api", "build")
EXACT = RuleWish("always r1")


def bash(command: str = "git status", *, folder: str = "/code/api", **more: Any) -> Call:  # noqa: ANN401 - JSON
    call = Call("Bash", {"command": command, **more}, folder=folder)
    return replace(call, real_folders=frozenset({folder}))


def edit(path: str, *real: str, **more: Any) -> Call:  # noqa: ANN401 - JSON
    call = Call("Edit", {"file_path": path, **more}, folder="/code/api")
    real_paths = {"file_path": frozenset(real or {path})}
    return replace(call, real_paths=real_paths, real_folders=frozenset({"/code/api"}))


def reread(rule: Rule) -> Rule:
    """Return a rule as the file has it."""
    (read,) = parse(as_toml(rule), Path("rules.toml")).rules
    return read


@pytest.mark.parametrize(
    "call",
    [
        bash("git status"),
        bash("rm *.[ch]; echo $HOME | tee 'x' > \"y\"\n# \\ é 😀 \x7f\x00\u202e"),
        bash("ls", timeout=5, run_in_background=False, env={"A": [1, None]}),
        bash("ls", **{"odd key \"'.": "1"}),
        edit("link/x", "/real/x", old_string="a\r\n*", new_string=""),
        Call("mcp__x__y", {}, folder="/code/api"),
    ],
)
def test_a_rule_for_a_call_allows_it_as_the_file_has_it(call: Call) -> None:
    rule = make_rule(call, HERE, EXACT)

    assert reread(rule) == rule
    assert decide([reread(rule)], call, HERE) == rule


@pytest.mark.parametrize(
    ("call", "other"),
    [
        (bash("ls *"), bash("ls x")),
        (bash("ls [ab]"), bash("ls a")),
        (bash("ls"), bash("ls; rm -rf /")),
        (bash("ls"), bash("ls", dangerouslyDisableSandbox=True)),
        (bash("ls", timeout=5), bash("ls")),
        (bash("ls"), bash("ls", folder="/code/api/sub")),
        (bash("ls"), bash("ls", folder="/code/web")),
        (bash("ls"), Call("Bash2", {"command": "ls"}, folder="/code/api")),
        (edit("/x", new_string="a"), edit("/x", new_string="b")),
        (edit("link/x", "/real/x"), edit("link/x", "/etc/x")),
        (edit("/x"), edit("/x", replace_all=True)),
    ],
)
def test_a_rule_for_a_call_allows_no_other(call: Call, other: Call) -> None:
    rule = reread(make_rule(call, HERE, EXACT))

    assert decide([rule], other, HERE) is None


def test_the_agents_comment_on_a_call_does_not_matter() -> None:
    rule = reread(make_rule(bash("ls", description="List"), HERE, EXACT))

    assert decide([rule], bash("ls", description="Look around"), HERE) is rule
    assert decide([rule], bash("ls"), HERE) is rule


@pytest.mark.parametrize(
    "where", [replace(HERE, project="/code/web"), replace(HERE, agent="codex")]
)
def test_a_rule_is_for_the_project_and_the_agent(where: Circumstances) -> None:
    rule = reread(make_rule(bash("ls"), HERE, EXACT))

    assert decide([rule], bash("ls"), where) is None


def test_a_rule_for_everywhere_allows_the_call_in_other_projects_within_these() -> None:
    rule = reread(make_rule(bash("ls"), HERE, RuleWish("always r1", everywhere=True)))
    web = replace(HERE, project="/code/web")

    assert decide([rule], bash("ls", folder="/code/web"), web) is rule
    assert decide([rule], bash("ls", folder="/etc"), web) is None


def test_a_pattern_allows_calls_like_this_one_in_the_project() -> None:
    rule = reread(make_rule(bash(), HERE, RuleWish("always r1", "Bash git status*")))

    assert decide([rule], bash("git status -s", timeout=9), HERE) is rule
    assert decide([rule], bash("git status; rm x"), HERE) is None
    assert decide([rule], bash("git status", folder="/etc"), HERE) is None
    assert decide([rule], bash(), replace(HERE, project="/code/web")) is None


@pytest.mark.parametrize("pattern", ["Bash", "Bash ", "Write /x*", "*", "* *", "bash git*"])
def test_a_pattern_names_the_tool_of_the_request(pattern: str) -> None:
    with pytest.raises(BadInput, match=r"Bash git status\*"):
        make_rule(bash(), HERE, RuleWish("always r1", pattern))


@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        (bash("git status; ls"), "Bash git status*"),
        (bash("ls"), "Bash git*"),
        (edit("src/x", "/code/api/src/x"), "Edit src/*"),
    ],
)
def test_a_pattern_that_would_not_allow_the_call_is_refused(call: Call, pattern: str) -> None:
    with pytest.raises(CommandRefused, match="does not match this call"):
        make_rule(call, HERE, RuleWish("always r1", pattern))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (edit("link/../x", "/a/x", "/b/x"), "may name several files"),
        (replace(edit("~/x"), uncertain=frozenset({"file_path"})), "may name several files"),
        (bash("x" * 5_000), "4,000 characters"),
    ],
)
def test_a_call_that_no_rule_describes_exactly_is_refused(call: Call, why: str) -> None:
    with pytest.raises(CommandRefused, match=why):
        make_rule(call, HERE, EXACT)


def test_a_call_that_no_file_can_contain_is_refused() -> None:
    with pytest.raises(CommandRefused, match="cannot contain"):
        as_toml(make_rule(bash("echo \ud800"), HERE, EXACT))


def test_a_child_of_a_session_elsewhere_needs_a_rule_for_everywhere() -> None:
    child = replace(HERE, ancestors=(replace(HERE, project="/code"),))

    with pytest.raises(CommandRefused, match="--everywhere"):
        make_rule(bash(), child, EXACT)
    assert make_rule(bash(), child, RuleWish("always r1", everywhere=True))


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("git status -s", "Bash git status*"),
        ("npm test", "Bash npm test*"),
        ("make", "Bash make*"),
        ("rm -rf build", ""),
        ("git log | sh", ""),
        ("./run x", ""),
        ("", ""),
    ],
)
def test_a_pattern_is_offered_for_plain_commands(command: str, offered: str) -> None:
    assert offer(bash(command)) == offered


RULE = make_rule(bash("ls *"), HERE, EXACT)


@pytest.mark.parametrize(
    "before",
    [
        "",
        '# mine\n[[deny]]\ntool = "Bash"\n',
        '[[allow]]\ntool = "Read"',
        "# only a remark\r\n\r\n",
        '[[deny]]\ntool = "Bash"\r\nreason = """a\r\n[[allow]]\r\n"""\r\n',
    ],
)
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400 | 0o200])
def test_a_rule_is_appended_and_every_other_byte_and_the_mode_stay(
    tmp_path: Path, before: str, mode: int
) -> None:
    file = tmp_path / "rules.toml"
    file.write_bytes(before.encode())
    file.chmod(mode)

    added = add_rule(file, RULE)

    after = file.read_bytes().decode()
    assert after.startswith(before)
    assert added == RULE
    assert RULE in parse(after, file).rules
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert [each.name for each in tmp_path.iterdir()] == ["rules.toml"]


def test_a_file_is_created_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "rules.toml"

    add_rule(file, RULE)

    assert parse(file.read_text(), file).rules == (RULE,)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_rule_that_is_there_is_not_added_again(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    add_rule(file, RULE)
    before = file.read_bytes()

    again = add_rule(file, replace(RULE, name="always r2"))

    assert again.name == "always r1"
    assert file.read_bytes() == before


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.toml", tmp_path / "rules.toml"
    real.write_text("")
    link.symlink_to(real)

    add_rule(link, RULE)

    assert link.is_symlink()
    assert parse(real.read_text(), real).rules == (RULE,)


@pytest.mark.parametrize(
    "before",
    [
        "[[deny]\n",
        'allow = [{ tool = "Read" }]\n',
        "#" * MAX_FILE_BYTES,
    ],
)
def test_a_file_that_cannot_be_appended_to_is_left_alone(tmp_path: Path, before: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(before)

    with pytest.raises(CommandRefused, match="was not added"):
        add_rule(file, RULE)

    assert file.read_text() == before
