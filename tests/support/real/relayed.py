"""Real agents that talk in a relay."""

from __future__ import annotations

from tests.support.real.rookery import Rookery


def relay(rookery: Rookery, *names: str, **limits: int) -> str:
    members = [{"session": name} for name in names]
    return str(rookery.client.post("relays", members=members, **limits)["id"])


def exchange(rookery: Rookery, relay: str) -> list[tuple[str, str]]:
    """Return who said what, as it was relayed."""
    shown = rookery.client.get("relays", relay)
    names = {each["session"]: each["name"] for each in shown["relay"]["members"]}
    return [(names[each["session"]], each["words"]) for each in shown["said"]]
