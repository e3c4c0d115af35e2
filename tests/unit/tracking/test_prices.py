from __future__ import annotations

import pytest

from rookery.config import Price
from rookery.model.facts import SessionId, UsageReported
from rookery.ports.transcript import Tokens
from rookery.tracking.prices import cost_of, find_price, with_estimate

S = SessionId("s")
ANY, OPUS, EXACT = Price(input=1), Price(input=5), Price(input=9)
PRICES = {"*": ANY, "*opus*": OPUS, "claude-opus-5": EXACT}


@pytest.mark.spec("G6")
@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("claude-opus-5", EXACT),
        ("claude-opus-5-1", OPUS),
        ("anthropic/claude-opus-4", OPUS),
        ("gpt-6", ANY),
        ("", None),
    ],
)
def test_a_model_has_its_own_price_else_that_of_the_longest_pattern(
    model: str, price: Price | None
) -> None:
    assert find_price(PRICES, model) == price
    assert find_price({}, model) is None


@pytest.mark.spec("G6")
def test_cached_input_has_its_own_price_if_one_is_set() -> None:
    tokens = Tokens(input=1_000, output=10, cache_read=700, cache_write=200)

    assert cost_of(tokens, Price(input=2, output=3)) == 2_030
    cheaper = Price(input=2, output=3, cache_read=0.5, cache_write=2.5)
    assert cost_of(tokens, cheaper) == 200 + 350 + 500 + 30


@pytest.mark.spec("G6")
def test_only_a_cost_that_was_not_reported_is_estimated() -> None:
    prices = {"m": Price(input=2, output=3, cache_read=0)}
    silent = UsageReported(S, 1_000, 10, cache_read=900)
    reported = UsageReported(S, 1_000, 10, 77)

    estimate = with_estimate(silent, prices, "m")

    assert (estimate.cost, estimate.estimated) == (230, True)
    assert with_estimate(reported, prices, "m") is reported
    assert with_estimate(silent, prices, "other") is silent
