"""Decide what driven agents ask through their protocols, and return the answers to them.

The request is a row before a person is asked. A daemon that dies meanwhile is followed by one
that finds the agent still asking, and the row with its answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from sqlite3 import Connection

from rookery.model.errors import HookUnreadable
from rookery.model.permissions import Call, Outcome, RequestId, Verdict
from rookery.model.sessions import NativeId, Sender, Session
from rookery.permissions.decisions import GRANT, Permissions, WaitForAnswer
from rookery.ports.agent import Agent, HookDialect
from rookery.ports.runtime import AnswersAgents
from rookery.ports.sightings import AgentAsked, AgentStoppedAsking
from rookery.store import hook_calls, requests, sessions
from rookery.store.database import Database
from rookery.tracking.hook_reader import HookReader


@dataclass(frozen=True, slots=True)
class ProtocolRequests:
    database: Database
    runtime: AnswersAgents
    agents: Mapping[str, Agent]
    permissions: Permissions
    reader: HookReader

    async def decide(self, asked: AgentAsked) -> None:
        """Decide a call by rule or by asking a person, and give the agent the answer."""
        session = await self.database.read(partial(sessions.get, session=asked.session))
        if session.status.is_over:
            return
        agent = self.agents.get(session.agent)
        sender = Sender(
            agent=session.agent,
            native_id=session.native_id or NativeId(""),
            cwd=asked.folder or session.project_path,
            event="",
        )
        call = await self.reader.complete(_read_call(asked, agent), sender)
        ruling = await self._rule(session, asked, call)
        if not isinstance(ruling, Verdict):
            await self._wait(asked, ruling.request)
        elif ruling.outcome is not Outcome.GONE:
            await self.runtime.answer(session.id, asked.request, ruling)

    async def _rule(
        self, session: Session, asked: AgentAsked, call: Call
    ) -> Verdict | WaitForAnswer:
        # Reading files is granted, so that most calls must not wait for the writer.
        if asked.basis == "granted":
            check = partial(self.permissions.is_granted, session=session, call=call)
            if await self.database.read(check):
                return Verdict(Outcome.ALLOWED, GRANT)
        return await self.database.write(partial(self._consider, asked=asked, call=call))

    def _consider(
        self, db: Connection, asked: AgentAsked, call: Call
    ) -> Verdict | WaitForAnswer:
        session, key = sessions.get(db, asked.session), _key(asked)
        if hook_calls.is_recorded(db, _ended_key(asked)):
            # It was withdrawn while its call was being completed.
            return Verdict(Outcome.GONE, "agent")
        if not hook_calls.add(db, key, at=self.permissions.journal.clock.now()):
            if request := requests.of_hook(db, key):
                return WaitForAnswer(request.id)
            # The daemon died after a rule had decided, before the agent had the answer.
            if isinstance(again := self.permissions.repeat(db, session, call), Verdict):
                return again
        if asked.basis == "unasked":
            return self.permissions.consider_unasked(db, session, call, key=key)
        return self.permissions.consider_driven(db, session, call, key=key)

    async def _wait(self, asked: AgentAsked, request: RequestId) -> None:
        """Wait for the answer to a request, and pass it on."""
        with self.permissions.waits.waiting(request):
            verdict = await self._verdict(request)
            if verdict.outcome is not Outcome.GONE:
                await self.runtime.answer(asked.session, asked.request, verdict)
                await self.database.write(
                    partial(self.permissions.note_delivered, request=request)
                )

    async def _verdict(self, request: RequestId) -> Verdict:
        while True:
            bell = self.database.bell()
            found = await self.database.read(partial(requests.verdict_of, request=request))
            if found:
                return found
            await bell.wait()

    async def end(self, ended: AgentStoppedAsking) -> None:
        """Close the request that an agent no longer asks, if it is still open."""

        def close(db: Connection) -> None:
            key, at = _key(ended), self.permissions.journal.clock.now()
            request = requests.of_hook(db, key)
            if request is None:
                hook_calls.note_ended(db, _ended_key(ended), of=key, at=at)
            elif request.outcome is Outcome.OPEN:
                self.permissions.withdraw(db, request.id, decision="withdrawn")

        await self.database.write(close)


def _key(asked: AgentAsked | AgentStoppedAsking) -> str:
    return f"driven {asked.session} {asked.request}"


def _ended_key(asked: AgentAsked | AgentStoppedAsking) -> str:
    return f"driven ended {asked.session} {asked.request}"


def _as_reported(asked: AgentAsked, hooks: HookDialect) -> Call | None:
    """Return the call as a hook reports it. Some agents ask questions before a tool runs."""
    events = (hooks.traits.permission, hooks.traits.before_tool)
    named = {"tool_name": asked.tool, "tool_input": dict(asked.input)}
    calls = [hooks.read_call({"hook_event_name": event, **named}) for event in events if event]
    found = [call for call in calls if call]
    return next((call for call in found if call.questions), found[0] if found else None)


def _read_call(asked: AgentAsked, agent: Agent | None) -> Call:
    """Return the call as the agent's hooks would report it, so that the same rules match."""
    call = Call(asked.tool, asked.input, asked.questions)
    hooks = agent.hooks if agent else None
    if hooks and not asked.questions:
        try:
            call = _as_reported(asked, hooks) or call
        except HookUnreadable:
            call = replace(call, is_exact=False, uncertain=frozenset(asked.input))
        names = hooks.traits.names_of(call.tool)
        call = replace(call, other_names=names - {call.tool})
    if not asked.is_exact:
        call = replace(call, is_exact=False, uncertain=frozenset(call.input))
    methods = frozenset({asked.method} if asked.method else ()) - {call.tool}
    return replace(
        call,
        other_names=call.other_names | methods,
        is_asked=True,
        by_keys=False,
        call_id=asked.call_id,
        subagent=asked.subagent,
    )
