"""Forms as questions, and the values that answers give them."""

from __future__ import annotations

import pytest

from rookery.drivers.commands import AgentAnswer
from rookery.drivers.form_answers import form_action
from rookery.model.forms import MAX_TEXT_CHARACTERS, Form
from rookery.model.permissions import Question

#: As the ACP adapter of Claude Code asks: each choice has a field for free text beside it.
CHOICES = {
    "type": "object",
    "properties": {
        "question_0": {
            "type": "string",
            "title": "Colour",
            "description": "Which colour?",
            "oneOf": [
                {"const": "red", "title": "Red", "description": "warm"},
                {"const": "blue", "title": "Blue"},
            ],
        },
        "question_0_custom": {"type": "string", "title": "Other"},
        "question_1": {
            "type": "array",
            "description": "Which sizes?",
            "items": {"anyOf": [{"const": "S", "title": "S"}, {"const": "M", "title": "M"}]},
        },
        "question_1_custom": {"type": "string", "title": "Other"},
    },
}

FORM = Form("Please answer.", CHOICES, "_custom")
COLOUR, SIZES = "Please answer. Which colour?", "Please answer. Which sizes?"


@pytest.mark.spec("D5")
def test_each_choice_is_a_question_and_the_field_beside_it_is_none() -> None:
    assert FORM.questions == (
        Question(COLOUR, ("Red", "Blue"), descriptions=("warm", "")),
        Question(SIZES, ("S", "M"), takes_several=True),
    )


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("answers", "values"),
    [
        ({COLOUR: ("Red",)}, {"question_0": "red"}),
        ({COLOUR: ("green",)}, {"question_0_custom": "green"}),
        ({SIZES: ("S", "M")}, {"question_1": ["S", "M"]}),
        ({SIZES: ("S", "XL")}, {"question_1": ["S"], "question_1_custom": "XL"}),
        ({"Something else?": ("x",)}, None),
    ],
)
def test_answers_become_the_values_that_the_form_expects(
    answers: dict[str, tuple[str, ...]], values: dict[str, object] | None
) -> None:
    assert FORM.completed(answers) == values


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("message", "labels"),
    [
        ("Deploy.", {"a": "Same?", "b": "Same?"}),
        ("Deploy.", {"a": "Same?", "b": "Same?", "c": "Same? (a)"}),
        ("Deploy.", {"c": "Same? (a)", "a": "Same?", "b": "Same?"}),
        ("Deploy.", {"a" * 300: "Same?", "a" * 300 + "b": "Same?"}),
        ("Long. " * 1_000, {"branch": "Branch", "delete": "Delete?"}),
        ("Deploy.", {"a": "x" * 3_000, "b": "x" * 3_000}),
    ],
)
def test_each_answer_is_for_one_field(message: str, labels: dict[str, str]) -> None:
    fields = {name: {"type": "string", "title": label} for name, label in labels.items()}
    form = Form(message, {"type": "object", "properties": fields})

    answers = {each.text: (f"{n}",) for n, each in enumerate(form.questions)}

    assert form.completed(answers) == {name: f"{n}" for n, name in enumerate(labels)}
    assert all(len(each.text) <= MAX_TEXT_CHARACTERS for each in form.questions)


def test_named_values_are_shown_by_their_names() -> None:
    form = Form(
        "Size?", {"properties": {"it": {"enum": ["s", "m"], "enumNames": ["Small", "Medium"]}}}
    )
    assert form.questions == (Question("Size?", ("Small", "Medium")),)
    assert form.completed({"Size?": ("Medium",)}) == {"it": "m"}


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("allow", "answers", "action"),
    [
        (True, {"Go?": ("Accept",)}, "accept"),
        (True, {"Go?": ("Decline",)}, "decline"),
        (True, {}, "cancel"),
        (False, {}, "decline"),
    ],
)
def test_a_form_without_fields_is_accepted_declined_or_cancelled(
    allow: bool, answers: dict[str, tuple[str, ...]], action: str
) -> None:
    answer = AgentAnswer("s", "r", allow, "", answers)
    assert form_action(Form("Go?"), answer) == (action, {})
