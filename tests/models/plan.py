"""What to answer a request with: the steps that are due. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tests.models import asides, script
from tests.models.asides import Kind
from tests.models.conversation import Conversation, Prompt
from tests.models.steps import Error, Say, Step, Usage

#: Characters of a prompt without directives that are echoed.
_ECHO = 160


@dataclass(frozen=True, slots=True)
class Plan:
    kind: Kind
    prompt: Prompt
    response: int  #: its number in the script
    steps: tuple[Step, ...]

    @property
    def usage(self) -> Usage | None:
        """What the script wants to have cost; the last word counts."""
        return next((step for step in reversed(self.steps) if isinstance(step, Usage)), None)

    @property
    def errors(self) -> list[Error]:
        return [step for step in self.steps if isinstance(step, Error)]

    @property
    def key(self) -> tuple[str, int, int]:
        """The same for each try of the same response."""
        return self.prompt.text, self.prompt.at, self.response


def plan(conversation: Conversation) -> Plan:
    kind, prompt = asides.kind(conversation), conversation.prompt
    if kind is not Kind.SCRIPT:
        return Plan(kind, prompt, 0, (Say(asides.answer(conversation, kind)),))
    steps = list(script.read(prompt.text))
    if not steps:
        echo = " ".join(prompt.text.split())[:_ECHO]
        return Plan(kind, prompt, 0, (Say(f"ok: {echo}"),))
    parts = script.responses(steps)
    number = script.due(parts, conversation.calls_since(prompt))
    return Plan(kind, prompt, number, parts[number] or (Say("done."),))
