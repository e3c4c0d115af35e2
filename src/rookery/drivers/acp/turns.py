"""How a turn of an ACP agent ended, and what it used. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp.schema import PromptResponse

from rookery.drivers.events import TurnOver, Used

_FAILURES: Mapping[str, str] = {
    "max_tokens": "its answer reached the limit of tokens",
    "max_turn_requests": "it reached the limit of model requests in one turn",
    "refusal": "the model refused to answer",
}


def turn_over(stop_reason: str, answer: str, *, is_cut_off: bool) -> TurnOver:
    """Return how a turn ended.

    ``is_cut_off``: it was interrupted, or the agent has done nothing since a refusal. Some
    agents then report the end of a usual turn.
    """
    if stop_reason in _FAILURES:
        return TurnOver(answer, "failed", _FAILURES[stop_reason])
    if stop_reason == "cancelled" or is_cut_off:
        return TurnOver(answer, "interrupted")
    return TurnOver(answer)


def used_in(response: PromptResponse, turn_cost: int | None, context: int) -> Used | None:
    """Return the tokens of a turn and the context; ``None`` if the agent reports neither.

    The protocol's field is a draft; older agents report the same in ``_meta``. ``turn_cost``
    is what an agent that reports its costs at once has reported in this turn.
    """
    if usage := response.usage:
        cached = (usage.cached_read_tokens or 0) + (usage.cached_write_tokens or 0)
        found = usage.input_tokens + cached, usage.output_tokens + (usage.thought_tokens or 0)
    else:
        found = _in_meta(response.field_meta or {})
    if not any((*found, context)):
        return None
    cost = None if turn_cost is None else 0
    return Used(*found, cost, turn_cost=turn_cost, context=context)


def _in_meta(meta: Mapping[str, Any]) -> tuple[int, int]:
    match meta:
        case {
            "quota": {
                "token_count": {"input_tokens": int(sent), "output_tokens": int(received)}
            }
        }:
            return sent, received
        case _:
            return 0, 0
