"""Turn what Codex's app-server reports about a thread into events. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from rookery.agents.codex.driver.items import changed_files, has_failed, result_of, tool_use
from rookery.drivers.events import (
    Event,
    ModelChanged,
    Noticed,
    PlanChanged,
    PromptTaken,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Used,
)
from rookery.drivers.json_fields import Fields, fields_of

#: Prompts with this id are Rookery's own notes to the model, not messages.
NOTE_ID = "rookery-note"


class CodexEvents:
    """Reads the notifications of one thread, and of the subagents that it starts."""

    def __init__(self, thread: str) -> None:
        self.turn = ""  #: the id of the turn that runs; empty between turns
        self._last_turn = ""  #: the id of the last turn that is over
        self._thread = thread
        self._sent: dict[str, str] = {}  #: texts that Codex has not repeated, by their ids
        self._accepted: set[str] = set()  #: the ids of those that it has accepted
        self._has_prompt = False  #: the prompt of this turn is reported
        self._text = ""  #: the last text since the last tool call
        self._tools: dict[str, ToolBegan] = {}
        self._totals: tuple[int, int] | None = None
        self._readers: Mapping[str, Callable[[Fields], Iterator[Event]]] = {
            "turn/started": self._turn_started,
            "item/started": self._item_started,
            "item/completed": self._item_completed,
            "turn/plan/updated": self._plan_updated,
            "thread/tokenUsage/updated": self._tokens_updated,
            "error": self._error,
            "model/rerouted": self._model_rerouted,
            "warning": self._warning,
            "turn/completed": self._turn_completed,
        }

    def expect(self, prompt: str, text: str) -> None:
        """Note a prompt that is being passed, and the id under which Codex repeats it."""
        self._sent[prompt] = text

    def accept(self, prompt: str, turn: str) -> None:
        """Note that Codex has accepted a prompt, and in which turn."""
        if turn != self._last_turn:  # an interruption may overtake the answer to a prompt
            self.turn = turn
        if prompt in self._sent:
            self._accepted.add(prompt)

    def forget(self, prompt: str) -> None:
        """Note that Codex has refused a prompt."""
        self._sent.pop(prompt, None)

    def read(self, method: str, params: Fields) -> Iterator[Event]:
        """Yield the events that a notification reports."""
        reader = self._readers.get(method)
        thread = params.get("threadId")
        if reader and thread == self._thread:
            yield from reader(params)
        elif reader and isinstance(thread, str) and method in _OF_SUBAGENTS:
            yield from self._of_subagent(thread, reader(params))

    def _of_subagent(self, thread: str, events: Iterator[Event]) -> Iterator[Event]:
        """Keep the tool calls of a subagent; its texts are not the session's answer."""
        text = self._text
        for event in events:
            match event:
                case ToolBegan(call, tool, given):
                    yield ToolBegan(call, tool, given, thread)
                case ToolEnded(call, tool, result, failed):
                    yield ToolEnded(call, tool, result, failed, thread)
                case _:
                    pass
        self._text = text

    def _turn_started(self, params: Fields) -> Iterator[Event]:
        match params:
            case {"turn": {"id": str(turn)}}:
                self.turn, self._has_prompt, self._text = turn, False, ""
            case _:
                pass
        return iter(())

    def _item_started(self, params: Fields) -> Iterator[Event]:
        item = fields_of(params.get("item"))
        if item.get("type") == "userMessage":
            yield from self._prompt_taken(item)
        elif (use := tool_use(item)) and isinstance(call := item.get("id"), str):
            self._text = ""
            began = self._tools[call] = ToolBegan(call, use.tool, use.input)
            yield began

    def _prompt_taken(self, item: Fields) -> Iterator[Event]:
        prompt = item.get("clientId")
        if prompt == NOTE_ID:
            return
        known = self._sent.pop(prompt, None) if isinstance(prompt, str) else None
        self._accepted.discard(str(prompt))
        text = _text_of(item.get("content")) if known is None else known
        yield PromptTaken(text, is_steering=self._has_prompt)
        self._has_prompt, self._text = True, ""

    def _item_completed(self, params: Fields) -> Iterator[Event]:
        item = fields_of(params.get("item"))
        match item:
            case {"type": "agentMessage" | "plan", "text": str(text)} if text:
                self._text = text
                yield TextAdded(text)
            case {"type": "reasoning"}:
                if thought := _thought(item):
                    yield ThoughtAdded(thought)
            case {"type": "contextCompaction"}:
                yield Noticed("compaction", "The conversation was compacted.")
            case {"id": str(call)} if tool_use(item):
                yield from self._tool_ended(call, item)
            case _:
                pass

    def _tool_ended(self, call: str, item: Fields) -> Iterator[Event]:
        if call not in self._tools:
            yield from self._item_started({"item": item})
        began = self._tools.pop(call)
        if item.get("status") == "completed":
            yield from changed_files(item)
        yield ToolEnded(call, began.tool, result_of(item), has_failed(item))

    def _plan_updated(self, params: Fields) -> Iterator[Event]:
        plan = params.get("plan")
        steps = plan if isinstance(plan, list) else ()
        yield PlanChanged(
            tuple(
                (each["step"], each["status"])
                for each in steps
                if isinstance(each, dict)
                and isinstance(each.get("step"), str)
                and isinstance(each.get("status"), str)
            )
        )

    def _tokens_updated(self, params: Fields) -> Iterator[Event]:
        """Yield what was used since the last report.

        A resumed or forked thread begins with a report of what was used before.
        """
        match params.get("tokenUsage"):
            case {
                "total": {"inputTokens": int(all_in), "outputTokens": int(all_out)},
                "last": {"inputTokens": int(last_in), "outputTokens": int(last_out)},
            }:
                before, self._totals = self._totals, (all_in, all_out)
                if not self.turn or params.get("turnId") != self.turn:
                    return
                used_in = all_in - before[0] if before else last_in
                used_out = all_out - before[1] if before else last_out
                if used_in > 0 or used_out > 0:
                    context = last_in + last_out
                    yield Used(max(used_in, 0), max(used_out, 0), context=context)
            case _:
                return

    def _error(self, params: Fields) -> Iterator[Event]:
        # The final error is repeated at the end of the turn.
        if params.get("willRetry"):
            yield Noticed("retry", error_text(params.get("error")))

    def _model_rerouted(self, params: Fields) -> Iterator[Event]:
        if isinstance(model := params.get("toModel"), str):
            yield ModelChanged(model)

    def _warning(self, params: Fields) -> Iterator[Event]:
        if isinstance(text := params.get("message"), str):
            yield Noticed("warning", text)

    def _turn_completed(self, params: Fields) -> Iterator[Event]:
        turn = fields_of(params.get("turn"))
        if turn.get("id") != self.turn:
            return
        yield from self._unreported_prompts()
        match turn.get("status"):
            case "completed":
                yield self._over(TurnOver(self._text))
            case "interrupted":
                yield self._over(TurnOver(self._text, "interrupted"))
            case _:
                reason = error_text(turn.get("error"))
                yield self._over(TurnOver(self._text, "failed", reason))

    def _unreported_prompts(self) -> Iterator[Event]:
        """Yield prompts that Codex accepted and never repeated, as after an interruption."""
        for prompt in [each for each in self._sent if each in self._accepted]:
            yield PromptTaken(self._sent.pop(prompt), is_steering=self._has_prompt)
            self._has_prompt = True
        self._accepted.clear()

    def _over(self, over: TurnOver) -> TurnOver:
        self._last_turn = self.turn
        self.turn, self._has_prompt, self._text = "", False, ""
        self._tools.clear()
        return over

    def end(self, how: TurnOver) -> Iterator[Event]:
        """Yield the end of a turn that the end of the program cuts off."""
        if self.turn and self._has_prompt:
            yield self._over(how)


#: Notifications about subagents that are reported, as far as they are about tool calls.
_OF_SUBAGENTS = frozenset({"item/started", "item/completed"})


def error_text(error: object) -> str:
    """Return an error of Codex in a sentence, with the kind of error that it names."""
    match error:
        case {"message": str(message), **rest} if message:
            details = rest.get("additionalDetails")
            more = f" {details}" if isinstance(details, str) and details else ""
            kind = _kind(rest.get("codexErrorInfo"))
            return f"{message}{more}{f' ({kind})' if kind else ''}"
        case _:
            return "Codex reported an error without a text."


def _kind(info: object) -> str:
    match info:
        case str():
            return info
        case {"httpConnectionFailed": {"httpStatusCode": int(status)}}:
            return f"HTTP status {status}"
        case {**kinds} if kinds:
            return str(next(iter(kinds)))
        case _:
            return ""


def _thought(item: Fields) -> str:
    for name in ("summary", "content"):
        parts = item.get(name)
        if isinstance(parts, list) and parts:
            return "\n\n".join(each for each in parts if isinstance(each, str))
    return ""


def _text_of(content: object) -> str:
    blocks = content if isinstance(content, list) else ()
    texts = (each.get("text") for each in blocks if isinstance(each, dict))
    return "".join(each for each in texts if isinstance(each, str))
