from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rookery.agents.demo import DEMO
from rookery.agents.shell import SHELL
from rookery.model.errors import WordsRefused
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.ports.agent import Agent
from rookery.runtimes.tmux.panes import Pane
from rookery.runtimes.tmux.places import Place
from rookery.runtimes.tmux.safe_input import fitted

RELAYED = "[bob] (2):\n\none\ntwo  "


def pane_of(agent: Agent, *, takes_brackets: bool = False) -> Pane:
    place = Place("rk_1", "%1", 1)
    return Pane(SessionId("s"), agent, place, takes_brackets=takes_brackets)


def parcel(words: str, *, is_composed: bool) -> Parcel:
    at = datetime.now(UTC)
    return Parcel(1, SessionId("s"), words, Step.SENDING, at, is_composed=is_composed)


@pytest.mark.spec("B2", "F2")
def test_relayed_words_become_one_line_only_where_no_more_is_taken() -> None:
    relayed = parcel(RELAYED, is_composed=True)

    assert fitted(pane_of(SHELL), relayed) == "[bob] (2): one two"
    assert fitted(pane_of(SHELL, takes_brackets=True), relayed) == RELAYED
    assert fitted(pane_of(DEMO), relayed) == RELAYED


@pytest.mark.spec("B2")
def test_a_persons_lines_are_typed_as_they_are_or_not_at_all() -> None:
    lines = parcel("rm a\nrm b", is_composed=False)

    assert fitted(pane_of(SHELL, takes_brackets=True), lines) == "rm a\nrm b"
    with pytest.raises(WordsRefused, match="one line"):
        fitted(pane_of(SHELL), lines)


def test_a_pane_knows_that_what_scrolled_away_was_cleared_also_in_two_pieces() -> None:
    pane = pane_of(SHELL)

    pane.take(b"\x1b[H\x1b[2J\x1b[", 1.0)
    before = pane.was_wiped
    pane.take(b"3Jnew", 2.0)

    assert (before, pane.was_wiped) == (False, True)


def test_a_pane_that_ends_no_line_for_a_while_may_only_draw_something_again() -> None:
    pane = pane_of(SHELL)
    pane.take(b"a line\n", 1.0)
    pane.take(b"\r12:01", 2.4)

    assert not pane.only_redraws(2.4)
    assert pane.only_redraws(2.5)
    assert not pane_of(DEMO).only_redraws(100.0)
