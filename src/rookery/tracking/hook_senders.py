"""Find the session of a hook call. An unknown agent is registered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from sqlite3 import Connection

from rookery.hook_protocol import Hook
from rookery.model.errors import HookUnreadable
from rookery.model.facts import Fact, SessionId, TurnStarted
from rookery.model.permissions import Call
from rookery.model.sessions import Sender, Session
from rookery.ports.agent import HookDialect
from rookery.processes.lineage import START_TIMES_COMPARABLE
from rookery.sessions import adopt, record_end
from rookery.sessions.adopt import Arrival
from rookery.store import message_limits, observed_panes, senders, session_bindings, sessions
from rookery.store.journal import Journal
from rookery.store.senders import Sending
from rookery.tracking.hook_callers import MAX_UNIDENTIFIED, HookCaller, Unidentified


@dataclass(frozen=True, slots=True)
class HookSenders:
    """Determines the session of a hook call within the writer's transaction."""

    journal: Journal
    unidentified: Unidentified = field(default_factory=Unidentified)

    def resolve(
        self, db: Connection, sender: Sender, caller: HookCaller, at: datetime
    ) -> Sending:
        """Return the session that made a hook call; register a new one if none matches.

        Raises ``HookUnreadable`` for a call that another process made in a session's name.
        """
        if (known := senders.known(db, sender)) is None:
            session = self._bind(db, sender, caller) or self._register(db, sender, caller, at)
            return senders.get(db, session)
        if second := self._session_resuming_same_conversation(db, known, sender, caller):
            return second
        if not _is_call_of(known, caller):
            return self._replace(db, known, sender, caller, at)
        self._learn_process(db, known, caller)
        return known

    def _session_resuming_same_conversation(
        self, db: Connection, known: Sending, sender: Sender, caller: HookCaller
    ) -> Sending | None:
        """Return the caller's session if it resumed the conversation of the session ``known``.

        Two live sessions can run one conversation, but only one can hold its native id. The
        other one is found by its process. It gets the native id once ``known`` has ended.
        """
        hook = caller.hook
        if known.has_badge(hook.badge) or (calling := caller.to_learn) is None:
            return None
        process = calling.key
        if process == known.process:
            return None
        callers_session = senders.of_process(db, sender.agent, process)
        if callers_session is None or callers_session.session == known.session:
            return None
        if hook.pid is None and not callers_session.has_badge(hook.badge):
            return None  # a forged spool file can name any process
        if not known.is_live:
            session_bindings.rebind(db, process, sender)
        return callers_session

    def _bind(self, db: Connection, sender: Sender, caller: HookCaller) -> SessionId | None:
        """Return the session that the call belongs to, and give it the sender's native id.

        A badge is the better evidence, so it is tried before the process.
        """
        hook = caller.hook
        if hook.badge and (bound := session_bindings.bind(db, hook.badge, sender)):
            return bound
        if hook.badge and (late := session_bindings.late(db, hook.badge, sender)):
            return late
        # Only for live calls: a forged spool file could name any process and take over its
        # session.
        if hook.pid is not None and caller.process:
            rebound = session_bindings.rebind(db, caller.process.key, sender)
            if rebound:
                return rebound
        return (
            observed_panes.bind_by_folder(db, sender, caller.folder)
            if caller.is_shared
            else None
        )

    def _replace(
        self, db: Connection, known: Sending, sender: Sender, caller: HookCaller, at: datetime
    ) -> Sending:
        """End a session whose process is gone, and register the caller as a new session.

        The conversation continues in another process, which is another session.
        """
        reason = "the agent's process no longer exists"
        record_end.end(db, self.journal, known.session, outcome="failed", reason=reason)
        return senders.get(db, self._register(db, sender, caller, at))

    def register_continuation(
        self, db: Connection, ended: Sending, sender: Sender, caller: HookCaller, at: datetime
    ) -> Sending:
        """Register the agent of an ended session, which still runs, as a new session.

        The new session continues the ended one.
        """
        continues = sessions.get(db, ended.session)
        return senders.get(db, self._register(db, sender, caller, at, continues=continues))

    def _learn_process(self, db: Connection, sending: Sending, caller: HookCaller) -> None:
        """Record the process of a headless session, if its first calls did not show it."""
        is_identified = sending.badge is not None or sending.process is not None
        if is_identified or sending.has_terminal or caller.hook.pid is None:
            return
        process = caller.to_learn
        if process and not session_bindings.holder_of_process(db, process.key):
            observed_panes.identify(db, sending.session, process.key)

    def _register(
        self,
        db: Connection,
        sender: Sender,
        caller: HookCaller,
        at: datetime,
        *,
        continues: Session | None = None,
    ) -> SessionId:
        process = caller.process.key if caller.process else None
        if process and session_bindings.holder_of_process(db, process):
            process = None  # another session has this process, and only one can have it
        self._require_room(db, caller, is_identified=process is not None)
        arrival = Arrival(
            agent=sender.agent,
            native_id=sender.native_id,
            folder=caller.folder,
            origin="hook",
            process=process,
            continues=continues,
            at=at,
        )
        session = adopt.adopt_session(db, self.journal, arrival)
        if process is None:
            self.unidentified.add(caller.group, session)
        return session

    def _require_room(self, db: Connection, caller: HookCaller, *, is_identified: bool) -> None:
        """Raise ``HookUnreadable`` if no further session may be registered.

        The call is then parked and not retried, so that calls with made-up ids cannot fill
        the database.
        """
        if why := message_limits.why_no_room_for_headless(db, is_identified=is_identified):
            raise HookUnreadable(why)
        created = () if is_identified else self.unidentified.of(caller.group)
        if message_limits.count_unidentified(db, created) >= MAX_UNIDENTIFIED:
            raise HookUnreadable(
                f"the caller has already created {MAX_UNIDENTIFIED} sessions whose process is"
                " unknown, which is the limit"
            )


def _is_call_of(known: Sending, caller: HookCaller) -> bool:
    """Return whether a session's own process made the call; False if that process has ended.

    Raises ``HookUnreadable`` if another process made it while the session's own one runs.
    """
    hook, session = caller.hook, known.session
    if known.badge is not None:
        if known.has_badge(hook.badge) or caller.is_of(known.process):
            return True
        raise HookUnreadable(f"the caller does not have the badge of session {session}")
    if known.process is None:
        return True
    if hook.pid is None and _may_be_spooled_by(known.process, caller):
        return True
    if caller.is_shared or caller.is_of(known.process):
        return True
    if caller.sees_running(known.process):
        raise HookUnreadable(f"session {session} is still running in another process")
    return False


def is_session_start_or_end(sender: Sender) -> bool:
    return sender.is_new or sender.has_ended


def identify(db: Connection, sending: Sending, sender: Sender, caller: HookCaller) -> None:
    """Record a session's process, so that it is recognized after its native id changes."""
    if not is_session_start_or_end(sender) or not sending.has_badge(caller.hook.badge):
        return
    if caller.process:
        observed_panes.identify(db, sending.session, caller.process.key)


def ends_conversation_already_left(db: Connection, sender: Sender, caller: HookCaller) -> bool:
    """Return whether this end event is for a conversation that its session has already left.

    Codex reports the end of a conversation seconds after the next one has begun.
    """
    if not sender.has_ended or session_bindings.known(db, sender):
        return False
    process = caller.process.key if caller.process else None
    return session_bindings.of_caller(db, sender.agent, caller.hook.badge, process) is not None


def _may_be_spooled_by(process: str, caller: HookCaller) -> bool:
    """Return whether a spooled call may come from ``process``.

    If that process still runs, the call must name it. This proves nothing: another process of
    the same user can forge the file, and could also read any key. It only rejects calls that
    do not name the process.
    """
    named_processes = {each.key for each in caller.hook.named}
    if process in named_processes or not START_TIMES_COMPARABLE:
        return True
    return not named_processes and not caller.sees_running(process)


def continues_after_end(
    sending: Sending, hook: Hook, hooks: HookDialect, call: Call | None
) -> bool:
    """Return whether a live agent makes a call or starts a turn after its session has ended.

    A session can end while its agent runs: it expired because no report came for long, or a
    backup was restored. Other events, such as a stop at the same time as the exit, still belong
    to the ended session.
    """
    if sending.is_live or hook.pid is None:
        return False
    return call is not None or is_prompt(hooks.read(hook.payload, sending.session))


def is_prompt(facts: Iterable[Fact]) -> bool:
    return any(isinstance(fact, TurnStarted) and not fact.resumes for fact in facts)
