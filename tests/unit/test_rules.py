from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.model.errors import ConfigBroken
from rookery.model.permissions import (
    DECISIONS,
    Call,
    Circumstances,
    Decision,
    Pattern,
    Rule,
    decide,
    digest,
)
from rookery.rulebook import Rulebook, read

HERE = Circumstances("claude", "/code/api", "build")


def call(tool: str = "Bash", **given: Any) -> Call:  # noqa: ANN401 - as agents give it
    return Call(tool, given)


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    ("pattern", "value", "matches"),
    [
        (Pattern("git *"), "git push", True),
        (Pattern("git *"), "git", False),
        (Pattern("git *"), "git push\nrm -r x", True),
        (Pattern("GIT*"), "git push", False),
        (Pattern("git *", "literal"), "git push", False),
        (Pattern("git *", "literal"), "git *", True),
        (Pattern(r"^git (push|pull)$", "regex"), "git pull", True),
        (Pattern(r"\brm\b", "regex"), "cd /; rm x", True),
        (Pattern(r"\brm\b", "regex"), "farm", False),
    ],
)
def test_a_text_matches_as_its_pattern_says(
    pattern: Pattern, value: str, *, matches: bool
) -> None:
    assert pattern.matches(value) is matches


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (Rule("r", "deny"), True),
        (Rule("r", "deny", tool=Pattern("Ba*")), True),
        (Rule("r", "deny", tool=Pattern("Write")), False),
        (Rule("r", "deny", input={"command": Pattern("ls*")}), True),
        (Rule("r", "deny", input={"command": Pattern("ls*"), "cwd": Pattern("*")}), False),
        (Rule("r", "deny", input={"count": Pattern("3")}), True),
        (Rule("r", "deny", input={"deep": Pattern('*"a"*')}), True),
        (Rule("r", "deny", agent=Pattern("codex")), False),
        (Rule("r", "deny", project=Pattern("/code/*")), True),
        (Rule("r", "deny", project=Pattern("/code/web")), False),
        (Rule("r", "deny", session=Pattern("build")), True),
        (Rule("r", "deny", tool=Pattern("Bash"), session=Pattern("other")), False),
    ],
)
def test_all_that_a_rule_names_must_match(rule: Rule, *, matches: bool) -> None:
    made = call(command="ls -l", count=3, deep={"a": 1})

    assert (decide([rule], made, HERE) is rule) is matches


@pytest.mark.spec("D1")
@given(st.permutations(DECISIONS))
def test_deny_goes_before_allow_before_ask(order: list[Decision]) -> None:
    rules = [Rule(each, each) for each in order]

    decided = [
        decide([r for r in rules if r.name in DECISIONS[n:]], call(), HERE) for n in range(3)
    ]

    assert [rule and rule.decision for rule in decided] == ["deny", "allow", "ask"]


@pytest.mark.spec("D1")
def test_where_no_rule_matches_none_decides() -> None:
    assert decide([Rule("r", "allow", tool=Pattern("Read"))], call(), HERE) is None


def test_a_call_is_the_same_whatever_is_remarked_about_it() -> None:
    assert digest("Bash", {"command": "ls", "description": "look"}) == digest(
        "Bash", {"command": "ls"}
    )
    assert digest("Bash", {"command": "ls"}) != digest("Bash", {"command": "ls "})
    assert digest("Bash", {"a": 1, "b": 2}) == digest("Bash", {"b": 2, "a": 1})


@pytest.mark.spec("D1")
def test_rules_are_written_in_toml(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(
        """
        [[allow]]
        tool = "Read"
        [[deny]]
        name = "no secrets"
        tool = { regex = "Read|Write" }
        input.file_path = { literal = "/etc/shadow" }
        project = "/code/*"
        reason = "Not that."
        """
    )

    deny, allow = read(file)

    assert (allow.name, allow.decision, allow.tool) == ("allow 1", "allow", Pattern("Read"))
    assert (deny.name, deny.reason) == ("no secrets", "Not that.")
    assert deny.input == {"file_path": Pattern("/etc/shadow", "literal")}
    assert (deny.tool, deny.project) == (Pattern("Read|Write", "regex"), Pattern("/code/*"))


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[deny]", "not TOML"),
        ("[[forbid]]", "no key 'forbid'"),
        ("[[deny]]\ntol = 'Bash'", "no key 'deny.0.tol'"),
        ("[[deny]]\ntool = { regex = '(' }", "not a regular expression"),
        ("[[deny]]\ntool = 7", "deny.0.tool"),
    ],
)
def test_a_broken_file_of_rules_is_refused_with_what_is_wrong(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)

    with pytest.raises(ConfigBroken, match=said.replace("(", r"\(")):
        read(file)


@pytest.mark.spec("D1", "K1")
def test_rules_that_others_could_have_written_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("")
    file.chmod(0o666)

    with pytest.raises(ConfigBroken, match="chmod"):
        read(file)


@pytest.mark.spec("D1")
def test_changed_rules_hold_at_once_and_broken_ones_never(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    book = Rulebook(file)
    none = book.rules()
    file.write_text('[[deny]]\nname = "first"\n')
    first = book.rules()
    file.write_text("[[deny")
    broken, error = book.rules(), book.error
    file.write_text('[[deny]]\nname = "second"\n')
    second = book.rules()

    assert none == ()
    assert [rule.name for rule in first] == ["first"]
    assert broken == first
    assert "not TOML" in error
    assert [rule.name for rule in second] == ["second"]
    assert book.error == ""


@pytest.mark.spec("D1")
def test_rules_that_are_taken_away_hold_no_more(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("[[deny]]\n")
    book = Rulebook(file)
    before = book.rules()

    file.unlink()

    assert (len(before), book.rules()) == (1, ())
