"""Say in plain words what is wrong in a file of settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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


#: Precedes the keys that there are.
LISTED = "There are: "

#: Errors of one file that are told.
MAX_TOLD = 8


def told_errors(error: ValidationError, model: type[BaseModel], *, see: str) -> str:
    """Return what is wrong; ``see`` tells where all keys of the ``model`` are listed."""
    errors = error.errors()
    told = [*dict.fromkeys(_told(each, model, see=see) for each in errors[:MAX_TOLD])]
    more = [f"{len(errors) - MAX_TOLD} more errors"] if len(errors) > MAX_TOLD else []
    if len(told) == 1:
        return told[0]
    sentences = [each if each.endswith((".", "?")) else f"{each}." for each in told + more]
    return " Also: ".join(_each_list_once(sentences))


def _each_list_once(sentences: Iterable[str]) -> Iterator[str]:
    """Yield sentences; a list of the keys of a table is left out where it was told before."""
    told = set[str]()
    for each in sentences:
        error, sign, keys = each.partition(LISTED)
        yield error.rstrip() if keys in told else f"{error}{sign}{keys}"
        told.update(filter(None, [keys]))


def _told(error: ErrorDetails, model: type[BaseModel], *, see: str) -> str:
    *parents, last = map(str, error["loc"])
    key = ".".join((*parents, last))
    if error["type"] == "extra_forbidden":
        keys = _keys_at(model, parents)
        listed = f"{LISTED}{', '.join(keys)}." if keys else see
        return f"there is no key '{key}'. {did_you_mean(last, keys) or listed}"
    if error["type"] == "missing":
        return f"'{key}' is missing. {see}"
    return f"'{key}' {_must_be(error)}"


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
