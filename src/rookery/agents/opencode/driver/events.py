"""Convert the events of an OpenCode server to those of a driver. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from rookery.agents.opencode.driver.tool_results import read_end
from rookery.drivers.events import (
    Asked,
    Event,
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
from rookery.model.money import in_micro_dollars

#: The tool that asks the user questions.
QUESTION = "question"

#: The name of the error that OpenCode reports for an interrupted turn.
_ABORTED = "MessageAbortedError"

_ABORTED_BY_ITSELF = (
    "OpenCode aborted the turn, though it was not interrupted (MessageAbortedError). If it does"
    " so again, end the session and resume it."
)


class OpenCodeEvents:
    """Reads the events of one conversation, and of the subagents below it."""

    def __init__(self, session: str) -> None:
        self.is_in_turn = False
        self.turn = 0  #: how many turns are over
        self._is_abort_expected = False
        self._session = session
        self._subagents: set[str] = set()
        self._sent: list[str] = []  #: prompts that OpenCode has not repeated yet
        self._prompts: set[str] = set()  #: the ids of the user's messages
        self._unanswered: set[str] = set()  #: the prompts that no answer refers to
        self._calls: dict[str, ToolBegan] = {}  #: tool calls that were reported, by id
        self._finished: set[str] = set()  #: the ids of what needs no further report
        self._diffs: dict[str, str] = {}  #: the file changes that were asked about, by call
        self._text = ""  #: the last text since the last tool call
        self._error: TurnOver | None = None
        self._readers: Mapping[str, Callable[[Fields], Iterator[Event]]] = {
            "message.updated": self._message_updated,
            "message.part.updated": self._part_updated,
            "todo.updated": self._todo_updated,
            "session.status": self._status_changed,
            "session.error": self._failed,
            "session.idle": self._idle,
        }

    def expect(self, text: str) -> None:
        """Note a prompt that is being sent."""
        self._sent.append(text)

    def forget(self, text: str) -> None:
        """Note that OpenCode has refused a prompt."""
        if text in self._sent:
            self._sent.remove(text)

    def take(self, text: str) -> Iterator[Event]:
        """Report a prompt that OpenCode has accepted, if it has not repeated it yet."""
        if text in self._sent:
            self._sent.remove(text)
            yield from self._prompt_taken(text)

    @property
    def has_prompt(self) -> bool:
        """Return whether a turn has begun, or is about to."""
        return self.is_in_turn or bool(self._sent)

    def expect_abort(self) -> None:
        """Note that the turn is being aborted at Rookery's request."""
        self._is_abort_expected = True

    def read(self, kind: str, properties: Fields) -> Iterator[Event]:
        """Yield the events that an event of the server reports."""
        if kind == "session.created":
            self._note_subagent(properties)
        session = properties.get("sessionID")
        if session == self._session and (reader := self._readers.get(kind)):
            yield from reader(properties)
        elif session in self._subagents and kind == "message.part.updated":
            yield from self._subagent_part(str(session), properties)

    def asked(self, kind: str, properties: Fields) -> Asked | None:
        """Return what OpenCode asks; ``None`` if that cannot be answered."""
        session, request = properties.get("sessionID"), properties.get("id")
        if not isinstance(session, str) or not isinstance(request, str):
            return None
        subagent = "" if session == self._session else session
        if subagent:
            # A server has one conversation. It does not report that it continues a subagent
            # of before a resume.
            self._subagents.add(subagent)
        call = str(fields_of(properties.get("tool")).get("callID") or "")
        if kind == "question.asked":
            given = {"questions": properties.get("questions") or []}
            return Asked(request, QUESTION, given, call, subagent)
        details = fields_of(properties.get("metadata"))
        if isinstance(diff := details.get("diff"), str):
            self._diffs[call] = diff
        if known := self._calls.get(call):
            return Asked(request, known.tool, known.input, call, subagent)
        tool = str(properties.get("permission") or "")
        given = {**details, "patterns": properties.get("patterns")}
        return Asked(request, tool, given, call, subagent)

    def _note_subagent(self, properties: Fields) -> None:
        info = fields_of(properties.get("info"))
        parent = info.get("parentID")
        if parent == self._session or parent in self._subagents:
            self._subagents.add(str(info.get("id")))

    def _message_updated(self, properties: Fields) -> Iterator[Event]:
        match properties.get("info"):
            case {"role": "user", "id": str(message)}:
                if message not in self._prompts:
                    self._prompts.add(message)
                    self._unanswered.add(message)
            case {"role": "assistant", "id": str(message), "parentID": str(parent), **rest}:
                self._unanswered = {each for each in self._unanswered if each > parent}
                # OpenCode repeats the error after the end of the turn.
                if (error := rest.get("error")) and message not in self._finished:
                    self._finished.add(message)
                    self._note_error(error)
            case _:
                pass
        return iter(())

    def _part_updated(self, properties: Fields) -> Iterator[Event]:
        part = fields_of(properties.get("part"))
        is_users = part.get("messageID") in self._prompts
        match part:
            case {"type": "text", "text": str(text)} if is_users:
                if text in self._sent:
                    yield from self.take(text)
            case {"type": "text" | "reasoning", "id": str(number), "time": {"end": _}}:
                yield from self._text_ended(number, part)
            case {"type": "tool", "callID": str(call), "state": {"status": str()}}:
                yield from self._tool_changed(call, part)
            case {"type": "step-finish", "id": str(number)}:
                yield from self._step_ended(number, part)
            case _:
                pass

    def _text_ended(self, number: str, part: Fields) -> Iterator[Event]:
        text = part.get("text")
        if number in self._finished or not isinstance(text, str) or not text:
            return
        self._finished.add(number)
        if part["type"] == "reasoning":
            yield ThoughtAdded(text)
        else:
            self._text = text
            yield TextAdded(text)

    def _tool_changed(self, call: str, part: Fields) -> Iterator[Event]:
        state = part["state"]
        if state["status"] == "pending" or call in self._finished:
            return  # its input is not known yet, or its end was reported
        if call not in self._calls:
            began = ToolBegan(call, str(part.get("tool")), fields_of(state.get("input")))
            self._calls[call] = began
            self._text = ""
            yield began
        if state["status"] in {"completed", "error"}:
            self._finished.add(call)
            yield from read_end(self._calls[call], state, self._diffs.pop(call, ""))

    def _subagent_part(self, session: str, properties: Fields) -> Iterator[Event]:
        """Yield the tool calls of a subagent, and what it used.

        Its texts are not the session's answer, and its context is not the conversation's.
        """
        text = self._text
        part = fields_of(properties.get("part"))
        match part:
            case {"type": "tool", "callID": str(call), "state": {"status": str()}}:
                for event in self._tool_changed(call, part):
                    match event:
                        case ToolBegan(_, tool, given):
                            yield ToolBegan(call, tool, given, session)
                        case ToolEnded(_, tool, result, failed):
                            yield ToolEnded(call, tool, result, failed, session)
                        case _:
                            yield event
            case {"type": "step-finish", "id": str(number)}:
                for event in self._step_ended(number, part):
                    yield replace(event, context=0)
            case _:
                pass
        self._text = text

    def _step_ended(self, number: str, part: Fields) -> Iterator[Used]:
        """Yield what one request to the model used."""
        match part.get("tokens"):
            case {
                "input": int(fresh),
                "output": int(written),
                "reasoning": int(thought),
                "cache": {"read": int(read), "write": int(kept)},
            } if number not in self._finished:
                self._finished.add(number)
                cost = part.get("cost")
                # OpenCode reports a cost of 0 for a model whose price is unknown.
                is_known = isinstance(cost, int | float) and cost > 0
                micro = in_micro_dollars(cost) if is_known and cost else None
                used_in, used_out = fresh + read + kept, written + thought
                yield Used(used_in, used_out, micro, context=used_in + used_out)
            case _:
                return

    def _todo_updated(self, properties: Fields) -> Iterator[Event]:
        todos = properties.get("todos")
        steps = todos if isinstance(todos, list) else ()
        yield PlanChanged(
            tuple(
                (each["content"], str(each.get("status")))
                for each in steps
                if isinstance(each, dict) and isinstance(each.get("content"), str)
            )
        )

    def _status_changed(self, properties: Fields) -> Iterator[Event]:
        match properties.get("status"):
            case {"type": "retry", "message": str(message)}:
                yield Noticed("retry", message)
            case _:
                return

    def _failed(self, properties: Fields) -> Iterator[Event]:
        error = properties.get("error")
        self._note_error(error)
        # What a prompt needs, such as its agent, may be missing before its turn begins.
        is_prompt = self._sent and not self.is_in_turn
        if is_prompt and fields_of(error).get("name") != _ABORTED:
            yield from self.take(self._sent[0])
            yield self._over(TurnOver(how="failed", reason=error_text(error)))

    def _note_error(self, error: object) -> None:
        if not self.is_in_turn:
            return
        is_aborted = fields_of(error).get("name") == _ABORTED
        if is_aborted and self._is_abort_expected:
            self._error = TurnOver(how="interrupted")
        elif is_aborted:
            self._error = TurnOver(how="failed", reason=_ABORTED_BY_ITSELF)
        elif self._error is None:
            self._error = TurnOver(how="failed", reason=error_text(error))

    def _idle(self, properties: Fields) -> Iterator[Event]:
        if self._unanswered and self._error is None:
            return  # a prompt came too late for this turn: OpenCode continues with it
        if self.is_in_turn:
            yield self._over(self._error or TurnOver(self._text))

    def _prompt_taken(self, text: str) -> Iterator[Event]:
        yield PromptTaken(text, is_steering=self.is_in_turn)
        self.is_in_turn, self._text = True, ""

    def _over(self, over: TurnOver) -> TurnOver:
        self.is_in_turn, self._text, self._error = False, "", None
        self.turn += 1
        self._is_abort_expected = False
        self._unanswered.clear()
        return over

    def end(self, how: TurnOver) -> Iterator[Event]:
        """Yield the end of a turn that the end of the program cuts off."""
        if self.is_in_turn:
            yield self._over(how)


def error_text(error: object) -> str:
    """Return an error of OpenCode in a sentence."""
    match error:
        case {"name": str(name), "data": {"message": str(message)}} if message:
            return f"{message} ({name})"
        case {"name": str(name)}:
            return f"OpenCode reported the error {name}."
        case _:
            return "OpenCode reported an error without a text."
