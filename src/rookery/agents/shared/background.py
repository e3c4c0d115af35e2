"""Read what hooks report of tasks that go on after a stop. Claude Code, as of 2.1."""

from __future__ import annotations

import re
from dataclasses import dataclass

from msgspec import structs

from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.ports.agent import Payload

#: Types of tasks whose end makes the agent go on by itself, with a report as its prompt.
_SUBAGENTS = frozenset({"subagent", "workflow"})

#: The prompt that reports the end of a background task; no person has typed it.
_REPORT = re.compile(r"<task-notification>.*?<summary>(?P<summary>.*?)</summary>", re.DOTALL)
_STOPPED = re.compile(r'Background agent "[^\n]*" was stopped by the user\.')


@dataclass(frozen=True, slots=True)
class BackgroundTasks:
    """How many background tasks of an agent are running."""

    subagents: int = 0
    commands: int = 0


def count(payload: Payload) -> BackgroundTasks:
    """Count the background tasks that a hook names."""
    tasks = payload.get("background_tasks")
    kinds = [
        each.get("type")
        for each in (tasks if isinstance(tasks, list) else ())
        if isinstance(each, dict) and each.get("status", "running") == "running"
    ]
    subagents = sum(kind in _SUBAGENTS for kind in kinds)
    return BackgroundTasks(subagents, len(kinds) - subagents)


def read_stop(session: SessionId, payload: Payload, words: str, turn: str) -> facts.Fact:
    """Return the end of the turn; or its pause, while subagents run that will report."""
    going_on = count(payload)
    if going_on.subagents:
        return facts.TurnPaused(session, words, turn, going_on.subagents, going_on.commands)
    return facts.TurnEnded(session, words, turn=turn, commands=going_on.commands)


def read_prompt(started: facts.TurnStarted) -> facts.TurnStarted:
    """Mark a prompt that is the report of a background task, and shorten it."""
    if report := _REPORT.match(started.prompt):
        return structs.replace(started, prompt=report["summary"].strip(), resumes=True)
    return structs.replace(started, resumes=bool(_STOPPED.fullmatch(started.prompt)))
