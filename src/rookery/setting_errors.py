"""Say in plain words what is wrong in a file of settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rookery.model.spelling_suggestions import did_you_mean

#: What a value must be, by the kind of error; braces hold the error's own details.
_MUST_BE: Mapping[str, str] = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a table",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "list_type": "a list in brackets",
    "literal_error": "{expected}",
    "model_type": "a table",
    "string_type": "a text in quotes",
    "tuple_type": "a list in brackets",
}

#: Characters of a wrong value that are shown.
MAX_VALUE_CHARACTERS = 60


#: Errors of one file that are told.
MAX_TOLD = 8


def told_errors(error: ValidationError, model: type[BaseModel], *, see: str) -> str:
    """Return what is wrong; ``see`` tells where all keys of the ``model`` are listed."""
    errors = error.errors()
    told = dict.fromkeys(_told(each, model, see=see) for each in errors[:MAX_TOLD])
    sentences, given = [], set[str]()
    for problem, advice in told:
        is_new = bool(advice) and advice not in given
        sentences.append(f"{problem}. {advice}" if is_new else problem)
        given.add(advice)
    if (more := len(errors) - MAX_TOLD) > 0:
        sentences.append("1 more error" if more == 1 else f"{more} more errors")
    if len(sentences) == 1:
        return sentences[0]
    return " Also: ".join(
        each if each.endswith((".", "?")) else f"{each}." for each in sentences
    )


def _told(error: ErrorDetails, model: type[BaseModel], *, see: str) -> tuple[str, str]:
    """Return what is wrong, and what to do."""
    *parents, last = map(str, error["loc"])
    key = ".".join((*parents, last))
    if error["type"] == "extra_forbidden":
        keys = _keys_at(model, parents)
        listed = f"There are: {', '.join(keys)}." if keys else see
        return f"there is no key '{key}'", did_you_mean(last, keys) or listed
    if error["type"] == "missing":
        return f"'{key}' is missing", see
    return f"'{key}' {_must_be(error)}", ""


def _must_be(error: ErrorDetails) -> str:
    """Return what a value must be instead of what it is."""
    if (rule := _MUST_BE.get(error["type"])) is None:
        return f"is wrong: {error['msg'].removeprefix('Value error, ')}"
    value = repr(error["input"])
    shown = f"{value[:MAX_VALUE_CHARACTERS]}…" if len(value) > MAX_VALUE_CHARACTERS else value
    details: dict[str, Any] = error.get("ctx", {})
    return f"must be {rule.format(**details)}, not {shown}"


def _keys_at(model: type[BaseModel], parents: Iterable[str]) -> list[str]:
    """Return the keys of the table that these keys lead to; empty if they lead elsewhere."""
    keys = iter(parents)
    for key in keys:
        kind = _kind_of(model, key)
        tables = [each for each in (kind, *get_args(kind)) if _is_table(each)]
        if not tables:
            return []
        if tables[0] is not kind:
            next(keys, "")  # the number in a list, or the name in a table of tables
        model = tables[0]
    return [each.alias or name for name, each in model.model_fields.items()]


def _kind_of(model: type[BaseModel], key: str) -> object:
    fields = model.model_fields.items()
    return next((each.annotation for name, each in fields if key in (name, each.alias)), None)


def _is_table(kind: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
