"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool | None  #: ``None``: it does not exist, and need not
    detail: str
    advice: str = ""
    items: tuple[str, ...] = ()  #: the individual cases
