"""Estimate the cost of usage from the configured prices of models."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec.structs import replace

from rookery.config import Price
from rookery.model.facts import UsageReported
from rookery.ports.transcript import Tokens

#: Prices by model, or by a pattern such as ``claude-opus-*``.
Prices = Mapping[str, Price]


def find_price(prices: Prices, model: str) -> Price | None:
    """Return the price of a model: its own, else that of the longest pattern that matches."""
    if model in prices:
        return prices[model]
    matching = [pattern for pattern in prices if fnmatchcase(model, pattern)]
    return prices[max(matching, key=len)] if model and matching else None


def cost_of(tokens: Tokens, price: Price) -> float:
    """Return the cost in micro-dollars; prices are in dollars per million tokens."""
    fresh = max(0, tokens.input - tokens.cache_read - tokens.cache_write)
    read, written = (
        price.input if each is None else each for each in (price.cache_read, price.cache_write)
    )
    cached = read * tokens.cache_read + written * tokens.cache_write
    return price.input * fresh + cached + price.output * tokens.output


def with_estimate(usage: UsageReported, prices: Prices, model: str) -> UsageReported:
    """Return a report with an estimated cost, if its agent reports none and a price is set."""
    price = find_price(prices, model)
    if usage.cost is not None or price is None:
        return usage
    tokens = Tokens(
        usage.input_tokens, usage.output_tokens, usage.cache_read, usage.cache_write
    )
    return replace(usage, cost=round(cost_of(tokens, price)), estimated=True)
