"""Turn the agents' hook calls into facts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from sqlite3 import Connection
from typing import TypeAlias

from rookery.coordination.overlaps import note_edits
from rookery.hook_protocol import Hook
from rookery.model.beliefs import is_end_believed
from rookery.model.errors import HookUnreadable
from rookery.model.facts import (
    Fact,
    ModelChosen,
    SessionEnded,
    SessionFound,
    SessionId,
    ToolUsed,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from rookery.model.permissions import Call, Verdict
from rookery.model.sessions import Sender
from rookery.model.turn_texts import explained
from rookery.permissions.decisions import Pass, Permissions, Ruling, WaitForAnswer
from rookery.permissions.stop_policy import KeepWorking, StopPolicy
from rookery.ports.agent import Agent, HookDialect
from rookery.processes import run_as
from rookery.processes.lineage import agent_in_lineage
from rookery.sessions import record_end
from rookery.sessions.headless_names import rename_after_prompt
from rookery.store import evidence, hook_calls, messages, requests, senders, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.senders import Sending
from rookery.tracking import stop_hooks
from rookery.tracking.hook_answers import HookAnswers
from rookery.tracking.hook_callers import write_informed
from rookery.tracking.hook_reader import HookContent, HookReader, agent_of, dialect_of
from rookery.tracking.hook_senders import (
    HookSenders,
    continues_after_end,
    ends_conversation_already_left,
    identify,
    is_prompt,
)
from rookery.tracking.prices import Prices, with_estimate
from rookery.tracking.real_folders import FolderResolver
from rookery.tracking.transcript_reader import TranscriptReader

#: A duplicate of a hook call arrives within this time.
ECHO_WINDOW = timedelta(seconds=5)

#: Precedes the origin of text that an agent would take for its user's.
TYPED_BY_US = "Rookery, not your person, has typed these words:"


@dataclass(frozen=True, slots=True)
class PromptNote:
    """A text for the agent about the prompt that it has just received."""

    words: str


#: Records a prepared hook call within the writer's transaction.
Taking: TypeAlias = Callable[[Connection], Ruling | KeepWorking | PromptNote]


@dataclass(slots=True)
class Intake:
    database: Database
    journal: Journal
    agents: Mapping[str, Agent]
    permissions: Permissions
    stops: StopPolicy
    conversations: TranscriptReader | None = None
    prices: Prices = field(default_factory=dict)
    folders: FolderResolver = field(default_factory=FolderResolver)
    answers: HookAnswers = field(init=False)
    _reader: HookReader = field(init=False)
    _senders: HookSenders = field(init=False)

    def __post_init__(self) -> None:
        self.answers = HookAnswers(self.database, self.agents, self.permissions, self.stops)
        self._reader = HookReader(
            self.database,
            self.journal.clock,
            self.agents,
            self.permissions.rules_file,
            self.conversations,
            folders=self.folders,
        )
        self._senders = HookSenders(self.journal)

    async def receive(self, hook: Hook) -> Ruling | KeepWorking | PromptNote:
        """Record one hook call and return the answer for its agent.

        Returns once it is committed: a call that was answered is never lost, and one that was
        not answered may come again.
        """
        read = await self._reader.read(hook)
        try:
            return await write_informed(self.database, await self._prepare(hook, read))
        except HookUnreadable as error:
            # Its session cannot be determined; rules that deny for all still apply.
            deny = partial(self._deny_unknown, hook=hook, read=read, error=error)
            if (denied := await self.database.write(deny)) is None:
                raise
            return denied

    async def prepare(self, hook: Hook) -> Taking:
        """Read what the transaction will need, and return the function to run in it."""
        return await self._prepare(hook, await self._reader.read(hook))

    async def _prepare(self, hook: Hook, read: HookContent) -> Taking:
        hooks, sender, call = read
        now = self.journal.clock.now()
        at = min(hook.at or now, now)  # a spooled call may have waited for long
        caller = await self._reader.look_at_caller(hook, sender)
        ending = await self._reader.find_ending(hook, read)
        prompt = await self._reader.find_unseen_prompt(hook, read)
        edits = await self._reader.find_edits(hook, read)

        def take_in(db: Connection) -> Ruling | KeepWorking | PromptNote:
            if not hook_calls.add(db, hook.key, at=at):
                return self._answer_again(db, hook, sender, call)
            if ends_conversation_already_left(db, sender, caller):
                return Pass()
            sending = self._senders.resolve(db, sender, caller, at)
            if continues_after_end(sending, hook, hooks, call):
                sending = self._senders.register_continuation(db, sending, sender, caller, at)
            session = sending.session
            self._learn(db, sending, sender)
            identify(db, sending, sender, caller)
            if hooks.traits.doubles_hooks and self._is_echo(db, hook, at):
                return self._repeat(db, session, call)
            if held_stop := self._hold(db, hooks, hook, session):
                return held_stop
            told = [explained(fact, ending) for fact in hooks.read(hook.payload, session)]
            # The stream of a driven session reports the same.
            unreported = [] if sending.is_driven else told
            for fact in stop_hooks.with_unseen_prompt(db, unreported, prompt):
                self._write(db, fact, at=at)
            note_edits(db, self.journal, session, edits, at=at)
            self._ask_again(db, sending)
            self._bring_up(db, sending)
            ruling = self._consider(db, hooks, hook, session, call)
            evidence.note_state(db, session, "hook", at=at, detail=sender.event)
            return self._context(db, session) if is_prompt(told) else ruling

        return take_in

    def _deny_unknown(
        self, db: Connection, hook: Hook, read: HookContent, error: HookUnreadable
    ) -> Verdict | None:
        """Apply deny rules to a call without a known session, and record why it has none."""
        if read.call is None or hook.pid is None:
            return None
        denied = self.permissions.deny_unknown(db, read.sender, read.call)
        if denied:
            self.note_parked(db, hook.key, error)
        return denied

    def dialect(self, hook: Hook) -> HookDialect:
        """Return the dialect that reads and answers a hook. Raises ``HookUnreadable``."""
        return dialect_of(self.agents, hook)

    def with_process(self, hook: Hook) -> Hook:
        """Add the process that a spooled call names. Reads the process table."""
        program = run_as(agent_of(self.agents, hook))
        return replace(hook, process=agent_in_lineage(hook.named, program))

    def _consider(
        self,
        db: Connection,
        hooks: HookDialect,
        hook: Hook,
        session_id: SessionId,
        call: Call | None,
    ) -> Ruling:
        """Decide the tool call of the hook, if it has one."""
        if call is None:
            return Pass()
        session = sessions.get(db, session_id)
        if session.is_driven and call.is_asked:
            return Pass()  # it asks the same through its protocol
        if hook.pid is None:
            if session.status.is_over:
                return Pass()
            return self.permissions.note(db, session, call, hook=hook.key)
        return self.permissions.consider(
            db, session, call, hook=hook.key, can_ask=hooks.traits.obeys_ask
        )

    def _context(self, db: Connection, session: SessionId) -> PromptNote | Pass:
        """Return a note, which only a hook can give, if its user did not type the prompt."""
        origins = messages.provenance(db, session)
        return PromptNote(f"{TYPED_BY_US} {'; '.join(origins)}") if origins else Pass()

    def _hold(
        self, db: Connection, hooks: HookDialect, hook: Hook, session_id: SessionId
    ) -> KeepWorking | WaitForAnswer | None:
        """Keep an agent from stopping, if the configured policy requires that."""
        stop = hooks.read_stop(hook.payload) if hook.pid is not None else None
        if stop is None or self.stops.policy == "off":
            return None
        session = sessions.get(db, session_id)
        if session.status.is_over:
            return None
        return self.stops.consider(db, session, stop, hook=hook.key)

    async def park(self, key: str, error: Exception) -> None:
        """Record a call that cannot be processed."""
        await self.database.write(partial(self.note_parked, key=key, error=error))

    def note_parked(self, db: Connection, key: str, error: Exception) -> None:
        """Write the row of a parked call, unless a call was accepted under its key."""
        hook_calls.park(db, key, str(error), at=self.journal.clock.now())

    def _is_echo(self, db: Connection, hook: Hook, at: datetime) -> bool:
        """Return whether the same call came a moment ago: a hook may be installed twice."""
        digest = sha256(json.dumps(hook.payload, sort_keys=True).encode()).hexdigest()
        return hook_calls.is_echo(db, hook.key, digest, at=at, within=ECHO_WINDOW)

    def _answer_again(
        self, db: Connection, hook: Hook, sender: Sender, call: Call | None
    ) -> Ruling:
        """Answer a call that came before: its answer may have been lost with a daemon."""
        if request := requests.of_hook(db, hook.key):
            return WaitForAnswer(request.id)
        if call is None or hook.pid is None:
            return Pass()
        if (session := senders.known(db, sender)) is None:
            raise HookUnreadable("it was not received before, and belongs to no session")
        return self._repeat(db, session.session, call)

    def _repeat(self, db: Connection, session: SessionId, call: Call | None) -> Ruling:
        """Give a duplicate the same answer as the first call, without recording it again."""
        if call is None:
            return Pass()
        return self.permissions.repeat(db, sessions.get(db, session), call)

    def _write(self, db: Connection, fact: Fact, *, at: datetime) -> None:
        if isinstance(fact, TurnStarted | TurnEnded | SessionEnded):
            self.permissions.announced.forget(fact.session)
        if isinstance(fact, UsageReported):
            model = sessions.get(db, fact.session).model
            self.journal.append(db, with_estimate(fact, self.prices, model), at=at)
        elif isinstance(fact, TurnEnded):
            stop_hooks.write(db, self.journal, fact, at=at)
        elif not isinstance(fact, SessionEnded):
            self.journal.append(db, fact, at=at)
            rename_after_prompt(db, self.journal, fact, at=at)
            if isinstance(fact, ToolUsed):
                self.permissions.note_use(db, fact)
        elif is_end_believed(sessions.get(db, fact.session), "hook"):
            outcome, reason = fact.outcome, fact.reason
            record_end.end(
                db, self.journal, fact.session, outcome=outcome, reason=reason, at=at
            )

    def _learn(self, db: Connection, sending: Sending, sender: Sender) -> None:
        """Store what a hook reveals about its session besides what happened."""
        if sender.transcript_path and not sending.transcript:
            sessions.learn_transcript(db, sending.session, sender.transcript_path)
        if sender.permission_mode not in {"", sending.present_mode}:
            senders.learn_mode(db, sending.session, sender.permission_mode)
        # At a session's start, a fact carries the model.
        is_new = sender.model not in {"", sending.model} and not sender.is_new
        if is_new and sending.is_live:
            self.journal.append(db, ModelChosen(sending.session, sender.model))

    def _ask_again(self, db: Connection, sending: Sending) -> None:
        """Record again the requests that were open before this call and still are."""
        # Few sessions have any: the query for them would be a tenth of the transaction's time.
        if sending.has_open_requests:
            self.permissions.ask_again(db, sending.session)

    def _bring_up(self, db: Connection, sending: Sending) -> None:
        """Mark a headless agent as up once it has reported anything."""
        was_starting = sending.is_starting and not (sending.has_terminal or sending.is_driven)
        # The facts of this call may have done so already.
        if was_starting and senders.get(db, sending.session).is_starting:
            self.journal.append(db, SessionFound(sending.session))
