"""Change the state of requests: answered, left to the agent's dialog, or closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from sqlite3 import Connection
from typing import Literal

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
from rookery.model.sessions import Session
from rookery.permissions.answered_in_terminal import TERMINAL, settle_in_terminal
from rookery.permissions.hook_waits import HookWaits
from rookery.store import audit, dialogs, hook_replies, request_keys, requests, sessions
from rookery.store.audit import Decided
from rookery.store.journal import Journal
from rookery.store.turn_changes import open_turns

#: Maximum age of a request answered in the terminal whose call may still run.
MAX_CALL_TIME = timedelta(hours=24)

#: The name of each decision in the journal.
_DECISIONS: Mapping[str, Literal["allow", "deny", "answer"]] = {
    Outcome.ALLOWED: "allow",
    Outcome.DENIED: "deny",
    Outcome.ANSWERED: "answer",
}


@dataclass(frozen=True, slots=True)
class RequestLifecycle:
    """Changes requests in the store, and records each change in the journal."""

    journal: Journal
    waits: HookWaits = field(default_factory=HookWaits, kw_only=True)

    def answer(self, db: Connection, request: Request, verdict: Verdict) -> None:
        """Accept an answer. Only the first counts: raises ``RequestClosed`` for every other."""
        if not requests.settle(db, request.id, verdict, at=self.journal.clock.now()):
            now = requests.get(db, request.id)
            raise RequestClosed(f"{now.outcome} by {now.answered_by}.")
        session = sessions.get(db, request.session)
        call = Call(request.tool, request.input, request.questions, folder=request.made_in)
        decided = replace(self.decided(session, call, verdict), request=request.id)
        seq = self.record(db, decided)
        if request.by_keys:
            request_keys.let_press(db, request.id)
        else:
            since = seq if self.waits.is_waiting(request.id) else None
            hook_replies.let_carry(db, request.id, since=since)
        rests = self._rests_after(db, request.id)
        self.settle(db, session.id, by=verdict.by, rests=rests)

    def note_press(self, db: Connection, request: Request) -> None:
        """Record that an answer was pressed and that its dialog is gone."""
        request_keys.note_press(db, request.id)
        self.journal.append(db, AnswerTaken(request.session, request.id))
        rests = self._rests_after(db, request.id)
        self.settle(db, request.session, by=request.answered_by, rests=rests)

    def note_delivered(self, db: Connection, request: RequestId) -> bool:
        """Record that a hook program got the answer. Returns False if that was recorded."""
        if not hook_replies.note_carried(db, request):
            return False
        # Clients that wait for the delivery check again at the session's next journal entry.
        self.journal.append(db, AnswerTaken(requests.get(db, request).session, request))
        return True

    def keep_undelivered(self, db: Connection, request: Request, why: str) -> None:
        """Audit that an answer did not reach its agent, or that this is not certain."""
        verdict = requests.verdict_of(db, request.id)
        by = verdict.by if verdict else request.answered_by
        decided = Verdict(Outcome.GONE, by, why)
        record = self.decided(
            sessions.get(db, request.session),
            Call(request.tool, request.input, folder=request.made_in),
            decided,
        )
        pressed = dialogs.was_pressed(db, request.id) > 0
        decision = "unsure" if pressed else "undelivered"
        audit.keep(db, replace(record, decision=decision, request=request.id))

    def has_dialog(self, db: Connection, request: Request) -> bool:
        """Return whether the agent's own terminal can show a dialog for the request."""
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
        if request := requests.of_use(db, used):
            self.withdraw(db, request.id, decision="allowed")
            return
        since = self.journal.clock.now() - MAX_CALL_TIME
        dialogs.learn_choice(db, used, since=since)
        self.settle(db, used.session)

    def ask_again(self, db: Connection, session: SessionId) -> None:
        """Record the latest open request again, after a fact that cleared its session's state.

        Such a fact is about the main agent's turn or about another dialog.
        """
        if not (still_open := requests.open_of(db, session)):
            return
        current = sessions.get(db, session)
        if current.status is Status.RUNNING and not current.is_asking:
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
        """Close a request that ended at the agent's terminal; ``rests`` as in ``settle``."""
        at = self.journal.clock.now()
        if settle_in_terminal(db, request, at=at, decision=decision, reason=reason):
            rests = rests or self._rests_after(db, request)
            self.settle(db, requests.get(db, request).session, rests=rests)

    def _rests_after(self, db: Connection, request: RequestId) -> bool:
        """Return whether a subagent asked after the main agent's last turn had ended."""
        session = requests.get(db, request).session
        return dialogs.was_of_subagent(db, request) and not open_turns(db, session)

    def settle(
        self, db: Connection, session: SessionId, *, by: str = TERMINAL, rests: bool = False
    ) -> None:
        """Record that a session has no open request, if that is so.

        ``rests`` is whether it is certain that no turn runs any more.
        """
        now = sessions.get(db, session)
        if now.started_at is None:
            return  # it is still starting: only its start makes it idle
        if now.is_asking and not request_keys.is_asking(db, session):
            self.journal.append(db, InputSettled(session, by, rests=rests))

    def decided(self, session: Session, call: Call, verdict: Verdict) -> Decided:
        return Decided(
            at=self.journal.clock.now(),
            session=session.id,
            agent=session.agent,
            tool=call.tool,
            input=call.input,
            decision=verdict.outcome,
            by=verdict.by,
            reason=verdict.reason or _answers_text(verdict),
            folder=call.working_folder,
        )

    def record(self, db: Connection, decided: Decided) -> int | None:
        """Record a decision in the audit and as a fact. Returns the fact's journal entry."""
        audit.keep(db, decided)
        decision = _DECISIONS.get(decided.decision)
        if decision is None:
            return None
        who = (decided.by, decided.rule, decided.request or "")
        return self.journal.append(
            db, CallDecided(decided.session, decided.tool, decision, *who)
        )


def _answers_text(verdict: Verdict) -> str:
    """Return the answers in one line."""
    return "; ".join(", ".join(each) for each in verdict.answers.values())
