"""Mark the tool calls that were denied, by whom or what, and those that failed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rookery.agents.shared.tool_arguments import argument_of
from rookery.agents.shared.transcript_lines import format_call
from rookery.ports.transcript import Passage
from rookery.store.audit import Decided
from rookery.store.tool_calls import ToolCall


def mark_calls(calls: Sequence[ToolCall], denials: Iterable[Decided]) -> list[ToolCall]:
    """Return calls in their order, with who denied them.

    A denial belongs to the last call before it with the same tool and input.
    """
    marked = [*calls]
    for denied in denials:
        argument = argument_of(denied.tool, dict(denied.input))
        places = [
            place
            for place, call in enumerate(marked)
            if call.tool == denied.tool and call.at <= denied.at and not call.denied_by
        ]
        exact = [place for place in places if marked[place].argument == argument]
        if places:
            place = (exact or places)[-1]
            marked[place] = replace(marked[place], denied_by=denied.by, rule=denied.rule)
    return marked


def mark_failures(calls: Iterable[ToolCall], failures: Mapping[str, str]) -> list[ToolCall]:
    """Return calls in their order, with why they failed; ``failures`` are by the calls' ids."""
    return [replace(each, failure=failures.get(each.call_id, "")) for each in calls]


def mark_passages(passages: Sequence[Passage], denials: Iterable[Decided]) -> list[Passage]:
    """Return the parts of a transcript, with who denied its calls."""
    marked = [*passages]
    for denied in denials:
        text = format_call(denied.tool, dict(denied.input))
        places = [
            place
            for place, each in enumerate(marked)
            if each.kind == "call" and each.text == text and not each.denied_by
        ]
        # The agent may write its transcript after the decision, so times do not tell.
        if places:
            nearest = min(places, key=lambda place: abs(marked[place].at - denied.at))
            marked[nearest] = replace(marked[nearest], denied_by=denied.by, rule=denied.rule)
    return marked
