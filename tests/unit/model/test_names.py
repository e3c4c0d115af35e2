from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rookery.model.errors import BadInput
from rookery.model.names import (
    MAX_TITLE_CHARACTERS,
    STOP_WORDS,
    checked,
    distinct,
    name_from,
    title_from,
)

#: Prompts as they are: words, some of them very long, and what stands between them.
PROMPTS = st.one_of(
    st.text(),
    st.lists(st.text("abcxyz019", min_size=1, max_size=50), max_size=4).map(" ".join),
)


@pytest.mark.spec("A1")
@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("Fix the Parser", "fix-parser"),
        ("Please, could you FIX our parser's tests?!", "fix-parser-s"),
        ("one two three four", "one-two-three"),
        ("snake_case.py: rename", "snake-case-py"),
        ("Größe prüfen 42", "grosse-prufen-42"),
        ("Исправь тест входа", "isprav-test-vkhoda"),
        ("Διόρθωσε τη δοκιμή", "diorthose-ti-dokimi"),
        ("修复 登录", "session"),
        ("修复 login", "login"),
        ("User", "session"),
        ("the and of", "session"),
        ("…?!", "session"),
        ("", "session"),
        ("修复 解析器", "session"),
    ],
)
def test_a_name_is_made_of_the_first_telling_words(prompt: str, name: str) -> None:
    assert name_from(prompt) == name


@pytest.mark.spec("A1")
@given(PROMPTS)
@example("word " * 20)
def test_a_name_that_was_made_has_at_most_three_telling_words(prompt: str) -> None:
    words = name_from(prompt).split("-")

    assert len(words) <= 3
    assert not STOP_WORDS.intersection(words[:-1])


@pytest.mark.spec("A1")
@given(PROMPTS)
@example("a" * 47 + " b")
def test_a_name_that_was_made_is_always_a_valid_one(prompt: str) -> None:
    name = name_from(prompt)

    assert checked(name) == name
    assert checked(distinct(name, {name})) == f"{name}-2"


@pytest.mark.parametrize("name", ["a", "A1", "0", "fix-parser-2", "v1.2_rc-3", "x" * 64])
def test_a_good_name_is_taken_as_it_is(name: str) -> None:
    assert checked(name) == name


@pytest.mark.spec("A1")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "a/b",
        "..",
        "a..b",
        ".hidden",
        "nul\0",
        "two words",
        "tab\t",
        "line\n",
        "-rf",
        "end-",
        "_",
        "a:b",
        "$(x)",
        "größe",
        "x" * 65,
    ],
)
def test_a_name_that_would_mean_more_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="A name has"):
        checked(name)


@pytest.mark.spec("A1")
@given(st.text(max_size=70))
def test_no_name_is_an_option_a_path_or_a_tmux_target(name: str) -> None:
    try:
        checked(name)
    except BadInput:
        return

    assert name.isascii()
    assert not set(name) & set("/\\:;$`'\"* \t\n\0@%=")
    assert not name.startswith(("-", "."))
    assert len(name) <= 64


@pytest.mark.spec("A1")
def test_a_name_that_others_have_gets_a_number() -> None:
    assert distinct("fix", set()) == "fix"
    assert distinct("fix", {"fix"}) == "fix-2"
    assert distinct("fix", {"fix", "fix-2", "fix-4"}) == "fix-3"


@pytest.mark.spec("A1")
@given(st.sets(st.integers(2, 300)))
def test_a_name_that_was_made_distinct_is_nobody_elses(numbers: set[int]) -> None:
    taken = {"fix", *(f"fix-{number}" for number in numbers)}

    assert distinct("fix", taken) not in taken


class Register:
    """Names that are taken, and how often somebody asked for one."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.asked = 0

    def __contains__(self, name: object) -> bool:
        self.asked += 1
        return name in self.names

    def add(self, name: str) -> None:
        self.names[name] = None


@pytest.mark.spec("A1")
def test_of_thousands_that_are_called_alike_few_are_asked_for() -> None:
    taken = Register()

    for _ in range(5_000):
        taken.add(distinct("fix", taken))

    assert list(taken.names) == ["fix", *(f"fix-{number}" for number in range(2, 5_001))]
    assert taken.asked < 5_000 * 50


def test_a_title_is_the_first_line_that_says_something() -> None:
    assert title_from("\n  \n  Fix it. \nNow.", "name") == "Fix it."
    assert title_from(" \n", "name") == "name"


@given(st.text())
def test_a_title_is_one_line_that_fits(prompt: str) -> None:
    title = title_from(prompt, "name")

    assert 0 < len(title) <= MAX_TITLE_CHARACTERS
    assert len(title.splitlines()) == 1


def test_a_long_title_is_cut_and_shows_it() -> None:
    assert title_from("x" * 70, "") == "x" * 70
    assert title_from("x" * 71, "") == "x" * 69 + "…"
