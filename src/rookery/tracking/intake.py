"""Turn the agents' hook calls into facts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from sqlite3 import Connection
from typing import NamedTuple, TypeAlias

from rookery.hook_protocol import Hook, require_tool
from rookery.lineage import agent_in_lineage
from rookery.model.answers import (
    NO_ANSWER,
    Answer,
    contains_in_order,
    explained,
    is_unexplained,
)
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
)
from rookery.model.permissions import Call, RequestId, Verdict
from rookery.model.rules import needs_folder, path_fields
from rookery.model.sessions import HEADLESS, Sender
from rookery.permissions import lost_hooks
from rookery.permissions.decisions import Pass, Permissions, Ruling, WaitForAnswer
from rookery.permissions.path_resolver import PathResolver
from rookery.permissions.skill_commands import with_inline_commands
from rookery.permissions.stop_policy import KeepWorking, StopPolicy, reason_to_go_on
from rookery.ports.agent import Agent, HookDialect
from rookery.processes import run_as
from rookery.sessions import endings
from rookery.sessions.prompt_names import rename_after_prompt
from rookery.store import (
    dialogs,
    evidence,
    hook_calls,
    messages,
    requests,
    senders,
    sessions,
)
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.senders import Sending
from rookery.tracking import stop_hooks
from rookery.tracking.hook_callers import HookCaller, Strangers
from rookery.tracking.hook_senders import (
    HookSenders,
    ends_an_earlier_conversation,
    identify,
    may_change_conversations,
)
from rookery.tracking.transcript_reader import TranscriptReader

#: A duplicate of a hook call arrives within this time.
ECHO = timedelta(seconds=5)

#: Attempts to find the end of a turn in a transcript; the agent waits meanwhile.
MAX_TRANSCRIPT_TRIES = 6

#: Precedes the origin of text that an agent would take for its user's.
TYPED_BY_US = "Rookery, not your person, has typed these words:"


@dataclass(frozen=True, slots=True)
class PromptNote:
    """A text for the agent about the prompt that it has just received."""

    words: str


#: Records a prepared hook call within the writer's transaction.
Taking: TypeAlias = Callable[[Connection], Ruling | KeepWorking | PromptNote]


class _Read(NamedTuple):
    """The content of a hook call before its session is known."""

    hooks: HookDialect
    sender: Sender
    call: Call | None


@dataclass(slots=True)
class Intake:
    database: Database
    journal: Journal
    agents: Mapping[str, Agent]
    permissions: Permissions
    stops: StopPolicy
    paths: PathResolver = field(default_factory=PathResolver)
    conversations: TranscriptReader | None = None
    strangers: Strangers = field(default_factory=Strangers)
    _senders: HookSenders = field(init=False)

    def __post_init__(self) -> None:
        self._senders = HookSenders(self.journal)

    async def receive(self, hook: Hook) -> Ruling | KeepWorking | PromptNote:
        """Record one hook call and return the answer for its agent.

        Returns once it is committed: a call that was answered is never lost, and one that was
        not answered may come again.
        """
        read = await self._read(hook)
        try:
            return await self.database.write(await self._prepare(hook, read))
        except HookUnreadable as error:
            # Its session cannot be determined; rules that deny for all still apply.
            deny = partial(self._deny_unknown, hook=hook, read=read, error=error)
            if (denied := await self.database.write(deny)) is None:
                raise
            return denied

    async def prepare(self, hook: Hook) -> Taking:
        """Read what the transaction will need, and return the function to run in it."""
        return await self._prepare(hook, await self._read(hook))

    async def _read(self, hook: Hook) -> _Read:
        hooks = self.hooks(hook)
        sender = hooks.identify(hook.payload)
        return _Read(hooks, sender, await self._read_call(hooks, sender, hook))

    async def _prepare(self, hook: Hook, read: _Read) -> Taking:
        hooks, sender, call = read
        now = self.journal.clock.now()
        at = min(hook.at or now, now)  # a spooled call may have waited for long
        caller = self._look_at_caller(hook, sender)
        ending = await self._find_ending(hooks, sender, hook)

        def take_in(db: Connection) -> Ruling | KeepWorking | PromptNote:
            if not hook_calls.add(db, hook.key, at=at):
                return self._answer_again(db, hook, sender, call)
            if ends_an_earlier_conversation(db, sender, caller):
                return Pass()
            sending = self._senders.resolve(db, sender, caller, at)
            if _is_revived(sending, hook, hooks, call):
                sending = self._senders.revive(db, sending, sender, caller, at)
            session = sending.session
            self._learn(db, sending, sender)
            identify(db, sending, sender, caller)
            if hooks.traits.doubles_hooks and self._is_echo(db, hook, at):
                return self._repeat(db, session, call)
            if held := self._hold(db, hooks, hook, session):
                return held
            told = [explained(fact, ending) for fact in hooks.read(hook.payload, session)]
            for fact in told:
                self._write(db, fact, at=at)
            self.permissions.ask_again(db, session)
            self._bring_up(db, sending)
            ruling = self._consider(db, hooks, hook, session, call)
            evidence.note_state(db, session, "hook", at=at, detail=sender.event)
            return self._context(db, session) if _is_prompt(told) else ruling

        return take_in

    def _deny_unknown(
        self, db: Connection, hook: Hook, read: _Read, error: HookUnreadable
    ) -> Verdict | None:
        """Apply deny rules to a call without a known session, and record why it has none."""
        if read.call is None or hook.pid is None:
            return None
        denied = self.permissions.deny_unknown(db, read.sender, read.call)
        if denied:
            self.note_parked(db, hook.key, error)
        return denied

    def agent(self, hook: Hook) -> Agent:
        """Return the agent that a hook names. Raises ``HookUnreadable``."""
        if (agent := self.agents.get(hook.agent)) is None:
            raise HookUnreadable(f"no agent is called {hook.agent!r}")
        return agent

    def hooks(self, hook: Hook) -> HookDialect:
        """Return the dialect that reads and answers a hook. Raises ``HookUnreadable``."""
        if (hooks := self.agent(hook).hooks) is None:
            raise HookUnreadable(f"a {hook.agent} has no hooks")
        return hooks

    def with_process(self, hook: Hook) -> Hook:
        """Add the agent's process to a spooled call, as named by the call. Reads /proc."""
        program = run_as(self.agent(hook))
        return replace(hook, process=agent_in_lineage(hook.named, program))

    async def _read_call(self, hooks: HookDialect, sender: Sender, hook: Hook) -> Call | None:
        """Return the tool call to decide, with everything that rules match.

        The rules and the links in paths are read here, before the transaction.
        """
        if hook.pid is None:
            spooled = hooks.read_call(hook.payload)
            if spooled is None:
                return None
            return replace(spooled, is_exact=not hook.is_altered, folder=sender.cwd)
        if sender.event == hooks.traits.before_tool:
            require_tool(hook.payload)
        if (call := hooks.read_call(hook.payload)) is None:
            return None
        call = await with_inline_commands(replace(call, folder=sender.cwd), sender)
        rules_file = self.permissions.rules_file
        await rules_file.refresh(self.database, self.journal.clock)
        if hook.is_altered:
            call = replace(call, uncertain=frozenset(call.input), is_exact=False)
        if needs_folder(rules_file.rules, call):
            call = await self.paths.resolve_folders(call, folder=sender.cwd)
        fields = path_fields(rules_file.rules)
        return await self.paths.resolve(call, folder=sender.cwd, fields=fields)

    def _look_at_caller(self, hook: Hook, sender: Sender) -> HookCaller:
        """Read from /proc what the transaction needs; with a badge that is rarely necessary."""
        caller = HookCaller(hook, self.agent(hook))
        caller.look_at_group()
        if hook.badge is None or may_change_conversations(sender):
            caller.look(self.strangers)
        return caller

    async def _find_ending(self, hooks: HookDialect, sender: Sender, hook: Hook) -> Answer:
        """Read from the transcript how a turn ended or what it said, if the hook is wrong."""
        # Not for a spooled call: calls must reach the writer in the order of the spool.
        is_live = hook.pid is not None
        if (
            not is_live
            or self.conversations is None
            or sender.event != hooks.traits.silent_stop
        ):
            return NO_ANSWER
        session = await self.database.read(partial(sessions.known, sender=sender))
        told = hooks.read(hook.payload, session) if session else ()
        ended = next((fact for fact in told if isinstance(fact, TurnEnded)), None)
        if session is None or ended is None:
            return NO_ANSWER
        if not is_unexplained(ended):
            said = await self.conversations.words_of_turn(
                self.database, session, tries=MAX_TRANSCRIPT_TRIES
            )
            return (
                Answer("\n".join(said))
                if contains_in_order(ended.last_words, said)
                else NO_ANSWER
            )
        found = await self.conversations.answer(
            self.database, session, tries=MAX_TRANSCRIPT_TRIES
        )
        return found or NO_ANSWER

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
        if hook.pid is None:
            if session.status.is_over:
                return Pass()
            return self.permissions.note(db, session, call, hook=hook.key)
        return self.permissions.consider(
            db, session, call, hook=hook.key, can_ask=hooks.traits.asks_when_told
        )

    def _context(self, db: Connection, session: SessionId) -> PromptNote | Pass:
        """Return a note, which only a hook can give, if its user did not type the prompt."""
        origins = messages.provenance(db, session)
        return PromptNote(f"{TYPED_BY_US} {'; '.join(origins)}") if origins else Pass()

    def _hold(
        self, db: Connection, hooks: HookDialect, hook: Hook, session_id: SessionId
    ) -> KeepWorking | WaitForAnswer | None:
        """Keep an agent from stopping if the configured policy says so."""
        stop = hooks.read_stop(hook.payload) if hook.pid is not None else None
        if stop is None or self.stops.policy == "off":
            return None
        session = sessions.get(db, session_id)
        if session.status.is_over:
            return None
        return self.stops.consider(db, session, stop, hook=hook.key)

    async def answer(self, hook: Hook, request: RequestId) -> str:
        """Return the answer for a hook once its request is answered."""
        verdict, hooks = await self._verdict(request), self.hooks(hook)
        if verdict is None:
            return hooks.answer(hook.payload, None)
        if (stop := hooks.read_stop(hook.payload)) is None:
            return hooks.answer(hook.payload, verdict)

        def conclude(db: Connection) -> None:
            # Only once: a hook program comes again if the daemon dies before it answers.
            if self.permissions.note_told(db, request):
                session = sessions.get(db, requests.get(db, request).session)
                self.stops.conclude(db, session, stop.words, verdict)

        await self.database.write(conclude)
        reason = reason_to_go_on(verdict)
        return hooks.go_on(hook.payload, reason) if reason else ""

    async def _verdict(self, request: RequestId) -> Verdict | None:
        """Wait for the answer to a request; None if its agent's own dialog takes over."""
        while True:
            bell = self.database.bell()
            if await self.database.read(partial(dialogs.is_handed, request=request)):
                return None
            if verdict := await self.database.read(
                partial(requests.verdict_of, request=request)
            ):
                return verdict
            await bell.wait()

    async def withdraw(self, request: RequestId) -> None:
        """Record that the hook call which waited for an answer is gone."""

        def withdraw(db: Connection) -> None:
            lost_hooks.hang_up(db, self.permissions, request)

        await self.database.write(withdraw)

    async def note_told(self, request: RequestId) -> None:
        """Record that a hook program got the answer that it waited for."""
        await self.database.write(partial(self.permissions.note_told, request=request))

    async def park(self, key: str, error: Exception) -> None:
        """Record a call that cannot be processed."""
        await self.database.write(partial(self.note_parked, key=key, error=error))

    def note_parked(self, db: Connection, key: str, error: Exception) -> None:
        """Write the row of a parked call, unless a call was accepted under its key."""
        hook_calls.park(db, key, str(error), at=self.journal.clock.now())

    def _is_echo(self, db: Connection, hook: Hook, at: datetime) -> bool:
        """Return whether the same call came a moment ago: a hook may be installed twice."""
        digest = sha256(json.dumps(hook.payload, sort_keys=True).encode()).hexdigest()
        return hook_calls.is_echo(db, hook.key, digest, at=at, within=ECHO)

    def _answer_again(
        self, db: Connection, hook: Hook, sender: Sender, call: Call | None
    ) -> Ruling:
        """Answer a call that came before: its answer may have been lost with a daemon."""
        if asked := requests.of_hook(db, hook.key):
            return WaitForAnswer(asked.id)
        if call is None or hook.pid is None:
            return Pass()
        if (known := senders.known(db, sender)) is None:
            raise HookUnreadable("it was not taken in before, and is no session's")
        return self._repeat(db, known.session, call)

    def _repeat(self, db: Connection, session: SessionId, call: Call | None) -> Ruling:
        """Give a duplicate the same answer as the first call, without recording it again."""
        if call is None:
            return Pass()
        return self.permissions.repeat(db, sessions.get(db, session), call)

    def _write(self, db: Connection, fact: Fact, *, at: datetime) -> None:
        if isinstance(fact, TurnEnded):
            stop_hooks.write(db, self.journal, fact, at=at)
        elif not isinstance(fact, SessionEnded):
            self.journal.append(db, fact, at=at)
            rename_after_prompt(db, self.journal, fact, at=at)
            if isinstance(fact, ToolUsed):
                self.permissions.note_use(db, fact)
        elif is_end_believed(sessions.get(db, fact.session), "hook"):
            outcome, reason = fact.outcome, fact.reason
            endings.end(db, self.journal, fact.session, outcome=outcome, reason=reason, at=at)

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

    def _bring_up(self, db: Connection, sending: Sending) -> None:
        """Mark a headless agent as up once it has reported anything."""
        was_starting = sending.runtime == HEADLESS and sending.is_starting
        # The facts of this call may have done so already.
        if was_starting and senders.get(db, sending.session).is_starting:
            self.journal.append(db, SessionFound(sending.session))


def _is_revived(sending: Sending, hook: Hook, hooks: HookDialect, call: Call | None) -> bool:
    """Return whether a live agent begins something although its record has ended.

    A record ends without its agent when nothing was heard from it for long, or by a restore.
    Other events, such as a stop that races with the exit, are the last of an ended session.
    """
    if sending.is_live or hook.pid is None:
        return False
    return call is not None or _is_prompt(hooks.read(hook.payload, sending.session))


def _is_prompt(told: Iterable[Fact]) -> bool:
    return any(isinstance(fact, TurnStarted) and not fact.resumes for fact in told)
