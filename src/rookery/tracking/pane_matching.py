"""Match agents seen in panes with known sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from rookery.model.facts import SessionId
from rookery.model.sessions import Session
from rookery.ports.terminal import TerminalAddress
from rookery.processes import FoundProgram
from rookery.runtimes.tmux.user_servers import ListedPane


@dataclass(frozen=True, slots=True)
class AgentInPane:
    """An agent in a pane."""

    program: FoundProgram
    pane: ListedPane
    folder: str
    began: datetime | None

    @property
    def address(self) -> TerminalAddress:
        return TerminalAddress(self.pane.session, self.pane.pane, self.pane.server)


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent without a known session."""

    agent: AgentInPane


@dataclass(frozen=True, slots=True)
class PaneAssigned:
    """A known session whose agent was not known to be in this pane."""

    session: SessionId
    agent: AgentInPane


@dataclass(frozen=True, slots=True)
class LabelChanged:
    session: SessionId
    label: str


@dataclass(frozen=True, slots=True)
class AgentGone:
    session: SessionId
    reason: str


Change: TypeAlias = NewAgent | PaneAssigned | LabelChanged | AgentGone


def changes_of(live: Sequence[Session], agents: Sequence[AgentInPane]) -> list[Change]:
    """Return what the agents that were seen change about the known sessions."""
    changes: list[Change] = []
    for agent in agents:
        session = find_session(agent, live, agents)
        if session is None:
            changes.append(NewAgent(agent))
        elif not _is_recorded_at(session, agent):
            changes.append(PaneAssigned(session.id, agent))
        elif agent.pane.window_name not in {"", session.label}:
            changes.append(LabelChanged(session.id, agent.pane.window_name))
    return changes


def find_session(
    agent: AgentInPane, live: Iterable[Session], agents: Iterable[AgentInPane]
) -> Session | None:
    """Return the session of an agent: by its process, else by its pane, else by its folder."""
    candidates = [each for each in live if each.agent == agent.program.agent]
    if same := [each for each in candidates if each.process in agent.program.process_keys]:
        return same[0]
    unknown = [each for each in candidates if each.process is None and not each.is_ours]
    if same := [each for each in unknown if _is_at(each, agent.pane)]:
        return same[0]
    # Two agents in one folder stay separate sessions: they cannot be told apart.
    alike = [each for each in agents if _is_alike(each, agent)]
    same = [each for each in unknown if not each.has_terminal and _may_be(each, agent)]
    return same[0] if len(same) == 1 and len(alike) == 1 else None


def _is_at(session: Session, pane: ListedPane) -> bool:
    return (session.tmux_server, session.tmux_pane) == (pane.server, pane.pane)


def _is_alike(first: AgentInPane, other: AgentInPane) -> bool:
    return (first.program.agent, first.folder) == (other.program.agent, other.folder)


def _may_be(session: Session, agent: AgentInPane) -> bool:
    """Return whether a session is in the agent's folder, and not older than the agent."""
    is_new = agent.began is not None and session.created_at >= agent.began
    return is_new and session.project_path == agent.folder


def _is_recorded_at(session: Session, agent: AgentInPane) -> bool:
    is_named = session.tmux_session == agent.pane.session
    is_there = session.has_terminal and _is_at(session, agent.pane) and is_named
    return is_there and session.process is not None
