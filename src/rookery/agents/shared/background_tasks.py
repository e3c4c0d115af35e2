"""Read background tasks that outlive a stop from hook payloads (Claude Code, as of 2.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from msgspec import structs

from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.ports.agent import Payload

#: Task types whose end makes the agent continue by itself, with a report as its prompt.
_SUBAGENTS = frozenset({"subagent", "workflow"})

#: The prompt that reports the end of a background task; the agent writes it, not a person.
_REPORT = re.compile(r"<task-notification>.*?<summary>(?P<summary>.*?)</summary>", re.DOTALL)
_STOPPED = re.compile(r'Background agent "[^\n]*" was stopped by the user\.')


@dataclass(frozen=True, slots=True)
class BackgroundTasks:
    """The number of running background tasks of an agent."""

    subagents: int = 0
    commands: int = 0


def count(payload: Payload) -> BackgroundTasks:
    """Count the running background tasks in a hook payload."""
    tasks = payload.get("background_tasks")
    kinds = [
        each.get("type")
        for each in (tasks if isinstance(tasks, list) else ())
        if isinstance(each, dict) and each.get("status", "running") == "running"
    ]
    subagents = sum(kind in _SUBAGENTS for kind in kinds)
    return BackgroundTasks(subagents, len(kinds) - subagents)


def read_stop(session: SessionId, payload: Payload, last_message: str, turn: str) -> facts.Fact:
    """Return the end of the turn, or its pause while subagents run that will report."""
    going_on = count(payload)
    if going_on.subagents:
        return facts.TurnPaused(
            session, last_message, turn, going_on.subagents, going_on.commands
        )
    return facts.TurnEnded(session, last_message, turn=turn, commands=going_on.commands)


def read_prompt(started: facts.TurnStarted) -> facts.TurnStarted:
    """Mark a prompt that reports a background task, and shorten it to the summary."""
    if report := _REPORT.match(started.prompt):
        return structs.replace(started, prompt=report["summary"].strip(), resumes=True)
    return structs.replace(started, resumes=bool(_STOPPED.fullmatch(started.prompt)))
