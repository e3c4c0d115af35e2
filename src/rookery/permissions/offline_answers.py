"""The answers of hooks that get no decision: without a daemon, or for unreadable calls."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Literal, TypeAlias

from rookery import supervise
from rookery.hook_protocol import with_checksum
from rookery.model.patterns import Pattern
from rookery.model.permissions import Outcome, Verdict
from rookery.model.rules import Rule
from rookery.permissions import skill_commands
from rookery.permissions.rules_file import RulesFile
from rookery.ports.agent import Agent, HookTraits
from rookery.ports.clock import Clock
from rookery.private_files import write_durably
from rookery.store import flags, session_families
from rookery.store.database import Database
from rookery.store.flags import Mode

#: Seconds between two checks whether rules or mode have changed.
CHECK_INTERVAL_SECONDS = 1.0

#: The name of the loop in the log.
STEP = "Writing offline answers"

DENIAL = Verdict(Outcome.DENIED, "absence", "No Rookery daemon runs to decide this.")

UNREADABLE = Verdict(Outcome.DENIED, "unreadable", "Rookery could not read this call.")

WhenAway: TypeAlias = Literal["ask", "deny", "pass"]


@dataclass(frozen=True, slots=True)
class OfflineConditions:
    """The conditions, besides the rules, on which the answers of hooks depend."""

    mode: Mode
    #: For each agent, the agents that started live sessions of it: their rules apply, too.
    agents_above: Mapping[str, Collection[str]]


def situation(db: Connection) -> OfflineConditions:
    return OfflineConditions(flags.mode(db), session_families.agents_above(db))


@dataclass(frozen=True, slots=True)
class OfflineAnswers:
    file: Path
    agents: Mapping[str, Agent]
    rules_file: RulesFile
    when_away: WhenAway

    async def keep(self, database: Database, clock: Clock) -> None:
        """Keep the file in line with rules and mode, forever."""
        write = partial(self.write, database, clock)
        await supervise.every(CHECK_INTERVAL_SECONDS, write, name=STEP, clock=clock)

    async def write(self, database: Database, clock: Clock) -> None:
        """Write the file if it is outdated or if another program changed it."""
        await self.rules_file.refresh(database, clock)
        self.store(await database.read(situation))

    def store(self, now: OfflineConditions) -> None:
        """Store the answers for these conditions in the file. Raises ``OSError``."""
        content = with_checksum(self.as_json(now).encode())
        if _content(self.file) != content:
            write_durably(self.file, content)

    def as_json(self, now: OfflineConditions) -> str:
        """Return, as JSON, the answer for each agent and kind of call."""
        if self.when_away == "pass":
            return "{}"
        answers = {
            name: list(self._offline_answers(agent, now, self.when_away, DENIAL))
            for name, agent in self.agents.items()
        }
        used = {name: each for name, each in answers.items() if each}
        return json.dumps(used, sort_keys=True)

    def answer_to_unreadable(
        self, agent: str, events: frozenset[str], now: OfflineConditions
    ) -> str:
        """Return the answer to a call that cannot be read.

        A call that a rule might have stopped never runs. If the event is unknown, the call
        counts as one before a tool runs, which is the strictest case.
        """
        dialect = self.agents.get(agent)
        if dialect is None:
            return ""
        away: WhenAway = "deny" if self.when_away == "deny" else "ask"
        answers = list(self._offline_answers(dialect, now, away, UNREADABLE))
        matching = [each for each in answers if not events or each["event"] in events]
        return str(matching[0]["say"]) if matching else ""

    def _offline_answers(
        self, agent: Agent, now: OfflineConditions, when_away: WhenAway, denial: Verdict
    ) -> Iterator[dict[str, object]]:
        if agent.hooks is None:
            return
        traits = agent.hooks.traits
        rules = [rule for rule in self.rules_file.rules if rule.decision != "allow"]
        names = {agent.name, *now.agents_above.get(agent.name, ())}
        restricted = [rule.tool for rule in _of_agents(rules, names)]
        loading = skill_commands.tools_that_load(agent, restricted)
        renamed = _other_names(traits, restricted)
        tools = sorted({*map(_glob, restricted), *loading, *renamed})
        if traits.before_tool and tools:
            event = {"hook_event_name": traits.before_tool}
            asks = when_away == "ask" and traits.obeys_ask
            answer = agent.hooks.answer(event, None if asks else denial)
            yield {"event": traits.before_tool, "tools": tools, "say": answer}
        if traits.permission and now.mode == "remote" and when_away == "deny":
            event = {"hook_event_name": traits.permission}
            answer = agent.hooks.answer(event, denial)
            yield {"event": traits.permission, "tools": ["*"], "say": answer}


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


def _of_agents(rules: Iterable[Rule], names: Collection[str]) -> Iterator[Rule]:
    return (rule for rule in rules if any(map(rule.agent.matches, names)))


def _other_names(traits: HookTraits, restricted: Sequence[Pattern]) -> Iterator[str]:
    """Yield all names of the tools that patterns restrict by one of their names."""
    for names in traits.same_tools:
        if any(each.matches(name) for each in restricted for name in names):
            yield from names


def _glob(pattern: Pattern) -> str:
    """Return a glob that matches at least what the pattern matches.

    It has no brackets: the hook program supports ``*`` and ``?`` only.
    """
    if pattern.kind == "regex" or "[" in pattern.text:
        return "*"
    special = pattern.kind == "literal" and set(pattern.text) & set("*?")
    return "*" if special else pattern.text
