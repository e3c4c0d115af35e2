"""A turn: runs the script of a prompt, step by step, and waits where it must.

A turn is a generator. It yields what it waits for and receives the decision.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import assert_never
from uuid import uuid4

from rookery.programs.demo import dialog, script
from rookery.programs.demo.dialog import ChoiceDialog
from rookery.programs.demo.hooks import Decision, HookCall, Ruling
from rookery.programs.demo.screen import PrintedKind
from rookery.programs.demo.session import CRASH, DemoSession, ExitStatus, HookFields, Pause

#: How often a Stop hook may continue a turn, as in Claude Code.
MAX_CONTINUATIONS = 8

_WORD = re.compile(r"\s*\S+")

#: A wait that ends at once, so that the keyboard is read in between.
NO_PAUSE = Pause(0)

Wait = Pause | HookCall | ChoiceDialog
Steps = Generator[Wait, Decision, None]
#: Returns whether the turn continues.
_TurnPart = Generator[Wait, Decision, bool]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that was submitted; its UserPromptSubmit hook is running."""

    text: str
    shown: str  #: as the input box showed it
    hook_fields: HookFields  #: in the payload of every hook of the turn
    submitted: HookCall


def submit(session: DemoSession, text: str, shown: str) -> Prompt:
    fields = {"prompt_id": str(uuid4()), "permission_mode": session.mode}
    call = session.run_hooks("UserPromptSubmit", {**fields, "prompt": text})
    return Prompt(text, shown, fields, call)


class ScriptedTurn:
    def __init__(self, session: DemoSession, prompt: Prompt) -> None:
        self._session = session
        self._prompt = prompt
        self._last_text = ""

    def run(self) -> Steps:
        self._session.print(PrintedKind.PROMPT, self._prompt.shown)
        self._session.record("user", self._prompt.text)
        decision = yield self._prompt.submitted
        if decision.ruling is Ruling.BLOCK:
            self._print_result(f"Blocked: {decision.text or 'by a hook'}")
            return
        text = self._prompt.text
        for count in range(MAX_CONTINUATIONS + 1):
            if not (yield from self._follow(text)):
                return
            decision = yield self._run_hooks(
                "Stop",
                stop_hook_active=count > 0,
                last_assistant_message=self._last_text,
                background_tasks=[],
            )
            if decision.ruling is not Ruling.BLOCK:
                return
            text = decision.text

    def interrupt(self) -> None:
        """Print and record that the turn was interrupted; its generator is already closed."""
        if words := self._session.partial:
            self._session.print(PrintedKind.WORDS, words)
            self._session.record("assistant", words)
        self._print_result("Interrupted")
        self._session.record("interrupted", "")
        self._run_hooks("Interrupt", reason="escape")

    def _follow(self, text: str) -> _TurnPart:
        for step in script.read(text):
            yield NO_PAUSE
            if not (yield from self._take(step)):
                return False
        return True

    def _take(self, step: script.ScriptStep) -> _TurnPart:
        match step:
            case script.Say(text):
                yield from self._say(text)
            case script.UseTool():
                return (yield from self._use_tool(step))
            case script.AskQuestion():
                return (yield from self._ask_question(step))
            case script.Sleep(seconds):
                yield self._session.pause(seconds)
            case script.Slow(words_per_second):
                self._session.words_per_second = words_per_second
            case script.Fail() | script.Exit() | script.Crash():
                self._break_off(step)
                yield NO_PAUSE
                return False
            case _:
                assert_never(step)
        return True

    def _say(self, text: str) -> Steps:
        if self._session.words_per_second:
            for word in _WORD.finditer(text):
                self._session.partial = text[: word.end()]
                yield self._session.pause(1 / self._session.words_per_second)
        self._session.print(PrintedKind.WORDS, text)
        self._session.record("assistant", text)
        self._last_text = text

    def _break_off(self, step: script.Fail | script.Exit | script.Crash) -> None:
        match step:
            case script.Fail(error):
                self._print_result(f"Error: {error}")
                self._run_hooks(
                    "StopFailure", error=error, last_assistant_message=self._last_text
                )
            case script.Exit(code):
                self._session.leave(ExitStatus(code))
            case script.Crash():
                self._session.exit = CRASH
            case _:
                assert_never(step)

    def _use_tool(self, step: script.UseTool) -> _TurnPart:
        call = _ToolCall(step.name, {"command": step.text})
        decision = yield self._announce(call, step.text)
        if self._must_ask(step, decision):
            decision = yield self._ask(dialog.permission(step.name, step.text), call)
        if decision.ruling is Ruling.ALWAYS:
            self._session.allowed_tools.add(step.name)
        return self._conclude(call, decision, "ok", {"stdout": "ok"})

    def _must_ask(self, step: script.UseTool, decision: Decision) -> bool:
        match decision.ruling:
            case Ruling.ASK:
                return True
            case Ruling.ALLOW | Ruling.DENY:
                return False
            case _:
                is_bypassed = self._session.mode.startswith("bypass")
                is_allowed = step.name in self._session.allowed_tools
                return step.asks and not is_bypassed and not is_allowed

    def _ask_question(self, step: script.AskQuestion) -> _TurnPart:
        labels = [{"label": label} for label in step.options]
        questions = {"questions": [{"question": step.text, "options": labels}]}
        call = _ToolCall("AskUserQuestion", questions)
        decision = yield self._announce(call, step.text)
        if decision.ruling is not Ruling.DENY:
            decision = yield self._ask(dialog.question(step.text, step.options), call)
        answers = {"answers": {step.text: decision.text}}
        continues = self._conclude(call, decision, decision.text, answers)
        if decision.ruling is Ruling.ALLOW:
            yield from self._say(f"You chose {decision.text}")
        return continues

    def _announce(self, call: _ToolCall, text: str) -> HookCall:
        self._session.print(PrintedKind.WORDS, f"{call.name}({text})")
        return self._run_hooks("PreToolUse", **call.fields, tool_use_id=call.id)

    def _ask(self, shown_dialog: ChoiceDialog, call: _ToolCall) -> ChoiceDialog:
        shown_dialog.hook = self._run_hooks("PermissionRequest", **call.fields)
        return shown_dialog

    def _conclude(
        self, call: _ToolCall, decision: Decision, result: str, response: HookFields
    ) -> bool:
        """Print the outcome of a call and run the hooks; return whether the turn continues."""
        match decision.ruling:
            case Ruling.REFUSE:
                self._print_result("Refused")
                self._session.record("interrupted", "")
                self._run_hooks("Interrupt", reason="refused")
                return False
            case Ruling.DENY:
                self._print_result(f"Denied: {decision.text or 'by a hook'}")
            case _:
                self._print_result(result)
                self._run_hooks(
                    "PostToolUse", **call.fields, tool_use_id=call.id, tool_response=response
                )
        return True

    def _print_result(self, text: str) -> None:
        self._session.print(PrintedKind.RESULT, text)

    def _run_hooks(self, event: str, **fields: object) -> HookCall:
        return self._session.run_hooks(event, {**self._prompt.hook_fields, **fields})


class _ToolCall:
    def __init__(self, name: str, arguments: HookFields) -> None:
        self.name = name
        self.id = f"toolu_{uuid4().hex}"
        #: The payload of a permission request; the other hooks of the call also get its id.
        self.fields = {"tool_name": name, "tool_input": arguments}
