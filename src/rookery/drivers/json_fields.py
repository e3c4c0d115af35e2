"""JSON objects of agents, whose fields may be missing or have any type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Fields: TypeAlias = Mapping[str, Any]


def fields_of(value: object) -> Fields:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """Return a JSON string; an empty one for any other value."""
    return value if isinstance(value, str) else ""
