"""Decide whether a tool call may run: by rule, or by asking a person.

An error, a missing answer or unreadable input never allows a call.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from sqlite3 import Connection
from typing import Literal, TypeAlias

from rookery.hook_protocol import time_of
from rookery.model.facts import (
    InputAsked,
    SessionId,
)
from rookery.model.permissions import Call, Outcome, Request, RequestId, Verdict
from rookery.model.rules import (
    ASK_ALWAYS,
    UNCERTAIN,
    UNKNOWN_COMMANDS,
    Circumstances,
    Rule,
    decide,
)
from rookery.model.sessions import Sender, Session
from rookery.permissions import same_dialog
from rookery.permissions.announced_calls import AnnouncedCalls
from rookery.permissions.request_lifecycle import RequestLifecycle
from rookery.permissions.rules_file import RulesFile
from rookery.store import audit, dialogs, flags, grants, requests, session_families
from rookery.store.audit import Decided
from rookery.store.requests import Asking

#: An agent that announces a call and then asks about it does so within this time.
SECOND_ASKING = timedelta(seconds=30)

#: The deciders that are neither a person nor a session.
RULE, GRANT, UNASKED = "rule", "grant", "unasked"

#: The rules that ask because a rule that denies could not be checked.
_UNCHECKED = (ASK_ALWAYS, UNCERTAIN, UNKNOWN_COMMANDS)


@dataclass(frozen=True, slots=True)
class Pass:
    """No decision: the agent continues as if it had no hook."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The agent must ask its user itself, even if it would not have done so."""


@dataclass(frozen=True, slots=True)
class WaitForAnswer:
    """A person is asked; the answer is pending."""

    request: RequestId


Ruling: TypeAlias = Pass | Ask | WaitForAnswer | Verdict


@dataclass(frozen=True, slots=True)
class Permissions(RequestLifecycle):
    """Decides calls, by the rules or by asking a person."""

    rules_file: RulesFile
    deadline: timedelta
    #: What happens to a request at its deadline.
    on_timeout: Literal["terminal", "deny"] = "terminal"
    announced: AnnouncedCalls = field(default_factory=AnnouncedCalls, kw_only=True)

    def consider_driven(
        self, db: Connection, session: Session, call: Call, *, key: str
    ) -> Verdict | WaitForAnswer:
        """Decide a call of a driven agent, which waits and has no dialog of its own."""
        rule = decide(self.rules_file.rules, call, session_families.circumstances(db, session))
        if verdict := self._verdict(db, session, call, rule):
            name = rule.name if rule and verdict.by == RULE else ""
            self.record(db, replace(self.decided(session, call, verdict), rule=name))
            return verdict
        now = self.journal.clock.now()
        asking = Asking(now, deadline=now + self.deadline, hook=key, has_dialog=False)
        return WaitForAnswer(self._ask(db, session, call, asking))

    def consider_unasked(
        self, db: Connection, session: Session, call: Call, *, key: str
    ) -> Verdict | WaitForAnswer:
        """Allow a call of a driven agent, unless a rule denies it or asks about it."""
        if decide(self.rules_file.rules, call, session_families.circumstances(db, session)):
            return self.consider_driven(db, session, call, key=key)
        verdict = Verdict(Outcome.ALLOWED, UNASKED)
        self.record(db, self.decided(session, call, verdict))
        return verdict

    def is_granted(self, db: Connection, session: Session, call: Call) -> bool:
        """Return whether a call that was granted may run: no rule denies it, or may do so."""
        circumstances = session_families.circumstances(db, session)
        rule = decide(self.rules_file.rules, call, circumstances)
        return rule is None or not (rule.decision == "deny" or rule in _UNCHECKED)

    def consider(
        self, db: Connection, session: Session, call: Call, *, hook: str, can_ask: bool
    ) -> Ruling:
        """Decide a call. ``can_ask`` is whether a hook can make the agent ask its user."""
        rule = self._deciding_rule(db, session, call)
        if verdict := self._verdict(db, session, call, rule):
            if call.by_keys:
                request = self._ask(db, session, call, self._asking(hook))
                self.answer(db, requests.get(db, request), verdict)
                return Pass()
            self._close_screen_request(db, session, call, by=verdict.by)
            name = rule.name if rule and verdict.by == RULE else ""
            self.record(db, replace(self.decided(session, call, verdict), rule=name))
            return verdict
        if not call.is_asked:
            if rule is None:
                return Pass()
            if can_ask and flags.mode(db) != "remote":
                return Ask()
        elif same_dialog.is_answered(db, session.id, call, hook_ran_at=time_of(hook)):
            return Pass()
        return self._ask_person(db, session, call, hook=hook, can_ask=can_ask)

    def _deciding_rule(self, db: Connection, session: Session, call: Call) -> Rule | None:
        """Return the rule that decides a call, also if its dialog shows only a part of it."""
        rules = self.rules_file.rules
        rule = decide(rules, call, session_families.circumstances(db, session))
        if not call.announced_as:
            return rule
        if not call.by_keys:
            self.announced.add(session.id, call, rule, rules)
            return rule
        if rule and rule.decision == "deny":
            return rule
        return self.announced.rule_for(session.id, call, rules) or _restricting(rule)

    def _ask_person(
        self, db: Connection, session: Session, call: Call, *, hook: str, can_ask: bool
    ) -> Ruling:
        """Ask a person: through Rookery, or only in the agent's own dialog."""
        now, asking = self.journal.clock.now(), self._asking(hook)
        since = now - SECOND_ASKING
        if call.is_asked and dialogs.was_just_handed(db, session.id, call.digest, since=since):
            # The dialog appeared before an answer was given: the dialog decides now.
            self._ask(db, session, call, asking)
            return Pass()
        asking = replace(asking, has_dialog=call.is_asked or can_ask)
        if flags.mode(db) == "remote" or not (call.is_asked or call.by_keys):
            # A person has the full time for an answer, however late the hook was processed.
            asking = replace(asking, deadline=now + self.deadline)
        if call.by_keys or not asking.deadline:
            self._ask(db, session, call, asking)
            return Pass()
        return WaitForAnswer(self._ask(db, session, call, replace(asking, hook=hook)))

    def repeat(self, db: Connection, session: Session, call: Call) -> Ruling:
        """Decide a call again, for an agent that asks everything twice."""
        rule = decide(self.rules_file.rules, call, session_families.circumstances(db, session))
        if rule and rule.decision != "ask":
            return _by_rule(rule)
        request = requests.of_call(db, session.id, call)
        return WaitForAnswer(request.id) if request and request.deadline else Pass()

    def deny_unknown(self, db: Connection, sender: Sender, call: Call) -> Verdict | None:
        """Deny a call of an agent that is no session, if a rule denies it; audit that."""
        where = Circumstances(sender.agent, sender.cwd, session="")
        rule = decide(self.rules_file.rules, call, where)
        if rule is None or rule.decision != "deny":
            return None
        verdict = _by_rule(rule)
        audit.keep(
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
        is_answered = partial(
            same_dialog.is_answered, db, session.id, hook_ran_at=time_of(hook)
        )
        if call.is_asked and not is_answered(call):
            self._ask(db, session, call, self._asking(hook))
        return Pass()

    def _asking(self, hook: str) -> Asking:
        """Return an ``Asking`` with the time at which the hook was called."""
        now = self.journal.clock.now()
        return Asking(min(time_of(hook) or now, now), deadline=None, hook=None)

    def _close_screen_request(
        self, db: Connection, session: Session, call: Call, *, by: str
    ) -> None:
        """Close a request that was read from the screen: the call's hook gets the decision."""
        screen_request = _seen_on_screen(db, session.id, call)
        if screen_request:
            superseded = Verdict(Outcome.GONE, by, "its hook reported it")
            requests.settle(db, screen_request.id, superseded, at=self.journal.clock.now())
            self.settle(db, session.id, by=by)

    def _verdict(
        self, db: Connection, session: Session, call: Call, rule: Rule | None
    ) -> Verdict | None:
        """Return the decision that can be made without a person, or None."""
        if rule and rule.decision != "ask":
            return _by_rule(rule)
        if grants.is_granted(db, session.id, call):
            return Verdict(Outcome.ALLOWED, GRANT)
        since = self.journal.clock.now() - SECOND_ASKING
        if call.is_asked and grants.spend(db, session.id, call, since=since):
            return Verdict(Outcome.ALLOWED, "the answer just given")
        return None

    def _ask(self, db: Connection, session: Session, call: Call, asking: Asking) -> RequestId:
        """Ask a person about a call."""
        call = call.seen_from(session.project_path)
        screen_request = _seen_on_screen(db, session.id, call)
        if screen_request:
            request = screen_request.id
            requests.take_over(db, request, call, asking)
        else:
            request = requests.add(db, session.id, call, asking)
        asked = InputAsked(session.id, call.kind, call.summary, request)
        self.journal.append(db, asked, at=asking.at)
        return request


def _seen_on_screen(db: Connection, session: SessionId, call: Call) -> Request | None:
    """Return the open request that was read from the screen before this call's hook came."""
    return same_dialog.seen_before(db, session, call) if call.is_asked else None


def _restricting(rule: Rule | None) -> Rule | None:
    return rule if rule and rule.decision != "allow" else None


def _by_rule(rule: Rule) -> Verdict:
    if rule.decision == "allow":
        return Verdict(Outcome.ALLOWED, RULE)
    return Verdict(
        Outcome.DENIED, RULE, rule.reason or f"It is against the rule {rule.name!r}."
    )
