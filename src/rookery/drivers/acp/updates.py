"""Turn the session updates of the Agent Client Protocol into events. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from acp.schema import (
    AgentMessageChunk,
    AgentPlanContentUpdate,
    AgentPlanRemovedUpdate,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
    UserMessageChunk,
)

from rookery.drivers.acp.calls import CallUpdate, merged, result_of
from rookery.drivers.acp.diffs import unified
from rookery.drivers.acp.options import AcpOptions
from rookery.drivers.acp.tools import AcpCall, FileDiff, NameTool
from rookery.drivers.events import (
    Event,
    FileChanged,
    ModeChanged,
    ModelChanged,
    PlanChanged,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    Used,
)
from rookery.drivers.result_texts import bounded
from rookery.model.money import in_micro_dollars

Update: TypeAlias = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AgentPlanContentUpdate
    | AgentPlanRemovedUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)

#: The largest total that is believed.
MAX_DOLLARS = 1_000_000_000


class UpdateReader:
    """Collects chunks to whole texts, and the parts of each tool call to one call."""

    def __init__(self, name_tool: NameTool, options: AcpOptions) -> None:
        self._name_tool = name_tool
        self._modes = options.modes
        self._failure_sign = options.failure_sign
        self._total_cost = options.earlier_cost
        self.has_failed = False  #: whether the agent says that its turn has failed
        self.reports_cost = False
        self.turn_cost = 0  #: what was reported since the turn began, in micro-dollars
        self.context = 0  #: tokens in the context of the conversation; 0 if not reported
        self._chunks: list[str] = []
        self._chunk_of: tuple[type[TextAdded | ThoughtAdded], str | None] = (TextAdded, None)
        self._calls: dict[str, AcpCall] = {}
        self._announced: dict[str, str] = {}  #: the calls that were reported, with their tools
        self._held: str = ""  #: the call whose input is still to come
        self._refused: set[str] = set()
        self._diffs: set[tuple[str, FileDiff]] = set()
        self._answer: list[str] = []
        self._settings: dict[str, str] = {}

    @property
    def answer(self) -> str:
        """Return what the agent has said since its last tool call."""
        return "\n\n".join(self._answer).strip()

    def begin_turn(self) -> None:
        self.has_failed = False
        self.turn_cost = 0
        self._answer.clear()
        self._calls.clear()
        self._announced.clear()
        self._diffs.clear()
        self._refused.clear()

    def read(self, update: Update) -> Iterator[Event]:
        """Return the events of one update."""
        match update:
            case AgentMessageChunk(content=TextContentBlock(text=text)):
                yield from self._collect(TextAdded, update.message_id, text)
            case AgentThoughtChunk(content=TextContentBlock(text=text)):
                yield from self._collect(ThoughtAdded, update.message_id, text)
            case ToolCallStart() | ToolCallProgress():
                yield from self._read_call(update)
            case AgentPlanUpdate():
                yield from self.flush()
                yield PlanChanged(tuple((each.content, each.status) for each in update.entries))
            case _:
                yield from self._read_state(update)

    def _read_state(self, update: Update) -> Iterator[Event]:
        match update:
            case CurrentModeUpdate(current_mode_id=mode):
                yield from self._note_setting("mode", mode)
            case ConfigOptionUpdate():
                yield from self._read_settings(update.config_options)
            case UsageUpdate():
                self.context = update.used
                yield from self._read_cost(update)
            case SessionInfoUpdate(field_meta=dict(meta)) if self._failure_sign:
                self.has_failed = self.has_failed or _holds(meta, self._failure_sign)
            case _:
                return

    def _read_settings(self, options: Iterable[Any] | None) -> Iterator[Event]:
        """Return what has changed in the agent's options."""
        for option in options or ():
            value = getattr(option, "current_value", None)
            for category in ("mode", "model"):
                if option.category == category and isinstance(value, str):
                    yield from self._note_setting(category, value)

    def note_setting(self, category: str, value: str) -> None:
        """Remember a setting that is known already: only a change of it is an event."""
        self._settings[category] = value

    def _note_setting(self, category: str, value: str) -> Iterator[Event]:
        if value and self._settings.get(category) != value:
            self._settings[category] = value
            if category == "model":
                yield ModelChanged(value)
            else:
                yield ModeChanged(self._modes.get(value, value))

    def _collect(
        self, kind: type[TextAdded | ThoughtAdded], message: str | None, text: str
    ) -> Iterator[Event]:
        if self._chunk_of != (kind, message):
            yield from self.flush()
            self._chunk_of = kind, message
        yield from self._announce_held()
        self._chunks.append(text)

    def flush(self) -> Iterator[Event]:
        """Return the text and the call that were held back."""
        yield from self._report_text("".join(self._chunks))
        self._chunks.clear()
        yield from self._announce_held()

    def flush_paragraphs(self) -> Iterator[Event]:
        """Return the whole paragraphs of a text that is still being written."""
        text = "".join(self._chunks)
        end = text.rfind("\n\n")
        if end > 0:
            self._chunks = [text[end + 2 :]]
            yield from self._report_text(text[:end])

    def _report_text(self, text: str) -> Iterator[Event]:
        kind, _ = self._chunk_of
        if text.strip():
            if kind is TextAdded:
                self._answer.append(text.strip("\n"))
            yield kind(text.strip("\n"))

    # -- Tool calls --------------------------------------------------------------------------

    def refuse(self, call_id: str) -> None:
        """Note that a call was refused: some agents do not report the end of it."""
        self._refused.add(call_id)

    def end_refused(self) -> Iterator[Event]:
        """Report the end of refused calls, once the agent goes on without doing so."""
        for call_id in sorted(self._refused):
            if tool := self._announced.get(call_id):
                self._announced[call_id] = ""
                yield ToolEnded(call_id, tool, "It was refused.", failed=True)
        self._refused.clear()

    def call(self, call_id: str) -> AcpCall:
        return self._calls.get(call_id) or AcpCall(call_id)

    def read_asked_call(self, update: ToolCallUpdate) -> Iterator[Event]:
        """Read a call for which the agent asks for permission."""
        yield from self._begin_call(self._merge(update))

    def _read_call(self, update: ToolCallStart | ToolCallProgress) -> Iterator[Event]:
        is_new = update.tool_call_id not in self._calls
        call = self._merge(update)
        # The input of a call that was announced before its input was written is in the next
        # update of it.
        if is_new and call.status == "pending":
            yield from self.flush()
            self._held = call.call_id
            return
        yield from self._begin_call(call)
        if call.status in {"completed", "failed"}:
            yield from self._end_call(call)

    def _merge(self, update: CallUpdate) -> AcpCall:
        call = self._calls[update.tool_call_id] = merged(self.call(update.tool_call_id), update)
        return call

    def _begin_call(self, call: AcpCall) -> Iterator[Event]:
        if self._held == call.call_id:
            self._held = ""
        if call.call_id not in self._announced:
            yield from self.flush()
            use = self._name_tool(call)
            self._announced[call.call_id] = use.tool
            self._answer.clear()
            yield ToolBegan(call.call_id, use.tool, use.input)
        for diff in call.diffs:
            if (call.call_id, diff) not in self._diffs:
                self._diffs.add((call.call_id, diff))
                yield FileChanged(diff.path, unified(diff), call.call_id)

    def _end_call(self, call: AcpCall) -> Iterator[Event]:
        tool = self._announced[call.call_id]
        if tool:
            # An update that repeats the end of a call reports nothing.
            self._announced[call.call_id] = ""
            is_failed = call.status == "failed"
            yield ToolEnded(call.call_id, tool, bounded(result_of(call)), is_failed)

    def _announce_held(self) -> Iterator[Event]:
        if self._held:
            yield from self._begin_call(self._calls[self._held])

    # -- Costs -------------------------------------------------------------------------------

    def _read_cost(self, update: UsageUpdate) -> Iterator[Event]:
        """Report what was spent since the last total.

        A total below the last one has begun anew. A total of 0 is that of a model whose price
        is unknown.
        """
        if update.cost is None or update.cost.currency != "USD":
            return
        if not 0 <= update.cost.amount <= MAX_DOLLARS:  # no number, or none that can be true
            return
        total = in_micro_dollars(update.cost.amount)
        self.reports_cost = self.reports_cost or total > 0
        added = total - self._total_cost if total >= self._total_cost else total
        self._total_cost = total
        self.turn_cost += added
        if added:
            yield Used(0, 0, added, total)


def _holds(meta: Mapping[str, Any], sign: tuple[str, ...]) -> bool:
    """Return whether the value at a path is the one that the path ends with."""
    *path, wanted = sign
    value: object = meta
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value == wanted
