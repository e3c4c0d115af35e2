"""Turn the messages of a driven Claude Code into events. Pure: no input or output.

As of 2.1.325. A message that is not understood is ignored: newer versions add kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from rookery.agents.claude.driver import content
from rookery.agents.claude.driver.content import Frame
from rookery.agents.claude.driver.notices import notice
from rookery.drivers.events import (
    Event,
    ModeChanged,
    ModelChanged,
    Noticed,
    PromptTaken,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    TurnOver,
)

#: The prompt of a turn that the agent begins by itself, for a reason that it does not report.
UNPROMPTED = "It continues by itself."

#: How the conversation records an interruption, also one that comes while hooks run after the
#: answer: its result names no abortion.
_INTERRUPTED = "[Request interrupted by user"


class MessageReader:
    """Follows a conversation from its messages: which prompt began which turn, and its end.

    Every turn that begins is ended once. A turn is over when the agent says that it is idle: a
    result that comes while background agents run is a pause, and their reports continue it.
    """

    def __init__(self, earlier_cost: int = 0) -> None:
        """``earlier_cost`` is the agent's total before this start, in micro-dollars."""
        self.is_in_turn = False
        self.is_over_budget = False
        self.failure = ""  #: the reason of an error outside a turn, such as a refused resume
        self.inputs: dict[str, Mapping[str, Any]] = {}  #: of the tools that run, by call
        self._prompts: dict[str, str] = {}  #: sent, and in no turn yet
        self._tools: dict[str, str] = {}
        self._stop: TurnOver | None = None  #: how the turn is over once the agent is idle
        self._is_interrupted = False
        self._state = self._model = self._mode = self._text = self._report = ""
        self._total_cost = earlier_cost
        self._context = 0

    def note_prompt(self, id_: str, text: str) -> None:
        """Remember a prompt that is about to be sent."""
        self._prompts[id_] = text

    def note_interrupt(self) -> None:
        """Mark a turn as interrupted that only waits for background agents."""
        if self._stop:
            self._stop = structs.replace(self._stop, how="interrupted")

    def forget_prompt(self, id_: str) -> None:
        self._prompts.pop(id_, None)

    def end(self, reason: str) -> Iterator[Event]:
        """End the turn that runs, because the program has ended."""
        if self.is_in_turn:
            cut_off = TurnOver(self._text, "failed", reason, fails_session=True)
            self._stop = self._stop or cut_off
            yield from self._finish()

    def read(self, frame: Frame) -> Iterable[Event]:
        """Return the events that a message reports."""
        # The kind first: a pattern for each whole message takes longer than all the rest.
        match frame.get("type"):
            case "assistant":
                return self._read_text(frame) or self._read_answer(frame)
            case "user":
                return self._read_results(frame)
            case "result":
                return self._read_stop(frame)
            case _:
                return self._read_state(frame)

    def _read_state(self, frame: Frame) -> Iterator[Event]:
        match frame:
            case {"type": "command_lifecycle", "command_uuid": str(id_), "state": str(state)}:
                yield from self._read_lifecycle(id_, state)
            case {"type": "system", "subtype": "session_state_changed", "state": str(state)}:
                self._state = state
                if state == "idle":
                    yield from self._finish()
            case _:
                yield from self._read_rest(frame)

    def _read_lifecycle(self, id_: str, state: str) -> Iterator[Event]:
        if id_ not in self._prompts:
            return
        if state == "started":
            yield from self._begin(self._prompts.pop(id_))
        elif state in ("cancelled", "discarded"):
            yield Noticed("prompt-dropped", self._prompts.pop(id_))

    def _begin(self, prompt: str) -> Iterator[Event]:
        yield from self._finish()
        yield PromptTaken(prompt, is_steering=self.is_in_turn)
        self.is_in_turn = True

    def _begin_unprompted(self) -> Iterator[Event]:
        """Begin a turn, if none runs, that a background command or a schedule has caused."""
        if not self.is_in_turn:
            yield from self._begin(self._report or UNPROMPTED)
        self._stop = None
        self._report = ""

    def _finish(self) -> Iterator[Event]:
        """End the turn if it has stopped."""
        stop, self._stop = self._stop, None
        if stop and self.is_in_turn:
            self.is_in_turn = self._is_interrupted = False
            self._text = ""
            self._tools.clear()
            self.inputs.clear()
            yield stop

    def _read_text(self, frame: Frame) -> Sequence[Event]:
        """Read a message of the running turn that is only a text; nothing if it is another."""
        text = content.only_text(frame)
        if not (text and self.is_in_turn) or _subagent(frame) or frame.get("error"):
            return ()
        self._context = content.context(frame) or self._context
        self._text, self._report, self._stop = text, "", None
        return (TextAdded(text),)

    def _read_answer(self, frame: Frame) -> Iterator[Event]:
        subagent = _subagent(frame)
        if not subagent:
            self._context = content.context(frame) or self._context
            yield from self._begin_unprompted()
        for block in content.blocks(frame):
            match block:
                case {"type": "text", "text": str(text)} if not (
                    subagent or frame.get("error")
                ):
                    self._text = text
                    yield TextAdded(text)
                case {"type": "thinking", "thinking": str(text)} if text and not subagent:
                    yield ThoughtAdded(text)
                case {"type": "tool_use", "id": str(id_), "name": str(tool)}:
                    yield self._begin_tool(id_, tool, block.get("input"), subagent)

    def _begin_tool(self, id_: str, tool: str, given: object, subagent: str) -> ToolBegan:
        arguments = given if isinstance(given, dict) else {}
        self._tools[id_], self.inputs[id_] = tool, arguments
        if not subagent:
            self._text = ""  # the answer of a turn is what follows its last tool
        return ToolBegan(id_, tool, arguments, subagent)

    def _read_results(self, frame: Frame) -> Iterator[Event]:
        subagent = _subagent(frame)
        if printed := content.printed_text(frame):
            self._text = printed
            yield TextAdded(printed)
        for block in content.blocks(frame):
            match block:
                case {"type": "text", "text": str(text)} if text.startswith(_INTERRUPTED):
                    self._is_interrupted |= not subagent
                case {"type": "tool_result", "tool_use_id": str(id_)}:
                    result = content.result_text(block.get("content"))
                    failed = block.get("is_error") is True
                    tool = self._tools.pop(id_, "")
                    self.inputs.pop(id_, None)
                    yield ToolEnded(id_, tool, result, failed, subagent)
                    yield from content.changed_file(id_, frame.get("tool_use_result"))

    def _read_stop(self, frame: Frame) -> Iterator[Event]:
        is_error = frame.get("is_error") is True
        if is_error and not (self.is_in_turn or self._prompts):
            self.failure = content.failure(frame)
            return
        yield from self._begin_unprompted()
        if used := content.used(frame, self._total_cost):
            self._total_cost = used.total_cost or self._total_cost
            yield structs.replace(used, context=self._context)
        self._stop = self._stop_of(frame, is_error=is_error)
        self.is_over_budget |= frame.get("terminal_reason") == "budget_exhausted"
        if self._stop.how != "finished" or self._state != "running":
            yield from self._finish()

    def _stop_of(self, frame: Frame, *, is_error: bool) -> TurnOver:
        is_aborted = str(frame.get("terminal_reason")).startswith("aborted")
        if is_aborted or self._is_interrupted:
            return TurnOver(self._text, "interrupted")
        if is_error:
            return TurnOver("", "failed", content.failure(frame))
        return TurnOver(self._answer(frame))

    def _answer(self, frame: Frame) -> str:
        text = frame.get("result")
        return text if isinstance(text, str) and text else self._text

    def _read_rest(self, frame: Frame) -> Iterator[Event]:
        match frame:
            case {"type": "system", "subtype": "init"}:
                yield from self._read_settings(frame)
            case {"type": "system", "subtype": "status", "permissionMode": str(mode)}:
                yield from self._change_mode(mode)
            case {"type": "conversation_reset"}:
                self._total_cost = self._context = 0
            case {"type": "system", "subtype": "task_notification", "summary": str(summary)}:
                self._report = summary
        if noticed := notice(frame):
            yield noticed

    def _read_settings(self, frame: Frame) -> Iterator[Event]:
        """Read the model and the mode, which each turn repeats."""
        match frame:
            case {"model": str(model)} if model != self._model:
                self._model = model
                yield ModelChanged(model)
        match frame:
            case {"permissionMode": str(mode)}:
                yield from self._change_mode(mode)

    def _change_mode(self, mode: str) -> Iterator[Event]:
        if mode != self._mode:
            self._mode = mode
            yield ModeChanged(mode)


def _subagent(frame: Frame) -> str:
    """Return the id of the subagent that a message comes from; empty for the main agent."""
    return str(frame.get("agent_id") or frame.get("parent_tool_use_id") or "")
