"""What hooks are to say while no daemon runs: left in a file beside the spool."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rookery.model.permissions import Outcome, Pattern, Rule, Verdict
from rookery.ports import Agent, Clock
from rookery.rulebook import Rulebook
from rookery.store import switches
from rookery.store.database import Database
from rookery.store.switches import Mode

_log = logging.getLogger(__name__)

#: Seconds between two looks whether rules or mode have changed.
ROUND = 1.0

DENIAL = Verdict(Outcome.DENIED, "absence", "Rookery is not there to decide this.")


@dataclass(frozen=True, slots=True)
class Absence:
    file: Path
    agents: Mapping[str, Agent]
    rulebook: Rulebook
    when_away: Literal["ask", "deny", "pass"]

    async def keep(self, database: Database, clock: Clock) -> None:
        """Keep the file as rules and mode say; for ever."""
        written = None
        while True:
            try:
                left = self.words(await database.read(switches.mode))
                if left != written:
                    self._write(left)
                    written = left
            except Exception:  # noqa: BLE001 - a supervised boundary
                _log.exception("What to say in our absence could not be left.")
            await clock.sleep(ROUND)

    def words(self, mode: Mode) -> str:
        """Return what each agent is to be told of which calls, as JSON."""
        if self.when_away == "pass":
            return "{}"
        rules = [rule for rule in self.rulebook.rules() if rule.decision != "allow"]
        told = {
            name: list(self._told(agent, rules, mode)) for name, agent in self.agents.items()
        }
        return json.dumps({name: each for name, each in told.items() if each}, sort_keys=True)

    def _told(
        self, agent: Agent, rules: Iterable[Rule], mode: Mode
    ) -> Iterator[dict[str, object]]:
        tools = sorted({_glob(rule.tool) for rule in rules if rule.agent.matches(agent.name)})
        if agent.hook_before_tool and tools:
            event = {"hook_event_name": agent.hook_before_tool}
            asks = self.when_away == "ask" and agent.asks_when_told
            said = agent.answer(event, None if asks else DENIAL)
            yield {"event": agent.hook_before_tool, "tools": tools, "say": said}
        if agent.hook_when_asked and mode == "remote" and self.when_away == "deny":
            event = {"hook_event_name": agent.hook_when_asked}
            said = agent.answer(event, DENIAL)
            yield {"event": agent.hook_when_asked, "tools": ["*"], "say": said}

    def _write(self, words: str) -> None:
        new = self.file.with_suffix(".new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(words)
        new.rename(self.file)


def _glob(pattern: Pattern) -> str:
    """Return a glob that matches at least what the pattern does."""
    if pattern.kind == "regex":
        return "*"
    special = pattern.kind == "literal" and set(pattern.text) & set("*?[")
    return "*" if special else pattern.text
