"""Where the world comes in: hooks become facts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from sqlite3 import Connection
from typing import TypeGuard

from rookery import arrivals, endings, stop_hooks
from rookery.arrivals import Arrival
from rookery.conversations import NOTHING, Answer, Conversations
from rookery.hook_protocol import Hook, require_tool
from rookery.lineage import TELLS_LINEAGE, agent_in_lineage
from rookery.model.errors import HookUnreadable, RuntimeFailed
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
from rookery.model.lifecycle import Status
from rookery.model.permissions import Call, RequestId, Verdict
from rookery.model.rules import path_fields
from rookery.model.sessions import HEADLESS, TMUX, Sender
from rookery.path_resolver import PathResolver
from rookery.permissions import Pass, Permissions, Ruling, Wait
from rookery.ports import Agent
from rookery.processes import Process, caller_of, is_running, is_shared, run_as
from rookery.stops import GoOn, Stops
from rookery.store import (
    dialogs,
    evidence,
    limits,
    messages,
    observed,
    requests,
    sessions,
    tokens,
)
from rookery.store.database import Database
from rookery.store.journal import Journal

#: What is told twice comes within this time.
ECHO = timedelta(seconds=5)

#: How often the end of a turn is looked for in a transcript; the agent waits meanwhile.
TRIES = 6

#: Before what is known of words that an agent takes for its person's.
TYPED_BY_US = "Rookery, not your person, has typed these words:"

#: Agents that make a daemon of themselves. What calls itself one could speak for anybody.
SHARING = frozenset({"codex"})


@dataclass(frozen=True, slots=True)
class Context:
    """What an agent is told beside the words that it has just got."""

    words: str


@dataclass(frozen=True, slots=True)
class Intake:
    database: Database
    journal: Journal
    agents: Mapping[str, Agent]
    permissions: Permissions
    stops: Stops
    paths: PathResolver = field(default_factory=PathResolver)
    conversations: Conversations | None = None

    async def receive(self, hook: Hook) -> Ruling | GoOn | Context:
        """Write down what one hook call tells us, and say what its agent is to be told.

        Returns once it is committed: a hook that was answered is never lost, and one
        that was not may come again.
        """
        agent = self.agent(hook)
        sender = agent.identify(hook.payload)
        now = self.journal.clock.now()
        hook = replace(hook, at=min(hook.at or now, now))  # a spooled one waited for long
        call = await self._read_call(agent, sender, hook)
        # Read before the transaction: a walk through the process table takes a while.
        caller = _caller(hook, agent) if sender.is_new or sender.has_ended else None
        ending = await self._unsaid_ending(agent, sender, hook)

        def take_in(db: Connection) -> Ruling | GoOn | Context:
            if not self._is_new(db, hook):
                asked = requests.of_hook(db, hook.key)
                return Wait(asked.id) if asked else Pass()
            if _ends_an_earlier_conversation(db, sender, hook, caller):
                return Pass()
            session = self._resolve(db, agent, sender, hook)
            self._learn(db, session, sender)
            if caller and tokens.is_worn(db, session, hook.badge):
                # By its process it is known again once it goes on with another conversation.
                observed.identify(db, session, caller.word)
            if agent.doubles_hooks and self._is_echo(db, hook):
                return self._repeat(db, session, call)
            if held := self._hold(db, agent, hook, session):
                return held
            told = [_explain(fact, ending) for fact in agent.read_hook(hook.payload, session)]
            for fact in told:
                self._write(db, fact, at=hook.at)
            self._bring_up(db, session)
            ruling = self._consider(db, agent, hook, session, call)
            at = hook.at or now
            evidence.note_state(db, session, "hook", at=at, detail=sender.event)
            return self._context(db, session) if _is_prompt(told) else ruling

        return await self.database.write(take_in)

    def agent(self, hook: Hook) -> Agent:
        """Return the dialect that a hook speaks. Raises ``HookUnreadable``."""
        if (agent := self.agents.get(hook.agent)) is None:
            raise HookUnreadable(f"no agent is called {hook.agent!r}")
        return agent

    def with_process(self, hook: Hook) -> Hook:
        """Add the agent's process to a spooled call, as the call names it. Reads /proc."""
        program = run_as(self.agent(hook))
        return replace(hook, process=agent_in_lineage(hook.named, program))

    async def _read_call(self, agent: Agent, sender: Sender, hook: Hook) -> Call | None:
        """Return the tool call that a hook wants decided, with all that rules look at.

        The rules and the links of paths are read here, before the transaction.
        """
        if hook.pid is None:
            return agent.read_call(hook.payload)
        if sender.event == agent.hook_before_tool:
            require_tool(hook.payload)
        if (call := agent.read_call(hook.payload)) is None:
            return None
        rulebook = self.permissions.rulebook
        await rulebook.refresh(self.database, self.journal.clock)
        if hook.is_altered:
            call = replace(call, uncertain=frozenset(call.input))
        fields = path_fields(rulebook.rules)
        return await self.paths.resolve(call, folder=sender.cwd, fields=fields)

    async def _unsaid_ending(self, agent: Agent, sender: Sender, hook: Hook) -> Answer:
        """Read from the transcript how a turn ended, where the hook does not say it."""
        # Not for a spooled call: calls must reach the writer in the order of the spool.
        is_live = hook.pid is not None
        if not is_live or self.conversations is None or sender.event != agent.silent_stop:
            return NOTHING
        session = await self.database.read(partial(sessions.known, sender=sender))
        told = agent.read_hook(hook.payload, session) if session else ()
        if session is None or not any(_is_unexplained(fact) for fact in told):
            return NOTHING
        found = await self.conversations.answer(self.database, session, tries=TRIES)
        return found or NOTHING

    def _consider(
        self,
        db: Connection,
        agent: Agent,
        hook: Hook,
        session_id: SessionId,
        call: Call | None,
    ) -> Ruling:
        """Decide what the hook wants decided, if anything."""
        if call is None:
            return Pass()
        session = sessions.get(db, session_id)
        if session.status.is_over:
            return Pass()
        if hook.pid is None:
            return self.permissions.note(db, session, call)
        return self.permissions.consider(
            db, session, call, hook=hook.key, can_ask=agent.asks_when_told
        )

    def _context(self, db: Connection, session: SessionId) -> Context | Pass:
        """Tell an agent, where nobody else can, that its person did not type these words."""
        origins = messages.provenance(db, session)
        return Context(f"{TYPED_BY_US} {'; '.join(origins)}") if origins else Pass()

    def _hold(
        self, db: Connection, agent: Agent, hook: Hook, session_id: SessionId
    ) -> GoOn | Wait | None:
        """Keep an agent from stopping, if that is its owner's policy."""
        stop = agent.read_stop(hook.payload) if hook.pid is not None else None
        if stop is None or self.stops.policy == "off":
            return None
        session = sessions.get(db, session_id)
        if session.status.is_over:
            return None
        return self.stops.consider(db, session, stop, hook=hook.key)

    async def answer(self, hook: Hook, request: RequestId) -> str:
        """Return what a hook says once somebody has answered."""
        verdict, agent = await self._verdict(request), self.agent(hook)
        if verdict is None:
            return agent.answer(hook.payload, None)
        if (stop := agent.read_stop(hook.payload)) is None:
            return agent.answer(hook.payload, verdict)

        def conclude(db: Connection) -> str:
            session = sessions.get(db, requests.get(db, request).session)
            return self.stops.conclude(db, session, stop.words, verdict)

        reason = await self.database.write(conclude)
        return agent.go_on(hook.payload, reason) if reason else ""

    async def _verdict(self, request: RequestId) -> Verdict | None:
        """Wait for the answer to a request; none if its agent's own dialog takes over."""
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
        """Note that the hook call which waited for an answer is gone."""

        def withdraw(db: Connection) -> None:
            self.permissions.hang_up(db, request)

        await self.database.write(withdraw)

    async def park(self, key: str, error: Exception) -> None:
        """Keep the trace of a call that nothing can be made of."""

        def park(db: Connection) -> None:
            db.execute(
                "insert into hooks (key, at, error) values (?, ?, ?) on conflict do nothing",
                (key[:100], self.journal.clock.now().isoformat(), str(error)[:1000]),
            )

        await self.database.write(park)

    def _is_new(self, db: Connection, hook: Hook) -> bool:
        added = db.execute(
            "insert into hooks (key, at) values (?, ?) on conflict do nothing",
            (hook.key, (hook.at or self.journal.clock.now()).isoformat()),
        )
        return added.rowcount == 1

    def _is_echo(self, db: Connection, hook: Hook) -> bool:
        """Whether the same was told a moment ago, by a hook that was installed twice."""
        digest = sha256(json.dumps(hook.payload, sort_keys=True).encode()).hexdigest()
        at = hook.at or self.journal.clock.now()
        found = "select 1 from hooks where digest = ? and at between ? and ?"
        moments = ((at - ECHO).isoformat(), (at + ECHO).isoformat())
        is_echo = db.execute(found, (digest, *moments)).fetchone() is not None
        db.execute("update hooks set digest = ? where key = ?", (digest, hook.key))
        return is_echo

    def _repeat(self, db: Connection, session: SessionId, call: Call | None) -> Ruling:
        """Say to an echo what was said to the first: nothing is written down again."""
        if call is None:
            return Pass()
        return self.permissions.repeat(db, sessions.get(db, session), call)

    def _write(self, db: Connection, fact: Fact, *, at: datetime | None) -> None:
        if isinstance(fact, TurnEnded):
            stop_hooks.write(db, self.journal, fact, at=at or self.journal.clock.now())
        elif not isinstance(fact, SessionEnded):
            self.journal.append(db, fact, at=at)
            if isinstance(fact, ToolUsed):
                self.permissions.note_use(db, fact)
        elif sessions.get(db, fact.session).runtime != TMUX:
            # Of what we hold, the program's own end tells, and it tells how.
            outcome, reason = fact.outcome, fact.reason
            endings.end(db, self.journal, fact.session, outcome=outcome, reason=reason, at=at)

    def _learn(self, db: Connection, session: SessionId, sender: Sender) -> None:
        """Keep what a hook tells of its session besides what happened."""
        if sender.transcript_path:
            sessions.learn_transcript(db, session, sender.transcript_path)
        if sender.model and not sender.is_new:  # its start is a fact that has the model
            known = sessions.get(db, session)
            if known.model != sender.model and not known.status.is_over:
                self.journal.append(db, ModelChosen(session, sender.model))

    def _resolve(self, db: Connection, agent: Agent, sender: Sender, hook: Hook) -> SessionId:
        """Find whose hook it is. Who is unknown is made known, never dropped."""
        if known := sessions.known(db, sender):
            return self._verify(db, known, agent, sender, hook)
        if hook.badge and (bound := sessions.bind(db, hook.badge, sender)):
            return bound
        if hook.badge and (late := sessions.late(db, hook.badge, sender)):
            return late
        caller = _caller(hook, agent)
        # Not by what a spooled call names: a planted one would take a session over.
        if caller and hook.pid is not None:
            held = sessions.rebind(db, caller.word, sender)
            if held:
                return held
        if _is_shared(hook, agent) and (seated := observed.bind_by_folder(db, sender)):
            return seated
        return self._register(db, sender, hook, caller)

    def _verify(
        self, db: Connection, known: SessionId, agent: Agent, sender: Sender, hook: Hook
    ) -> SessionId:
        """Let nobody speak for a session but itself. Raises ``HookUnreadable``."""
        process = sessions.holder(db, known)
        if tokens.has_badge(db, known):
            if tokens.is_worn(db, known, hook.badge) or _is_from(process, hook, agent):
                return known
            raise HookUnreadable(f"it does not wear the badge of {known}")
        if process is None:
            self._learn_process(db, known, hook, agent)
            return known
        if hook.pid is None and _may_be_spooled_by(process, hook):
            return known
        if _is_shared(hook, agent) or _is_from(process, hook, agent):
            return known
        if is_running(Process.read(process)):
            raise HookUnreadable(f"another process is {known} already")
        # The same conversation goes on in another process: that is another session.
        endings.end(db, self.journal, known, outcome="failed", reason="its program is gone")
        return self._register(db, sender, hook, _caller(hook, agent))

    def _bring_up(self, db: Connection, session: SessionId) -> None:
        """Let a headless agent be up once it has told anything, whatever that was."""
        now = sessions.get(db, session)
        if now.runtime == HEADLESS and now.status is Status.STARTING:
            self.journal.append(db, SessionFound(session))

    def _learn_process(
        self, db: Connection, session: SessionId, hook: Hook, agent: Agent
    ) -> None:
        """Note the process of a headless session whose first calls did not tell it."""
        if sessions.get(db, session).runtime == HEADLESS and hook.pid is not None:
            caller = _caller(hook, agent)
            if caller and not sessions.holder_of_process(db, caller.word):
                observed.identify(db, session, caller.word)

    def _register(
        self, db: Connection, sender: Sender, hook: Hook, caller: Process | None
    ) -> SessionId:
        if not limits.has_room_for_headless(db):
            # Parked, not retried: made-up sessions must not fill the store.
            raise HookUnreadable("as many headless sessions live as limits allow")
        if caller and sessions.holder_of_process(db, caller.word):
            caller = None  # another session is this process, and only one can be
        arrival = Arrival(
            agent=sender.agent,
            native_id=sender.native_id,
            folder=sender.cwd,
            origin="hook",
            process=caller.word if caller else None,
            at=hook.at,
        )
        return arrivals.welcome(db, self.journal, arrival)


def _ends_an_earlier_conversation(
    db: Connection, sender: Sender, hook: Hook, caller: Process | None
) -> bool:
    """Whether the sender has gone on with another conversation since.

    Codex tells of the end of a conversation seconds after the next one has begun.
    """
    if not sender.has_ended or sessions.known(db, sender):
        return False
    process = caller.word if caller else None
    return sessions.of_caller(db, sender.agent, hook.badge, process) is not None


def _may_be_spooled_by(process: str, hook: Hook) -> bool:
    """Whether a spooled call is that of a session's process: one that runs must be named.

    This is no proof, as a planted file can name it as well: no key and no
    signature is safe from other processes of the same user. It keeps out what does not know.
    """
    if process in {each.word for each in hook.named} or not TELLS_LINEAGE:
        return True
    return not hook.named and not is_running(Process.read(process))


def _is_unexplained(fact: Fact) -> TypeGuard[TurnEnded]:
    return isinstance(fact, TurnEnded) and fact.how == "failed" and not fact.last_words


def _explain(fact: Fact, ending: Answer) -> Fact:
    """Add how a turn ended to a fact that does not say it."""
    if ending.how == "finished" or not _is_unexplained(fact):
        return fact
    return replace(fact, last_words=ending.words, how=ending.how)


def _is_prompt(told: Sequence[Fact]) -> bool:
    return any(isinstance(fact, TurnStarted) and not fact.resumes for fact in told)


def _is_from(process: str | None, hook: Hook, agent: Agent) -> bool:
    """Whether a session's own process made a call. Raises ``RuntimeFailed``."""
    caller = _caller(hook, agent)
    if caller and caller.word == process:
        return True
    if hook.pid is not None and Process.of(hook.pid) is None:
        # It did not wait for us: the same call is in the spool, and must be new then.
        raise RuntimeFailed("who called is gone")
    return False


def _caller(hook: Hook, agent: Agent) -> Process | None:
    """Return the agent's process that made a call: by the kernel, else as the call names it."""
    if hook.pid is None:
        return hook.process
    if _is_shared(hook, agent):
        return None
    return caller_of(hook.pid, run_as(agent))


def _is_shared(hook: Hook, agent: Agent) -> bool:
    """Whether a daemon that speaks for many sessions made a call; not every agent has one."""
    return agent.name in SHARING and hook.pid is not None and is_shared(hook.pid)
