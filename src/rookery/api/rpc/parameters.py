"""Read the parameters of a method, in snake_case or camelCase, and its idempotency key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TypeVar

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from rookery.api.parameters import KEY_HEADER, MAX_KEY_CHARS
from rookery.model.errors import BadInput
from rookery.operations.operation import Params, misshapen

P = TypeVar("P", bound=Params)

#: The parameter that every method has besides its own.
KEY = "idempotency_key"


def read_params(shape: type[P], given: Mapping[str, object]) -> P:
    """Return the parameters of a method. Raises ``BadInput``."""
    try:
        # As on /v1, strict: the string "1" is not a number, but a time is a string.
        return shape.model_validate_json(_encode(given, shape), strict=True)
    except ValidationError as error:
        raise misshapen(error.errors(include_url=False)) from None


def split_key(given: Mapping[str, object], header: str) -> tuple[str, dict[str, object]]:
    """Return a call's idempotency key, and its other parameters. Raises ``BadInput``."""
    others = in_snake_case(given, [KEY])
    key = others.pop(KEY, "")
    if not isinstance(key, str) or len(key) > MAX_KEY_CHARS:
        raise BadInput(f"{KEY}: a string of at most {MAX_KEY_CHARS} characters is expected.")
    if key and header:
        raise BadInput(f"give {KEY} or the header {KEY_HEADER}, not both.")
    return key or header, others


def in_snake_case(given: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    """Return parameters in which known names are in snake_case. Raises ``BadInput``."""
    snake = {to_camel(name): name for name in names}
    renamed = {snake.get(name, name): value for name, value in given.items()}
    if len(renamed) < len(given):
        camel = next(name for name in given if name not in renamed and name in snake)
        raise BadInput(f"{snake[camel]} and {camel} are the same parameter; give one.")
    return renamed


def _encode(given: Mapping[str, object], shape: type[Params]) -> bytes:
    try:
        return json.dumps(in_snake_case(given, shape.model_fields)).encode()
    except RecursionError:
        raise BadInput("the parameters are nested too deeply.") from None
