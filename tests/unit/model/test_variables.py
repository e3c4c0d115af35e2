"""Commands that bring their own variables, and the rules about them."""

from __future__ import annotations

import pytest

from rookery.model.patterns import Pattern
from rookery.model.permissions import Call
from rookery.model.rules import Circumstances, Rule, decide
from rookery.model.variables import redirects

HERE = Circumstances("robot", "/code", "build")


def call(env: object) -> Call:
    return Call("terminal/create", {"command": "make", "env": env})


def allow(**patterns: str) -> Rule:
    return Rule("yes", "allow", input={name: Pattern(each) for name, each in patterns.items()})


@pytest.mark.spec("D1")
def test_a_rule_allows_only_the_variables_that_it_names() -> None:
    named = allow(command="make", env='{"CI": "1"}')

    assert decide([allow(command="make")], call({"CI": "1"}), HERE) is None
    assert decide([allow()], call({"CI": "1"}), HERE) is None
    assert decide([named], call({"CI": "1"}), HERE) is named
    assert decide([named], call({"CI": "1", "X": "2"}), HERE) is None


@pytest.mark.spec("D1")
def test_a_command_without_variables_is_allowed_as_before() -> None:
    rule = allow(command="make")

    assert decide([rule], call({}), HERE) is rule
    assert decide([allow()], Call("tool", {"env": {"CI": "1"}}), HERE) == allow()


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    "name",
    ["PATH", "LD_PRELOAD", "GIT_EXTERNAL_DIFF", "BASH_ENV", "ROOKERY_SESSION", "https_proxy"],
)
def test_no_rule_allows_a_variable_that_redirects_programs(name: str) -> None:
    assert decide([allow(command="make", env="*")], call({name: "x"}), HERE) is None


@pytest.mark.spec("D1")
@pytest.mark.parametrize("env", ["PATH=x", ["PATH=x"], [{"name": "CI", "value": "1"}]])
def test_variables_that_cannot_be_read_are_not_allowed(env: object) -> None:
    assert redirects(env)
    assert decide([allow(command="make", env="*")], call(env), HERE) is None


@pytest.mark.spec("D1")
def test_a_rule_that_denies_matches_with_and_without_variables() -> None:
    deny = Rule("no", "deny", input={"command": Pattern("make")})

    assert decide([deny], call({"CI": "1"}), HERE) is deny
    assert decide([deny], call({}), HERE) is deny


@pytest.mark.spec("D2")
def test_a_person_is_shown_the_variables() -> None:
    assert call({"CI": "1", "A": "b"}).summary == (
        "May it use terminal/create with CI=1 A=b? make"
    )
