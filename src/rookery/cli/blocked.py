"""What is in the way of words for a session, as whoever waits for it is told."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rookery.cli.render import HELD, first_line, remark
from rookery.client import Client
from rookery.model.errors import Answered, NotRunning


def why_kept(message: Mapping[str, Any]) -> str:
    """Say what kept words from being typed, the last time that was tried."""
    return str(message["waits_for"]).removeprefix("Nothing was typed, because ")


def obstacle(session: Mapping[str, Any], why: str) -> str:
    """Say what is in the way of words that wait for a session."""
    match session["activity"] or session["status"]:
        case "permission" | "question" as kind:
            asks = "asks for permission" if kind == "permission" else "asks a question"
            return f"it {asks} ({first_line(session['reason'])})."
        case "working":
            return "it is working; it gets them when it stops."
        case "starting":
            return "it is starting; it gets them when it is up."
        case _:
            return why or "they are on their way."


def open_requests(daemon: Client, session: str) -> list[Mapping[str, Any]]:
    """Return what a session, given by its id, asks for now; nothing without a daemon."""
    found: list[Mapping[str, Any]] = []
    with suppress(NotRunning, Answered):
        found = daemon.get("permissions").get("requests", [])
    return [each for each in found if (each["session"], each["outcome"]) == (session, "open")]


def how_to_answer(session: Mapping[str, Any], asked: Sequence[Mapping[str, Any]] = ()) -> str:
    """Name the commands by which a session gets the answer that it waits for.

    ``asked`` is what it asks for now. Only the id of what is shown as the session's reason is
    named: by the session's name, another request that came meanwhile would be answered.
    """
    name = session["name"]
    shown = [each["id"] for each in asked if each["message"] == session["reason"]]
    word = shown[-1] if shown else "ID"
    is_only = bool(shown) and len(asked) == 1
    listed = "rookery permissions  |  "
    if session["activity"] == "permission":
        others = "" if is_only else listed
        return f"{others}rookery allow {word}  |  rookery deny {word}  |  rookery attach {name}"
    return f"{listed}rookery answer {word} WORDS  |  rookery attach {name}"


@dataclass(frozen=True, slots=True)
class Obstacles:
    """Tells whoever waits for sessions what keeps words for them; each of it once."""

    daemon: Client
    _told: set[str] = field(default_factory=set)

    def tell(self, awaited: Collection[str]) -> None:
        """Say what is new of sessions, by id or name; nothing while no daemon answers."""
        with suppress(NotRunning, Answered):
            for line in _in_the_way(self.daemon.get("sessions"), awaited):
                if line not in self._told:
                    self._told.add(line)
                    remark(line)


def _in_the_way(found: Mapping[str, Any], awaited: Collection[str]) -> Iterator[str]:
    """Yield what does not pass by itself, as the end of a turn does."""
    for session in found["sessions"]:
        kept = found["kept"].get(session["id"])
        if kept is None or not {session["id"], session["name"]} & {*awaited}:
            continue
        waits = f"Words for {session['name']} wait:"
        if found["holding"]:
            yield HELD
        elif session["activity"] == "idle" and kept["why"]:
            yield f"{waits} {why_kept({'waits_for': kept['why']})}"
