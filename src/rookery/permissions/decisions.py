"""Decide whether a tool call may run: by rule, or by asking a person.

An error, a missing answer or unreadable input never allows a call.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection
from typing import Literal, TypeAlias

from rookery import supervise
from rookery.hook_protocol import time_of
from rookery.model.errors import RequestClosed
from rookery.model.facts import (
    AnswerTaken,
    CallDecided,
    InputAsked,
    InputLeft,
    InputSettled,
    SessionId,
    ToolUsed,
)
from rookery.model.lifecycle import Status
from rookery.model.permissions import Call, Outcome, Request, RequestId, Verdict
from rookery.model.rules import Circumstances, Rule, decide
from rookery.model.sessions import Sender, Session
from rookery.permissions import same_dialog
from rookery.permissions.answered_in_terminal import TERMINAL, settle_in_terminal
from rookery.permissions.hook_waits import HookWaits
from rookery.permissions.rules_file import RulesFile
from rookery.store import dialogs, families, flags, hook_answers, requests, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.requests import Asking, Decided

_log = logging.getLogger(__name__)

#: An agent that announces a call and then asks about it does so within this time.
SECOND_ASKING = timedelta(seconds=30)

#: Seconds between two checks of the deadlines.
CHECK_INTERVAL_SECONDS = 1.0

#: A longer interval between two checks means that the clock has jumped.
CLOCK_JUMP = timedelta(seconds=10)

#: A call that was allowed in the terminal has run after this time at the latest.
MAX_CALL_TIME = timedelta(hours=24)

#: The deciders other than persons and sessions.
RULE, GRANT, CLOCK = "rule", "grant", "the clock"


@dataclass(frozen=True, slots=True)
class Pass:
    """No decision: the agent goes on as if it had no hook."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The agent must ask its user itself, even if it would not have done so."""


@dataclass(frozen=True, slots=True)
class WaitForAnswer:
    """A person is asked; the answer is pending."""

    request: RequestId


Ruling: TypeAlias = Pass | Ask | WaitForAnswer | Verdict


@dataclass(frozen=True, slots=True)
class Permissions:
    journal: Journal
    rules_file: RulesFile
    deadline: timedelta
    #: What happens to a request at its deadline.
    on_timeout: Literal["terminal", "deny"] = "terminal"
    waits: HookWaits = field(default_factory=HookWaits)

    def consider(
        self, db: Connection, session: Session, call: Call, *, hook: str, can_ask: bool
    ) -> Ruling:
        """Decide a call. ``can_ask`` is whether its agent asks its user when a hook says so."""
        where = families.circumstances(db, session)
        rule = decide(self.rules_file.rules, call, where)
        at = time_of(hook)
        if verdict := self._verdict(db, session, call, rule):
            if call.by_keys:
                request = self._ask(db, session, call, at=at)
                self.answer(db, requests.get(db, request), verdict)
                return Pass()
            self._forget_seen(db, session, call, by=verdict.by)
            name = rule.name if rule and verdict.by == RULE else ""
            self._record(db, replace(self._decided(session, call, verdict), rule=name))
            return verdict
        is_asked = call.is_asked and not self._is_answered(db, session, call, hook=hook)
        if not is_asked and (call.is_asked or rule is None):
            return Pass()
        is_remote = flags.mode(db) == "remote"
        if not call.is_asked and not is_remote and can_ask:
            return Ask()
        since = self.journal.clock.now() - SECOND_ASKING
        if call.is_asked and dialogs.was_just_handed(db, session.id, call.digest, since=since):
            # The dialog appeared before an answer was given: the dialog decides now.
            self._ask(db, session, call, at=at)
            return Pass()
        waits = (is_remote or not call.is_asked) and not call.by_keys
        timed = waits or (is_remote and call.by_keys)
        asks = call.is_asked or can_ask
        kept = hook if waits else None
        request = self._ask(db, session, call, at=at, hook=kept, is_timed=timed, asks=asks)
        return WaitForAnswer(request) if waits else Pass()

    def repeat(self, db: Connection, session: Session, call: Call) -> Ruling:
        """Decide a call again, for an agent that asks everything twice."""
        where = families.circumstances(db, session)
        rule = decide(self.rules_file.rules, call, where)
        if rule and rule.decision != "ask":
            return _by_rule(rule)
        asked = requests.of_call(db, session.id, call)
        return WaitForAnswer(asked.id) if asked and asked.deadline else Pass()

    def deny_unknown(self, db: Connection, sender: Sender, call: Call) -> Verdict | None:
        """Deny a call of an agent that is no session, if a rule denies it; audit that."""
        where = Circumstances(sender.agent, sender.cwd, session="")
        rule = decide(self.rules_file.rules, call, where)
        if rule is None or rule.decision != "deny":
            return None
        verdict = _by_rule(rule)
        requests.keep(
            db,
            Decided(
                at=self.journal.clock.now(),
                session=SessionId(sender.native_id),
                agent=sender.agent,
                tool=call.tool,
                input=call.input,
                decision=verdict.outcome,
                by=verdict.by,
                rule=rule.name,
                reason=verdict.reason,
                folder=call.working_folder,
            ),
        )
        return verdict

    def note(self, db: Connection, session: Session, call: Call, *, hook: str = "") -> Ruling:
        """Record what an agent asked while no daemon ran; it asks in its own terminal."""
        if call.is_asked and not self._is_answered(db, session, call, hook=hook):
            self._ask(db, session, call, at=time_of(hook))
        return Pass()

    def _is_answered(self, db: Connection, session: Session, call: Call, *, hook: str) -> bool:
        """Return whether the call's dialog was read from the screen and answered already."""
        return same_dialog.is_answered(db, session.id, call, told_at=time_of(hook))

    def _forget_seen(self, db: Connection, session: Session, call: Call, *, by: str) -> None:
        """Close a request read from the screen: the hook of its call gets the decision."""
        seen = same_dialog.seen_before(db, session.id, call) if call.is_asked else None
        if seen:
            gone = Verdict(Outcome.GONE, by, "its hook has told of it")
            requests.settle(db, seen.id, gone, at=self.journal.clock.now())
            self._settle(db, session, by=by)

    def _verdict(
        self, db: Connection, session: Session, call: Call, rule: Rule | None
    ) -> Verdict | None:
        """Return the decision that needs no person, or None."""
        if rule and rule.decision != "ask":
            return _by_rule(rule)
        if requests.is_granted(db, session.id, call):
            return Verdict(Outcome.ALLOWED, GRANT)
        since = self.journal.clock.now() - SECOND_ASKING
        if call.is_asked and requests.spend(db, session.id, call, since=since):
            return Verdict(Outcome.ALLOWED, "the answer just given")
        return None

    def _ask(  # noqa: PLR0913 - the parts of a request
        self,
        db: Connection,
        session: Session,
        call: Call,
        *,
        at: datetime | None,
        hook: str | None = None,
        is_timed: bool = False,
        asks: bool = True,
    ) -> RequestId:
        """Ask a person. ``at`` is when the agent asked: its hook may have waited since then."""
        call = call.seen_from(session.project_path)
        now = self.journal.clock.now()
        at = min(at or now, now)
        # A person has the full time for an answer, however late the hook was processed.
        deadline = now + self.deadline if is_timed else None
        asking = Asking(at, deadline, hook, has_dialog=asks)
        seen = same_dialog.seen_before(db, session.id, call) if call.is_asked else None
        if seen:
            request = seen.id
            requests.take_over(db, request, call, asking)
        else:
            request = requests.add(db, session.id, call, asking)
        asked = InputAsked(session.id, call.kind, call.summary, request)
        self.journal.append(db, asked, at=at)
        return request

    def answer(self, db: Connection, request: Request, verdict: Verdict) -> None:
        """Accept an answer. Only the first counts: raises ``RequestClosed`` for every other."""
        if not requests.settle(db, request.id, verdict, at=self.journal.clock.now()):
            now = requests.get(db, request.id)
            raise RequestClosed(f"{now.outcome} by {now.answered_by}.")
        session = sessions.get(db, request.session)
        call = Call(request.tool, request.input, request.questions, folder=request.made_in)
        decided = replace(self._decided(session, call, verdict), request=request.id)
        seq = self._record(db, decided)
        if request.by_keys:
            requests.let_press(db, request.id)
        else:
            since = seq if self.waits.is_waiting(request.id) else None
            hook_answers.let_carry(db, request.id, since=since)
        self._settle(db, session, by=verdict.by)

    def note_press(self, db: Connection, request: Request) -> None:
        """Record that an answer was pressed and that its dialog is gone."""
        requests.note_press(db, request.id)
        self.journal.append(db, AnswerTaken(request.session, request.id))
        self._settle(db, sessions.get(db, request.session), by=request.answered_by)

    def note_told(self, db: Connection, request: RequestId) -> bool:
        """Record that a hook program got the answer. Returns False if that is known already."""
        if not hook_answers.note_carried(db, request):
            return False
        # Clients that wait for the delivery check again at the session's next journal entry.
        self.journal.append(db, AnswerTaken(requests.get(db, request).session, request))
        return True

    def keep_undelivered(self, db: Connection, request: Request, why: str) -> None:
        """Audit that an answer did not reach its agent, or that this is not certain."""
        verdict = requests.verdict_of(db, request.id)
        by = verdict.by if verdict else request.answered_by
        decided = Verdict(Outcome.GONE, by, why)
        kept = self._decided(
            sessions.get(db, request.session),
            Call(request.tool, request.input, folder=request.made_in),
            decided,
        )
        pressed = dialogs.was_pressed(db, request.id) > 0
        decision = "unsure" if pressed else "undelivered"
        requests.keep(db, replace(kept, decision=decision, request=request.id))

    def settle(self, db: Connection, session: SessionId) -> None:
        """Record that a session has no open request any more, if that is so."""
        self._settle(db, sessions.get(db, session), by=TERMINAL)

    async def keep_time(self, database: Database) -> None:
        """Deny requests at their deadline or leave them to the agent's dialog, forever."""
        clock = self.journal.clock
        before = clock.now()

        async def look() -> None:
            nonlocal before
            now = clock.now()
            jump, before = now - before - timedelta(seconds=CHECK_INTERVAL_SECONDS), now
            if abs(jump) > CLOCK_JUMP:
                # The computer slept or its clock was set: a person could not answer.
                await database.write(partial(dialogs.put_off, by=jump))
            if await database.read(self._has_overdue):
                await database.write(self.expire)

        # A longer backoff after a failure would look as if the computer had slept.
        pause = (CHECK_INTERVAL_SECONDS, CHECK_INTERVAL_SECONDS)
        name = "Watching requests' deadlines"
        await supervise.every(
            CHECK_INTERVAL_SECONDS, look, name=name, clock=clock, backoff=pause
        )

    def _has_overdue(self, db: Connection) -> bool:
        return bool(requests.overdue(db, now=self.journal.clock.now()))

    def expire(self, db: Connection) -> int:
        """Deny the requests past their deadline, or leave them to the agent's own dialog.

        Returns the number of these requests.
        """
        due = requests.overdue(db, now=self.journal.clock.now())
        for request in due:
            found = requests.get(db, request)
            if self.on_timeout == "terminal" and self.has_dialog(db, found):
                self.leave(db, found, "not answered in time")
            else:
                verdict = Verdict(Outcome.DENIED, CLOCK, "Not answered in time.")
                self.answer(db, found, verdict)
            dialogs.miss(db, request)
        return len(due)

    def has_dialog(self, db: Connection, request: Request) -> bool:
        """Return whether the agent can ask for the same in a terminal."""
        has_terminal = sessions.get(db, request.session).has_terminal
        return has_terminal and dialogs.has_dialog(db, request.id)

    def leave(self, db: Connection, request: Request, why: str) -> None:
        """Leave a request to its agent's own dialog, where it can still be answered."""
        self.hand_over(db, request, why)
        if not dialogs.is_asked(db, request.id):
            # The dialog is still to appear, and will be a separate request.
            self.withdraw(db, request.id, reason="left to its terminal")

    def hand_over(self, db: Connection, request: Request, why: str) -> None:
        """Record that the agent's own dialog asks for a request now."""
        dialogs.hand_over(db, request.id)
        self.journal.append(db, InputLeft(request.session, request.id, why))

    def note_use(self, db: Connection, used: ToolUsed) -> None:
        """Close the request for a call that has run: it was allowed elsewhere."""
        if asked := requests.of_use(db, used):
            self.withdraw(db, asked.id, decision="allowed")
            return
        since = self.journal.clock.now() - MAX_CALL_TIME
        dialogs.learn_choice(db, used, since=since)
        self._settle(db, sessions.get(db, used.session), by=TERMINAL)

    def ask_again(self, db: Connection, session: SessionId) -> None:
        """Record again what hooks still wait for, after a fact that says nothing is asked.

        Such a fact is about the main agent's turn or about another dialog.
        """
        if not (still_open := dialogs.awaited(db, session)):
            return
        found = sessions.get(db, session)
        if found.status is Status.RUNNING and not found.is_asking:
            last = still_open[-1]
            self.journal.append(db, InputAsked(session, last.kind, last.message, last.id))

    def withdraw(
        self,
        db: Connection,
        request: RequestId,
        *,
        decision: str = "answered",
        reason: str = "",
        rests: bool = False,
    ) -> None:
        """Close a request that was settled at the terminal.

        ``rests`` is whether it is certain that no turn runs then.
        """
        at = self.journal.clock.now()
        if settle_in_terminal(db, request, at=at, decision=decision, reason=reason):
            session = requests.get(db, request).session
            self._settle(db, sessions.get(db, session), by=TERMINAL, rests=rests)

    def _settle(
        self, db: Connection, session: Session, *, by: str, rests: bool = False
    ) -> None:
        """Record that a session has no open request any more, if that is so."""
        if session.started_at is None:
            return  # it is still starting: only its start makes it idle
        if session.is_asking and not requests.is_asking(db, session.id):
            self.journal.append(db, InputSettled(session.id, by, rests=rests))

    def _decided(self, session: Session, call: Call, verdict: Verdict) -> Decided:
        return Decided(
            at=self.journal.clock.now(),
            session=session.id,
            agent=session.agent,
            tool=call.tool,
            input=call.input,
            decision=verdict.outcome,
            by=verdict.by,
            reason=verdict.reason or _given(verdict),
            folder=call.working_folder,
        )

    def _record(self, db: Connection, decided: Decided) -> int | None:
        """Record a decision in the audit and as a fact. Returns the fact's journal entry."""
        requests.keep(db, decided)
        decision = _DECISIONS.get(decided.decision)
        if decision is None:
            return None
        who = (decided.by, decided.rule, decided.request or "")
        return self.journal.append(
            db, CallDecided(decided.session, decided.tool, decision, *who)
        )


#: The name of each decision in the journal.
_DECISIONS: Mapping[str, Literal["allow", "deny", "answer"]] = {
    Outcome.ALLOWED: "allow",
    Outcome.DENIED: "deny",
    Outcome.ANSWERED: "answer",
}


def _by_rule(rule: Rule) -> Verdict:
    if rule.decision == "allow":
        return Verdict(Outcome.ALLOWED, RULE)
    return Verdict(
        Outcome.DENIED, RULE, rule.reason or f"It is against the rule {rule.name!r}."
    )


def _given(verdict: Verdict) -> str:
    """Return the given answers in one line."""
    return "; ".join(", ".join(each) for each in verdict.answers.values())
