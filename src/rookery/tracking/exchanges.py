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

    @property
    def is_over(self) -> bool:
        """Whether the last entry shows how the turn ended."""
        return self.last is not None and self.last.kind in FINAL

    @property
    def is_turn(self) -> bool:
        """Whether its prompt was for the model: the program runs commands by itself."""
        if self.prompt.startswith("!"):
            return self.is_over  # the model may get the command's output, and answer it
        return bool(self.prompt) and not self.prompt.startswith("/")


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


def since_turn(
    passages: Sequence[Passage], last: AskedTurn | None, *, ended_at: datetime
) -> Sequence[Passage]:
    """Return the passages after the last known turn, which ended at ``ended_at``.

    The next prompt may be older than the record of that end: it was typed ahead, or the end was
    recorded late.
    """
    old = [place for place, each in enumerate(passages) if each.at < ended_at]
    own = [place for place in old if last and is_prompt_of(passages[place], last)]
    # Of equal prompts, the latest: the others may be recorded already.
    after = passages[own[-1] + 1 :] if own else ()
    following = [place for place, each in enumerate(after) if each.kind == "prompt"]
    if following:
        return after[following[0] :]
    return [each for each in passages if each.at >= ended_at]


def is_prompt_of(passage: Passage, turn: AskedTurn) -> bool:
    return passage.kind == "prompt" and same_words(passage.text, turn.prompt)


def missed(exchanges: Iterable[PromptEntry]) -> tuple[Answer, ...]:
    """Return the turns of exchanges that are over, each with its own prompt."""
    return tuple(_ended(each.answer) for each in exchanges if each.is_turn)


def begun(exchanges: Sequence[PromptEntry], *, at: datetime) -> Answer:
    """Return the prompt of a turn that runs since ``at``, and the turns before it.

    What was over at that time is another turn, whose answer must not get this one's prompt.
    """
    if not exchanges:
        return Answer()
    *earlier, last = exchanges
    if last.is_over and last.last is not None and last.last.at < at:
        return Answer(earlier=missed(exchanges))
    return Answer(prompt=last.prompt, earlier=missed(earlier))


def ended(
    exchanges: Sequence[PromptEntry], turn: AskedTurn, *, at: datetime, unfinished: How
) -> Answer:
    """Return the texts of a turn of an agent that is idle since ``at``, and of later turns.

    ``unfinished``: the outcome if the last entry of the turn shows none.
    """
    own = find(exchanges, turn) if turn.prompt else _first(exchanges)
    if own is None:
        is_running = at < turn.started_at and bool(turn.prompt) and not turn.is_command
        return Answer(how=unfinished, is_running=is_running, others=missed(exchanges))
    others = missed(each for each in exchanges if each is not own)
    prompt = "" if turn.prompt else own.prompt
    answer = own.answer
    is_unanswered = own.last is None and not own.prompt.startswith("/")
    how = answer.how if own.is_over else "interrupted" if is_unanswered else unfinished
    return Answer(answer.words, how=how, prompt=prompt, others=others)


def _first(exchanges: Sequence[PromptEntry]) -> PromptEntry | None:
    """Return the first exchange; one without its prompt only if no other has one."""
    prompted = (each for each in exchanges if each.prompt)
    return next(prompted, exchanges[0] if exchanges else None)


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
