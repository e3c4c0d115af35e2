"""Complete the facts about a turn with the texts of its transcript or its screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from msgspec import structs

from rookery.model.facts import (
    Fact,
    How,
    PromptFound,
    SessionId,
    TranscriptFound,
    TurnEnded,
    TurnStarted,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The texts of a turn, read from its transcript or its screen."""

    words: str = ""
    path: str = ""  #: of the transcript, if it was unknown before
    how: How = "finished"
    prompt: str = ""  #: the prompt, if no hook has reported it
    is_running: bool = False  #: the turn has not ended
    others: tuple[Answer, ...] = ()  #: of other turns, which no other source has reported
    earlier: tuple[Answer, ...] = ()  #: of turns before this one; like ``others``

    def added_to(self, facts: Iterable[Fact]) -> list[Fact]:
        """Return facts that were derived from a session file or a screen, with these texts."""
        completed = list[Fact]()
        for fact in facts:
            if isinstance(fact, TurnStarted) and not fact.prompt:
                completed += missed_turns(fact.session, self.earlier)
                completed.append(structs.replace(fact, prompt=self.prompt))
                continue
            if isinstance(fact, TurnEnded) and self.is_running:
                continue
            if isinstance(fact, TurnEnded) and self.prompt:
                completed.append(PromptFound(fact.session, self.prompt))
            if not isinstance(fact, TurnEnded) or fact.how != "finished":
                completed.append(fact)
                continue
            if self.path:
                completed.append(TranscriptFound(fact.session, self.path))
            completed.append(structs.replace(fact, last_words=self.words, how=self.how))
            completed += missed_turns(fact.session, self.others)
        return completed

    def missed_by(self, session: SessionId) -> Iterator[Fact]:
        """Yield the facts of the earlier turns, for a session in which no turn was observed."""
        if self.path and self.earlier:
            yield TranscriptFound(session, self.path)
        yield from missed_turns(session, self.earlier)


NO_ANSWER = Answer()


def missed_turns(session: SessionId, answers: Iterable[Answer]) -> Iterator[Fact]:
    """Yield the facts of turns that only the transcript shows."""
    for each in answers:
        yield TurnStarted(session, each.prompt)
        if not each.is_running:
            yield TurnEnded(session, each.words, each.how)


def is_unexplained(fact: Fact) -> TypeGuard[TurnEnded]:
    """Return whether a fact is the end of a failed turn and omits the error."""
    return isinstance(fact, TurnEnded) and fact.how == "failed" and not fact.last_words


def contains_in_order(hook_text: str, messages: Sequence[str]) -> bool:
    """Return whether a hook's text starts with the first message and has the others in order.

    Other text may stand between the messages: after a text, Gemini 0.61 repeats all chunks of
    the text but the first.
    """
    if not messages or not hook_text.startswith(messages[0]):
        return False
    at = 0
    for words in messages:
        at = hook_text.find(words, at) + len(words)
        if at < len(words):
            return False
    return True


def explained(fact: Fact, answer: Answer) -> Fact:
    """Add the outcome to the end of a turn if its hook omits it, else the exact text."""
    if not isinstance(fact, TurnEnded):
        return fact
    if not is_unexplained(fact):
        return structs.replace(fact, last_words=answer.words or fact.last_words)
    if answer.how == "finished":
        return fact
    return structs.replace(fact, last_words=answer.words, how=answer.how)
