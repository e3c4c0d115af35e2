"""What to answer a request with: the steps that are due. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from tests.support.scripted_model import asides, script
from tests.support.scripted_model.asides import Kind
from tests.support.scripted_model.conversation import Conversation, Prompt
from tests.support.scripted_model.steps import Error, Say, Step, Usage

#: Characters of a prompt without directives that are echoed.
_ECHO = 160


@dataclass(frozen=True, slots=True)
class Plan:
    kind: Kind
    prompt: Prompt
    response: int  #: its number in the script
    steps: tuple[Step, ...]
    key: Hashable  #: the same for each try of the same response

    @property
    def usage(self) -> Usage | None:
        """What the script wants to have cost; the last word counts."""
        return next((step for step in reversed(self.steps) if isinstance(step, Usage)), None)

    @property
    def errors(self) -> list[Error]:
        return [step for step in self.steps if isinstance(step, Error)]


def plan(conversation: Conversation) -> Plan:
    kind, prompt = asides.kind(conversation), conversation.prompt
    if kind is Kind.SCRIPT:
        number, steps = _due(conversation, prompt)
    else:
        number, steps = 0, (Say(asides.answer(conversation, kind)),)
    key = conversation.model, conversation.system, prompt, number
    return Plan(kind, prompt, number, steps, key)


def _due(conversation: Conversation, prompt: Prompt) -> tuple[int, tuple[Step, ...]]:
    steps = list(script.read(prompt.text)) or list(script.hinted(prompt.text))
    if not steps:
        echo = " ".join(prompt.text.split())[:_ECHO]
        return 0, (Say(f"ok: {echo}"),)
    parts = script.responses(steps)
    number = script.due(parts, conversation.calls_since(prompt))
    return number, parts[number] or (Say("done."),)
