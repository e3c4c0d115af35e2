"""The turns of a real session."""

from __future__ import annotations

from typing import Any

from tests.support.real.rookery import Rookery


def turns(rookery: Rookery, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rookery.client.get("sessions", name, "turns")["turns"]
    return found
