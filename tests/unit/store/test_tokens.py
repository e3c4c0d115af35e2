"""Tokens, whatever is done with them in whatever order: no scope ever grows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from rookery.model.errors import CommandRefused
from rookery.model.scopes import MAY, Identity, Scope
from rookery.store import tokens
from rookery.store.connections import open_file
from rookery.store.journal import Journal
from rookery.store.migrations import migrate
from tests.support.fakes.clock import FakeClock
from tests.support.rows import ANNA, BERT, settle_in

AT = datetime(2026, 1, 1, tzinfo=UTC)

SCOPES = st.sampled_from([*Scope])


class Tokens(RuleBasedStateMachine):
    """Mints, badges, revocations; and beside them what each secret may do at most."""

    secrets: Bundle[str] = Bundle("secrets")

    def __init__(self) -> None:
        super().__init__()
        self.db = open_file(":memory:")
        migrate(self.db)
        settle_in(self.db, Journal("here", FakeClock(), readers={}))
        self.most: dict[str, Scope] = {"first": Scope.OWNER}
        self.void: set[str] = set()
        self.badges: dict[str, str] = {}
        tokens.keep_owner(self.db, "first", at=AT)

    def teardown(self) -> None:
        self.db.close()

    @rule(target=secrets)
    def the_owners_own(self) -> str:
        return "first"

    @rule(target=secrets, by=secrets, scope=SCOPES, number=st.integers(0, 10_000))
    def mint(self, by: str, scope: Scope, number: int) -> str:
        """Ask for a token with the identity that a secret has now, if it has any."""
        found = tokens.find(self.db, tokens.digest(by))
        if found is None:
            return by
        secret = f"minted {len(self.most)} {number}"
        who = Identity(found.scope, "tcp", found.session)
        try:
            tokens.mint(self.db, secret, scope, by=who, at=AT)
        except CommandRefused:
            assert tokens.find(self.db, tokens.digest(secret)) is None
            return by
        assert MAY[scope] <= MAY[self.most[by]]
        self.most[secret] = scope
        return secret

    @rule(target=secrets, session=st.sampled_from([ANNA, BERT]))
    def give_badge(self, session: str) -> str:
        if session in self.badges:
            self.void.add(self.badges[session])
        badge = str(tokens.give_badge(self.db, session, at=AT))  # type: ignore[arg-type]
        self.most[badge], self.badges[session] = Scope.SESSION, badge
        return badge

    @rule(secret=consumes(secrets))
    def revoke(self, secret: str) -> None:
        if found := tokens.find(self.db, tokens.digest(secret)):
            tokens.revoke(self.db, found.id, at=AT)
        self.void.add(secret)

    @rule()
    def restore(self) -> None:
        tokens.void_all(self.db, at=AT)
        self.void |= set(self.most)

    @rule()
    def start_again(self) -> None:
        """Show the owner's file again; what was taken back stays void."""
        assert tokens.keep_owner(self.db, "first", at=AT) is ("first" not in self.void)

    @invariant()
    def no_token_may_more_than_it_was_given(self) -> None:
        for secret, scope in self.most.items():
            found = tokens.find(self.db, tokens.digest(secret))
            assert found is None or (found.scope is scope and secret not in self.void)


Tokens.TestCase.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)


@pytest.mark.spec("K5")
class TestTokens(Tokens.TestCase):  # type: ignore[misc,valid-type]
    """The machine above, as a test."""
