"""Write the hook programs for agents that are started by hand."""

from __future__ import annotations

from rookery.agents.catalog import AGENTS
from rookery.home import Home
from rookery.hook_setup import programs
from rookery.permissions.offline_answers import OfflineAnswers, OfflineConditions
from rookery.permissions.rules_file import RulesFile


def write_hook_programs(home: Home) -> None:
    """Write the hook programs, and answers for them as long as no daemon has ever run."""
    if not home.offline_answers.exists():
        rules_file = RulesFile(home.rules)
        if reading := rules_file.look():
            rules_file.adopt(reading)
        first = OfflineConditions(mode="local", agents_above={})
        OfflineAnswers(home.offline_answers, AGENTS, rules_file, "ask").store(first)
    programs.write(home, AGENTS)
