"""A turn: the steps of a prompt, one effect after the other. Pure."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import assert_never
from uuid import uuid4

from rookery.programs.demo import dialog, script
from rookery.programs.demo.effects import (
    Ask,
    Await,
    Consult,
    Die,
    Effect,
    Effects,
    Fields,
    Grow,
    Leave,
    Print,
    Record,
    Tell,
    Wait,
)
from rookery.programs.demo.hooks import Decision, HookCall, Ruling
from rookery.programs.demo.screen import Block, BlockKind

#: Times a Stop hook may make a turn go on, as in Claude Code.
MOST_CONTINUATIONS = 8

_WORD = re.compile(r"\s*\S+")

#: Effects, and whether the turn goes on after them.
_Part = Generator[Effect, Decision, bool]


@dataclass(slots=True)
class Manner:
    """How turns of a session go; steps and answers change it."""

    mode: str  #: of permissions
    pace: float = 0  #: words a second; 0 is all at once
    allowed: set[str] = field(default_factory=set)  #: tools that need not ask again

    def lets(self, tool: str) -> bool:
        return self.mode.startswith("bypass") or tool in self.allowed


@dataclass(frozen=True, slots=True)
class Prompt:
    id: str
    text: str  #: as submitted
    shown: str  #: as it stood in the box

    def fields(self, mode: str) -> dict[str, object]:
        """Return what every event of its turn says."""
        return {"prompt_id": self.id, "permission_mode": mode}


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool that is called."""

    name: str
    text: str
    input: Fields
    id: str = field(default_factory=lambda: f"toolu_{uuid4().hex}")

    def numbered(self) -> Fields:
        return {**self.unnumbered(), "tool_use_id": self.id}

    def unnumbered(self) -> Fields:
        """Return what a permission request says, which has no number of the call."""
        return {"tool_name": self.name, "tool_input": self.input}


class Turn:
    def __init__(self, prompt: Prompt, manner: Manner) -> None:
        self._prompt = prompt
        self._manner = manner
        self._last_words = ""

    def effects(self, submitted: HookCall) -> Effects:
        """Take up the prompt, whose hook was told already, and bring it to its end."""
        yield Print(Block(BlockKind.PROMPT, self._prompt.shown))
        yield Record("user", self._prompt.text)
        decision = yield Await(submitted)
        if decision.ruling is Ruling.BLOCK:
            yield Print(Block(BlockKind.RESULT, f"Blocked: {decision.text or 'by a hook'}"))
            return
        words = self._prompt.text
        for count in range(MOST_CONTINUATIONS + 1):
            if not (yield from self._follow(words)):
                return
            decision = yield self._stop(is_continued=count > 0)
            if decision.ruling is not Ruling.BLOCK:
                return
            words = decision.text

    def _follow(self, words: str) -> _Part:
        for step in script.read(words):
            if not (yield from self._take(step)):
                return False
        return True

    def _take(self, step: script.Step) -> _Part:
        match step:
            case script.Say(text):
                yield from self._say(text)
            case script.Tool():
                return (yield from self._call(step))
            case script.Question():
                return (yield from self._question(step))
            case script.Sleep(seconds):
                yield Wait(seconds)
            case script.Slow(pace):
                self._manner.pace = pace
            case script.Fail() | script.Exit() | script.Crash():
                yield from self._break_off(step)
                return False
            case _:
                assert_never(step)
        return True

    def _say(self, text: str) -> Effects:
        if self._manner.pace:
            for word in _WORD.finditer(text):
                yield Grow(text[: word.end()])
                yield Wait(1 / self._manner.pace)
        yield Print(Block(BlockKind.WORDS, text))
        yield Record("assistant", text)
        self._last_words = text

    def _break_off(self, step: script.Fail | script.Exit | script.Crash) -> Effects:
        match step:
            case script.Fail(error):
                yield Print(Block(BlockKind.RESULT, f"Error: {error}"))
                words = {"error": error, "last_assistant_message": self._last_words}
                yield Tell("StopFailure", self._fields(words))
            case script.Exit(code):
                yield Leave(code)
            case script.Crash():
                yield Die()
            case _:
                assert_never(step)

    def _call(self, step: script.Tool) -> _Part:
        call = _Call(step.name, step.text, {"command": step.text})
        decision = yield from self._announce(call)
        if self._must_ask(step, decision):
            asked = dialog.permission(step.name, step.text)
            decision = yield Ask(asked, self._fields(call.unnumbered()))
        if decision.ruling is Ruling.ALWAYS:
            self._manner.allowed.add(step.name)
        return (yield from self._conclude(call, decision, "ok", {"stdout": "ok"}))

    def _must_ask(self, step: script.Tool, decision: Decision) -> bool:
        match decision.ruling:
            case Ruling.ASK:
                return True
            case Ruling.ALLOW | Ruling.DENY:
                return False
            case _:
                return step.asks and not self._manner.lets(step.name)

    def _question(self, step: script.Question) -> _Part:
        labels = [{"label": label} for label in step.options]
        asked = {"questions": [{"question": step.text, "options": labels}]}
        call = _Call("AskUserQuestion", step.text, asked)
        decision = yield from self._announce(call)
        if decision.ruling is not Ruling.DENY:
            question = dialog.question(step.text, step.options)
            decision = yield Ask(question, self._fields(call.unnumbered()))
        answers = {"answers": {step.text: decision.text}}
        goes_on = yield from self._conclude(call, decision, decision.text, answers)
        if decision.ruling is Ruling.ALLOW:
            yield from self._say(f"You chose {decision.text}")
        return goes_on

    def _announce(self, call: _Call) -> Generator[Effect, Decision, Decision]:
        yield Print(Block(BlockKind.WORDS, f"{call.name}({call.text})"))
        return (yield Consult("PreToolUse", self._fields(call.numbered())))

    def _conclude(
        self, call: _Call, decision: Decision, result: str, response: Fields
    ) -> _Part:
        """Show what became of a call, and tell it if it was made."""
        match decision.ruling:
            case Ruling.REFUSE:
                yield from self._refuse()
                return False
            case Ruling.DENY:
                yield Print(Block(BlockKind.RESULT, f"Denied: {decision.text or 'by a hook'}"))
            case _:
                yield Print(Block(BlockKind.RESULT, result))
                fields = {**call.numbered(), "tool_response": response}
                yield Tell("PostToolUse", self._fields(fields))
        return True

    def _refuse(self) -> Effects:
        yield Print(Block(BlockKind.RESULT, "Refused"))
        yield Record("interrupted", "")
        yield Tell("Interrupt", self._fields({"reason": "refused"}))

    def _stop(self, *, is_continued: bool) -> Consult:
        fields = {
            "stop_hook_active": is_continued,
            "last_assistant_message": self._last_words,
            "background_tasks": [],
        }
        return Consult("Stop", self._fields(fields))

    def _fields(self, own: Fields) -> Fields:
        return {**self._prompt.fields(self._manner.mode), **own}
