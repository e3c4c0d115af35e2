"""Find the session of a hook call. An unknown agent is registered."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from sqlite3 import Connection

from rookery.model.errors import HookUnreadable
from rookery.model.facts import SessionId
from rookery.model.sessions import Sender, Session
from rookery.processes.lineage import TELLS_LINEAGE
from rookery.sessions import adopt, record_end
from rookery.sessions.adopt import Arrival
from rookery.store import limits, observed_panes, senders, session_bindings, sessions
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
        """Return the sender of a hook call. An unknown sender is registered, never dropped."""
        if known := senders.known(db, sender):
            sharing = self._session_sharing_it(db, known, sender, caller)
            return sharing or self._verify(db, known, sender, caller, at)
        session = self._bind(db, sender, caller) or self._register(db, sender, caller, at)
        return senders.get(db, session)

    def _session_sharing_it(
        self, db: Connection, known: Sending, sender: Sender, caller: HookCaller
    ) -> Sending | None:
        """Return the caller's session if it resumed a conversation of another session.

        Only one live session has the native id, so the second one is found by its process.
        """
        hook = caller.hook
        if known.is_worn(hook.badge) or (found := caller.to_learn) is None:
            return None
        process = found.word
        if process == known.process:
            return None
        own = senders.of_process(db, sender.agent, process)
        if own is None or own.session == known.session:
            return None
        if hook.pid is None and not own.is_worn(hook.badge):
            return None  # a planted spool file can name any process
        if not known.is_live:
            session_bindings.rebind(db, process, sender)  # the first holder has ended
        return own

    def _bind(self, db: Connection, sender: Sender, caller: HookCaller) -> SessionId | None:
        """Bind the sender's native id to the only session that can have it, if any."""
        hook = caller.hook
        if hook.badge and (bound := session_bindings.bind(db, hook.badge, sender)):
            return bound
        if hook.badge and (late := session_bindings.late(db, hook.badge, sender)):
            return late
        # Not by what a spooled call names: a planted one could take over a session.
        if hook.pid is not None and caller.process:
            held = session_bindings.rebind(db, caller.process.word, sender)
            if held:
                return held
        return (
            observed_panes.bind_by_folder(db, sender, caller.folder)
            if caller.is_shared
            else None
        )

    def _verify(
        self, db: Connection, known: Sending, sender: Sender, caller: HookCaller, at: datetime
    ) -> Sending:
        """Check that the caller is the session itself. Raises ``HookUnreadable``."""
        hook, session = caller.hook, known.session
        if known.badge is not None:
            if known.is_worn(hook.badge) or caller.is_of(known.process):
                return known
            raise HookUnreadable(f"it does not have the badge of {session}")
        if known.process is None:
            self._learn_process(db, known, caller)
            return known
        if hook.pid is None and _may_be_spooled_by(known.process, caller):
            return known
        if caller.is_shared or caller.is_of(known.process):
            return known
        if caller.sees_running(known.process):
            raise HookUnreadable(f"another process already belongs to {session}")
        # The conversation continues in another process: that is another session.
        record_end.end(
            db, self.journal, session, outcome="failed", reason="its program is gone"
        )
        return senders.get(db, self._register(db, sender, caller, at))

    def revive(
        self, db: Connection, ended: Sending, sender: Sender, caller: HookCaller, at: datetime
    ) -> Sending:
        """Register a live agent whose record has ended as a new session that continues it."""
        continues = sessions.get(db, ended.session)
        return senders.get(db, self._register(db, sender, caller, at, continues=continues))

    def _learn_process(self, db: Connection, sending: Sending, caller: HookCaller) -> None:
        """Record the process of a headless session whose first calls did not reveal it."""
        if sending.has_terminal or caller.hook.pid is None:
            return
        found = caller.to_learn
        if found and not session_bindings.holder_of_process(db, found.word):
            observed_panes.identify(db, sending.session, found.word)

    def _register(
        self,
        db: Connection,
        sender: Sender,
        caller: HookCaller,
        at: datetime,
        *,
        continues: Session | None = None,
    ) -> SessionId:
        process = caller.process.word if caller.process else None
        if process and session_bindings.holder_of_process(db, process):
            process = None  # another session has this process, and only one can have it
        if why := self._why_no_room(db, caller, is_identified=process is not None):
            # Parked, not retried: invented sessions must not fill the store.
            raise HookUnreadable(why)
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

    def _why_no_room(self, db: Connection, caller: HookCaller, *, is_identified: bool) -> str:
        if why := limits.why_no_room_for_headless(db, is_identified=is_identified):
            return why
        made = () if is_identified else self.unidentified.of(caller.group)
        if limits.count_unidentified(db, made) >= MAX_UNIDENTIFIED:
            return f"its caller has brought {MAX_UNIDENTIFIED} sessions of unknown processes"
        return ""


def may_change_conversations(sender: Sender) -> bool:
    return sender.is_new or sender.has_ended


def identify(db: Connection, sending: Sending, sender: Sender, caller: HookCaller) -> None:
    """Record a session's process, which identifies it in its next conversation."""
    if not may_change_conversations(sender) or not sending.is_worn(caller.hook.badge):
        return
    if caller.process:
        observed_panes.identify(db, sending.session, caller.process.word)


def ends_an_earlier_conversation(db: Connection, sender: Sender, caller: HookCaller) -> bool:
    """Return whether the sender has begun another conversation since.

    Codex reports the end of a conversation seconds after the next one has begun.
    """
    if not sender.has_ended or session_bindings.known(db, sender):
        return False
    process = caller.process.word if caller.process else None
    return session_bindings.of_caller(db, sender.agent, caller.hook.badge, process) is not None


def _may_be_spooled_by(process: str, caller: HookCaller) -> bool:
    """Return whether a spooled call may be from a session's process; a live one must be named.

    This is no proof, as a planted file can name it as well: no key and no signature is safe
    from other processes of the same user. It rejects calls that do not know the process.
    """
    named = {each.word for each in caller.hook.named}
    if process in named or not TELLS_LINEAGE:
        return True
    return not named and not caller.sees_running(process)
