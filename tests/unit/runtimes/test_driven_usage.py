"""The usage blocks of driven sessions."""

from __future__ import annotations

import pytest

from rookery.drivers.events import EventEntry, Used
from rookery.model.blocks import BlockKind
from rookery.model.facts import SessionId
from rookery.ports.sightings import Reported
from rookery.runtimes.driven.reports import read_entries
from tests.support.acp_recordings import turns_of


def reported(used: Used) -> Reported:
    entry = EventEntry(1, "2026-01-01T00:00:00+00:00", used)
    (found,) = read_entries([entry], SessionId("s"), folder="")
    assert isinstance(found, Reported)
    return found


@pytest.mark.spec("G4", "G6")
@pytest.mark.parametrize("agent", ["claude", "opencode"])
def test_a_usage_block_has_the_tokens_and_the_cost_of_its_turn(agent: str) -> None:
    for prompt, events in turns_of(agent).items():
        used = [each for each in events if isinstance(each, Used)]
        shown = [block for each in used for block in reported(each).blocks]
        cost = sum(each.cost or 0 for each in used)
        if "hello over acp" in prompt:
            (block,) = shown
            assert block.data["cost"] == cost > 0
        assert all(block.data["input_tokens"] for block in shown)


@pytest.mark.spec("G6")
def test_a_cost_without_tokens_is_counted_and_has_no_block() -> None:
    found = reported(Used(0, 0, 250_000, 250_000))
    assert found.blocks == ()
    assert len(found.facts) == 1


def test_a_report_with_tokens_and_cost_is_one_block() -> None:
    (block,) = reported(Used(10, 2, 5)).blocks
    assert block.kind is BlockKind.USAGE
    assert block.data == {"input_tokens": 10, "output_tokens": 2, "cost": 5}
