"""Remember what the rules say about calls whose dialogs will show only a part of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from rookery.model.facts import SessionId
from rookery.model.permissions import Call
from rookery.model.rules import Rule

#: The deciding rule of each call, by what the calls and their dialogs have in common.
_Decisions = dict[str, list[Rule | None]]


@dataclass(slots=True)
class AnnouncedCalls:
    """The rules' decisions about calls announced in the current turn, in this daemon only.

    A dialog whose call is not known here is decided by a person.
    """

    _rules: tuple[Rule, ...] = ()  #: the rules that decided
    _decisions: dict[SessionId, _Decisions] = field(default_factory=dict)

    def add(
        self, session: SessionId, call: Call, rule: Rule | None, rules: tuple[Rule, ...]
    ) -> None:
        """Keep the decision about an announced call, unless it is denied: it has no dialog."""
        self._use(rules)
        if rule and rule.decision == "deny":
            return
        of_call = self._decisions.setdefault(session, {}).setdefault(call.announced_as, [])
        if rule not in of_call:
            of_call.append(rule)

    def rule_for(self, session: SessionId, shown: Call, rules: tuple[Rule, ...]) -> Rule | None:
        """Return the rule that decides the call of a dialog; None if a person decides.

        The dialog may be about any of the announced calls that look like it. So a rule that
        allows decides only if all of them are allowed.
        """
        self._use(rules)
        decisions = self._decisions.get(session, {}).get(shown.announced_as, [])
        restricting = (rule for rule in decisions if not (rule and rule.decision == "allow"))
        return next(restricting, next(iter(decisions), None))

    def _use(self, rules: tuple[Rule, ...]) -> None:
        """Let a person decide about all calls that were announced under other rules."""
        if rules is self._rules:
            return
        self._rules = rules
        self._decisions = {
            session: {key: [None] for key in of_session}
            for session, of_session in self._decisions.items()
        }

    def forget(self, session: SessionId) -> None:
        """Forget the calls of a turn that is over."""
        self._decisions.pop(session, None)
