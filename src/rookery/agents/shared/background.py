"""Read what Claude Code's hooks tell of tasks that go on after a stop. As of 2.1."""

from __future__ import annotations

import re
from dataclasses import dataclass

from msgspec import structs

from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.ports.agent import Payload

#: Types of tasks after whose end the agent goes on by itself, with a report of them as prompt.
_SUBAGENTS = frozenset({"subagent", "workflow"})

#: How the agent is told that a background task has ended; no person has typed that.
_REPORT = re.compile(r"<task-notification>.*?<summary>(?P<summary>.*?)</summary>", re.DOTALL)
_STOPPED = re.compile(r'Background agent "[^\n]*" was stopped by the user\.')


@dataclass(frozen=True, slots=True)
class Background:
    """How many tasks of an agent go on."""

    subagents: int = 0
    commands: int = 0


def count(payload: Payload) -> Background:
    """Count the background tasks that a hook names."""
    tasks = payload.get("background_tasks")
    kinds = [
        each.get("type")
        for each in (tasks if isinstance(tasks, list) else ())
        if isinstance(each, dict) and each.get("status", "running") == "running"
    ]
    subagents = sum(kind in _SUBAGENTS for kind in kinds)
    return Background(subagents, len(kinds) - subagents)


def read_stop(session: SessionId, payload: Payload, words: str, turn: str) -> facts.Fact:
    """Say whether a stop ends the turn: it does once no subagent is left that will report."""
    going_on = count(payload)
    if going_on.subagents:
        return facts.TurnPaused(session, words, turn, going_on.subagents, going_on.commands)
    return facts.TurnEnded(session, words, turn=turn, commands=going_on.commands)


def read_prompt(started: facts.TurnStarted) -> facts.TurnStarted:
    """Tell a person's prompt from the report of a background task, which is shown short."""
    if report := _REPORT.match(started.prompt):
        return structs.replace(started, prompt=report["summary"].strip(), resumes=True)
    return structs.replace(started, resumes=bool(_STOPPED.fullmatch(started.prompt)))
