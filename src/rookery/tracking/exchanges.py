"""Divide the end of a transcript into prompts and their answers, and find those of a turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rookery.model.facts import How
from rookery.model.messages import same_words
from rookery.model.turn_texts import Answer
from rookery.ports.transcript import Kind, Passage

#: The last entry of a turn that has ended, and the outcome that it means.
FINAL: Mapping[Kind, How] = {
    "words": "finished",
    "error": "failed",
    "interruption": "interrupted",
}

#: Maximum delay from a prompt in the transcript to the record of its turn.
RECORD_DELAY = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class PromptEntry:
    """A prompt, and the last entry that followed it."""

    prompt: str  #: empty if the prompt is older than what was read
    at: datetime
    last: Passage | None = None

    @property
    def answer(self) -> Answer:
        if self.last is None:
            return Answer(prompt=self.prompt, is_running=True)
        words = self.last.text if self.last.kind in {"words", "error"} else ""
        is_running = self.last.kind not in FINAL
        how = FINAL.get(self.last.kind, "finished")
        return Answer(words, how=how, prompt=self.prompt, is_running=is_running)


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """The prompt of a turn, and when the turn was recorded."""

    prompt: str
    started_at: datetime

    @property
    def is_command(self) -> bool:
        return self.prompt.startswith("/")


def divide(passages: Iterable[Passage]) -> list[PromptEntry]:
    """Return the exchanges of a transcript's passages, both the oldest first."""
    found = list[PromptEntry]()
    for each in passages:
        if each.kind == "prompt":
            found.append(PromptEntry(each.text, each.at))
        elif found:
            found[-1] = PromptEntry(found[-1].prompt, found[-1].at, each)
        else:
            found.append(PromptEntry("", each.at, each))
    return found


def _ended(answer: Answer) -> Answer:
    """Return the answer of a turn that is over because another followed it."""
    is_answered = not answer.is_running
    return answer if is_answered else Answer(how="interrupted", prompt=answer.prompt)


def find(exchanges: Sequence[PromptEntry], turn: AskedTurn) -> PromptEntry | None:
    """Return the exchange of a turn; ``None`` if the transcript does not have it.

    Programs rewrite some prompts, so the first new one counts if none is the same. A command
    has no entry of its own unless it becomes a prompt.
    """
    for each in exchanges:
        if same_words(each.prompt, turn.prompt):
            return each
    since = turn.started_at if turn.is_command else turn.started_at - RECORD_DELAY
    for each in exchanges:
        is_rest = not each.prompt and not turn.is_command
        if is_rest or (each.prompt and each.at >= since):
            return each
    return None


def answer_of(exchanges: Sequence[PromptEntry], turn: AskedTurn) -> Answer:
    """Return a turn's answer, with the other prompts that were typed by hand."""
    own = find(exchanges, turn)
    others = tuple(
        _ended(each.answer) if each is not exchanges[-1] else each.answer
        for each in exchanges
        if each is not own and each.prompt
    )
    answer = own.answer if own else Answer()
    return Answer(answer.words, how=answer.how, others=others)
