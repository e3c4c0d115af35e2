"""Accept the start of a session that was checked: as a row, with its first message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from sqlite3 import Connection
from uuid import uuid4

from rookery.model.errors import CommandRefused, LimitReached, NameTaken
from rookery.model.facts import SessionId, SessionRequested, StartWaited
from rookery.model.labels import checked_tags
from rookery.model.messages import Handling
from rookery.model.names import distinct, name_from, title_from
from rookery.model.reason_texts import waits_for_place
from rookery.model.sessions import (
    MAX_FIRST_PROMPT_CHARACTERS,
    TMUX,
    NativeId,
    Session,
    program_name,
)
from rookery.model.workspaces import SessionWorkspace
from rookery.sessions.commands import MessageSender, write
from rookery.sessions.start_plans import StartPlan, StartRequest
from rookery.store import driven_places, session_bindings, sessions, workspaces
from rookery.store.journal import Journal
from rookery.store.session_lookup import TakenNames


def accept(
    db: Connection, journal: Journal, plan: StartPlan, *, speaker: MessageSender
) -> Session:
    """Add a session row, and queue its first message."""
    owner = speaker.name
    has_place = _has_place(db, plan)
    _require_not_live(db, plan)
    session = _new_session(db, journal, plan, owner=owner)
    workspaces.require_stays(db, session.project_path)
    sessions.add(db, session, launch=_launch(plan))
    _enter_workspace(db, plan, session)
    journal.append(db, SessionRequested(session.id, owner))
    if not has_place:
        journal.append(db, StartWaited(session.id, waits_for_place(plan.limit)))
    if plan.words:
        # Messages that come before it is up are not joined to the prompt: its answer is wanted.
        write(db, journal, session.id, plan.words, speaker, handling=Handling(alone=True))
    return sessions.get(db, session.id)


def _has_place(db: Connection, plan: StartPlan) -> bool:
    """Return whether a start is within the limit, or waits for its place.

    Raises ``LimitReached`` if it is beyond the limit and must not wait.
    """
    if plan.start.runtime == TMUX:
        if sessions.count_live(db, TMUX) >= plan.limit:
            raise LimitReached(f"{plan.limit}. End one, or raise limits.tmux_sessions.")
        return True
    has_place = driven_places.count(db) < plan.limit
    if not has_place and not plan.start.driving.queue:
        raise LimitReached(
            f"{plan.limit} driven sessions. End one, raise limits.driven_sessions, or let it"
            " wait for its place:  rookery start --queue"
        )
    return has_place


def _new_session(db: Connection, journal: Journal, plan: StartPlan, *, owner: str) -> Session:
    """Return the session of an accepted start, with an id and a name that are free."""
    now, start = journal.clock.now(), plan.start
    session_id = _new_id(db)
    name = _name(start, taken=TakenNames(db))
    workspace = _workspace(db, plan, name)
    return Session(
        id=session_id,
        name=name,
        label=name,
        agent=plan.agent.name,
        runtime=start.runtime,
        computer=journal.computer,
        title=title_from(start.prompt, start.chosen_name),
        native_id=_native_id(plan, session_id),
        project_path=str(_project(plan, workspace)),
        tmux_session=program_name(session_id) if start.runtime == TMUX else None,
        budget=start.driving.budget,
        owner=owner,
        parent=start.parent,
        continues=start.conversation.session if start.conversation else None,
        origin=start.origin or owner,
        last_input_origin=owner,
        first_prompt=start.prompt[:MAX_FIRST_PROMPT_CHARACTERS],
        model=start.model,
        permission_mode=start.permission_mode,
        tags=checked_tags(start.tags),
        profile=start.profile,
        since=now,
        created_at=now,
        last_activity_at=now,
        workspace=workspace,
    )


def _workspace(db: Connection, plan: StartPlan, name: str) -> SessionWorkspace | None:
    """Return the worktree of a new session: one to be made, or its conversation's."""
    if plan.worktree:
        return workspaces.choose(db, plan.worktree, name)
    return plan.start.conversation.workspace if plan.start.conversation else None


def _project(plan: StartPlan, workspace: SessionWorkspace | None) -> Path:
    """Return the session's folder: in a new worktree, the same one as in the checkout."""
    if plan.worktree and workspace:
        return Path(workspace.path, plan.worktree.subdir)
    return plan.project


def _enter_workspace(db: Connection, plan: StartPlan, session: Session) -> None:
    conversation = plan.start.conversation
    if session.workspace is None:
        return
    if plan.worktree:
        at = session.created_at
        workspaces.request(db, session.id, plan.worktree, session.workspace, at=at)
    elif conversation and conversation.restored:
        workspaces.restore(db, replace(conversation.restored, session=session.id))
    elif conversation and not conversation.is_branch:
        workspaces.give(db, session.workspace.path, session.id)
    else:
        workspaces.recheck(db, session.workspace.path)


def _require_not_live(db: Connection, plan: StartPlan) -> None:
    """Refuse to resume a live session's conversation: two programs must not write to one."""
    conversation = plan.start.conversation
    if conversation is None or conversation.is_branch:
        return
    if holder := session_bindings.in_conversation(db, plan.agent.name, conversation.native_id):
        can_fork = plan.agent.abilities.can_fork
        verb = "Branch it:  rookery fork" if can_fork else "First:  rookery end"
        why = f"{holder.name} is still running in this conversation."
        raise CommandRefused(f"{why} {verb} {holder.name}")


def _native_id(plan: StartPlan, session: SessionId) -> NativeId | None:
    conversation = plan.start.conversation
    if conversation and not conversation.is_branch:
        return conversation.native_id
    return NativeId(session) if plan.agent.abilities.takes_id else None


def _launch(plan: StartPlan) -> dict[str, object]:
    """Return the options with which the program is launched, as they are stored."""
    start, conversation = plan.start, plan.start.conversation
    environment = dict(start.environment)
    options = {"command": plan.command, "environment": environment, "tools": start.tools}
    if start.runtime != TMUX:
        options["driving"] = asdict(start.driving)
    if conversation is None:
        return options
    how = {"forks": conversation.native_id} if conversation.is_branch else {"resumes": True}
    return {**options, **how}


def _new_id(db: Connection, make: Callable[[], object] = uuid4) -> SessionId:
    """Return a new id whose first 8 characters, used as the tmux name, are unique as well."""
    while True:
        session = SessionId(str(make()))
        if not sessions.has_id_like(db, session[:8]):
            return session


def _name(start: StartRequest, *, taken: TakenNames) -> str:
    if not start.name:
        return distinct(start.chosen_name or name_from(start.prompt), taken)
    if start.name in taken:
        raise NameTaken(f"{start.name!r}. Choose another, or end that one.")
    return start.name
