"""Turn the events of a driven session into facts and output blocks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, assert_never

from rookery.drivers import events
from rookery.drivers.events import Event, EventEntry
from rookery.model import facts
from rookery.model.blocks import Block, BlockKind
from rookery.model.facts import Fact, SessionId
from rookery.model.reason_texts import failure_text, in_one_line
from rookery.model.sessions import NativeId
from rookery.model.tool_inputs import telling
from rookery.ports.sightings import (
    AgentAsked,
    AgentStoppedAsking,
    Finished,
    Reported,
    Sighting,
    TextsReported,
)
from rookery.processes import Process

#: Characters of a tool's argument in a fact.
MAX_ARGUMENT_CHARACTERS = 500

#: Texts of one report: the transaction that records it must stay short.
MAX_TEXTS = 128


def read_entries(
    entries: Iterable[EventEntry], session: SessionId, *, folder: str
) -> Iterator[Sighting]:
    """Return what entries of an event file say about their session; texts are put together."""
    texts: list[EventEntry] = []
    for entry in entries:
        if texts and not _continues(texts, entry):
            yield _join(texts, session)
            texts = []
        if isinstance(entry.event, events.TextAdded):
            texts.append(entry)
        else:
            yield _read_entry(entry, session, folder=folder)
    if texts:
        yield _join(texts, session)


def _continues(texts: Sequence[EventEntry], entry: EventEntry) -> bool:
    """Return whether an entry is one more text of the same moment."""
    last = texts[-1]
    return (
        isinstance(entry.event, events.TextAdded)
        and entry.at == last.at
        and entry.number == last.number + 1  # a damaged line is left out
        and len(texts) < MAX_TEXTS
    )


def _join(texts: Sequence[EventEntry], session: SessionId) -> TextsReported:
    said = [each.event.text for each in texts if isinstance(each.event, events.TextAdded)]
    at = datetime.fromisoformat(texts[-1].at)
    return TextsReported(session, tuple(said), texts[-1].number, at)


def _read_entry(entry: EventEntry, session: SessionId, *, folder: str) -> Sighting:
    match entry.event:
        case events.Asked() as asked:
            return AgentAsked(
                session=session,
                request=asked.request,
                tool=asked.tool,
                input=asked.input,
                call_id=asked.call_id,
                subagent=asked.subagent,
                basis=asked.basis,
                method=asked.method,
                folder=asked.folder,
                questions=asked.questions,
                is_exact=asked.is_exact,
            )
        case events.AskingEnded(request):
            return AgentStoppedAsking(session, request)
        case events.Ended(outcome, reason, is_over_budget):
            return Finished(session, outcome, reason, is_over_budget=is_over_budget)
        case event:
            return _report(event, session, entry, folder)


def _report(event: Event, session: SessionId, entry: EventEntry, folder: str) -> Reported:
    at, number = datetime.fromisoformat(entry.at), entry.number
    told: dict[str, Any] = {}
    match event:
        case events.Up(native_id):
            told["native_id"] = NativeId(native_id) if native_id else None
        case events.ModeChanged(mode):
            told["permission_mode"] = mode
        case events.ProcessStarted() as started:
            told["process"] = _process_key(started)
        case events.Used(total_cost=total):
            told["total_cost"] = total
        case events.ToolEnded(files=paths):
            told["edited"] = paths
        case events.FileChanged(path, is_made=True):
            told["edited"] = (path,)
        case _:
            pass
    return Reported(
        session,
        facts=tuple(_facts(event, session, folder)),
        blocks=tuple(_blocks(event)),
        number=number,
        at=at,
        **told,
    )


def _process_key(started: events.ProcessStarted) -> str | None:
    """Return the pid and start time of a program; none if it has ended."""
    if started.process is None and (found := Process.of(started.pid)):
        return found.key
    return started.process or None


def _facts(event: Event, session: SessionId, folder: str) -> list[Fact]:  # noqa: C901, PLR0911 - a table
    match event:
        case events.Up(_, model, path):
            return [facts.SessionStarted(session, model, path)]
        case events.PromptTaken(text, is_steering):
            return [facts.TurnStarted(session, text, is_taken_in=is_steering)]
        case events.ToolBegan(call_id, tool, tool_input):
            argument = in_one_line(telling(tool_input))[:MAX_ARGUMENT_CHARACTERS]
            return [facts.ToolCalled(session, tool, argument, call_id)]
        case events.ToolEnded(call_id, tool, result, failed, subagent):
            failure = failure_text(result) if failed else ""
            return [facts.ToolUsed(session, tool, "", subagent, call_id, folder, failure)]
        case events.Used(used_in, used_out, cost, context=context):
            return [facts.UsageReported(session, used_in, used_out, cost, context=context)]
        case events.ModelChanged(model):
            return [facts.ModelChosen(session, model)]
        case events.Noticed(what, detail):
            return [facts.Noted(session, what, detail)]
        case events.FellSilent(seconds):
            text = f"nothing was reported for {seconds:g} s"
            return [facts.Noted(session, facts.SILENT, text)]
        case events.TurnOver(text, how, reason, fails_session):
            words = text or reason
            return [facts.TurnEnded(session, words, how, fails_session=fails_session)]
        case (
            events.TextAdded()
            | events.ThoughtAdded()
            | events.ProcessStarted()
            | events.ProcessesNoted()
            | events.CommandStarted()
            | events.FileChanged()
            | events.PlanChanged()
            | events.ModeChanged()
            | events.Asked()
            | events.AskingEnded()
            | events.Ended()
        ):
            return []
        case _:
            assert_never(event)


def _blocks(event: Event) -> list[Block]:  # noqa: C901, PLR0911 - a table
    match event:
        case events.PromptTaken(text):
            return [Block(BlockKind.PROMPT, text)]
        case events.ThoughtAdded(text):
            return [Block(BlockKind.THOUGHT, text)]
        case events.ToolBegan(call_id, tool, tool_input, subagent):
            data = {"input": _plain(tool_input), **({"subagent": subagent} if subagent else {})}
            return [Block(BlockKind.TOOL_CALL, telling(tool_input), tool, call_id, data)]
        case events.ToolEnded(call_id, tool, result, failed):
            return [Block(BlockKind.TOOL_RESULT, result, tool, call_id, failed=failed)]
        case events.FileChanged(path, diff, call_id):
            return [Block(BlockKind.DIFF, diff, call_id=call_id, data={"path": path})]
        case events.PlanChanged(steps):
            listed = [[text, state] for text, state in steps]
            return [Block(BlockKind.PLAN, data={"steps": listed})]
        case events.Used(0, 0):
            return []  # a part of the costs; the tokens come at the end of the turn, if at all
        case events.Used(input_tokens, output_tokens, cost, turn_cost=turn_cost):
            shown = cost if turn_cost is None else turn_cost
            used = {"input_tokens": input_tokens, "output_tokens": output_tokens, "cost": shown}
            return [Block(BlockKind.USAGE, data=used)]
        case events.TurnOver(_, "failed", reason) if reason:
            return [Block(BlockKind.TEXT, reason, failed=True)]
        case _:
            return []


def _plain(tool_input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an input that JSON can hold."""
    return dict(json.loads(json.dumps(tool_input, default=str)))
