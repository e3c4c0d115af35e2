"""Recognise the names of agents among the words of a command."""

from __future__ import annotations

import os
import shlex
import tomllib
from typing import Any

from rookery.agents.names import CONFIGURED_NAME, NAMES
from rookery.home import find_home
from rookery.model.errors import BadInput, RookeryError
from rookery.model.spelling_suggestions import did_you_mean


def is_agent(word: str) -> bool:
    """Return whether a word names a built-in agent or one that the configuration defines."""
    is_possible = CONFIGURED_NAME.fullmatch(word) is not None
    return word in NAMES or (is_possible and word in configured_agents())


def configured_agents() -> list[str]:
    """Return the names of the agents for which the configuration sets an ACP command."""
    return [name for name, each in _tables("agents").items() if each.get("acp")]


def _tables(section: str) -> dict[str, dict[str, Any]]:
    """Return the named tables of a section of the configuration."""
    try:
        found = tomllib.loads(find_home(os.environ).settings.read_text()).get(section, {})
        return {name: each for name, each in found.items() if isinstance(each, dict)}
    except (OSError, ValueError, AttributeError, RookeryError):
        return {}  # the daemon says what is wrong with the configuration


def require_no_misspelt_agent(word: str) -> None:
    """Refuse a first word that is almost an agent's name. Raises ``BadInput``.

    Otherwise the default agent would get the misspelt name as a part of its prompt.
    """
    if len(word.split()) > 1:
        return  # a prompt in quotes
    if near := did_you_mean(word, (*NAMES, *configured_agents())):
        raise BadInput(
            f"{word!r} is no agent. {near} If it belongs to the prompt, name the agent with"
            f" an option:  --agent NAME {shlex.quote(word)}"
        )


def without_agent_of(profile: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a prompt without a first word that names the profile's agent.

    Raises ``BadInput`` if it names another agent: it would become a part of the prompt.
    """
    own = _tables("profiles").get(profile, {}).get("agent")
    if not own or not words or not is_agent(words[0]):
        return words
    if words[0] == own:
        return words[1:]
    raise BadInput(
        f"the profile {profile} starts {own}, not {words[0]}. Leave out {words[0]}, or leave"
        " out --profile. If it belongs to the prompt, put the prompt in quotes."
    )
