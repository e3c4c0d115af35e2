"""The draft of an answer to a request: which keys apply, and what the user has chosen."""

from __future__ import annotations

from dataclasses import dataclass, field

from rookery.client.permissions import QuestionInfo, RequestInfo
from rookery.model.permissions import DIALOG

#: How many options of a question have a key of their own.
MAX_KEYS = 9


def can_allow(request: RequestInfo) -> bool:
    return request.kind == "permission"


def can_deny(request: RequestInfo) -> bool:
    """Return whether it can be denied: a question of a dialog has to be answered."""
    return not (request.tool == DIALOG and request.kind == "question")


def takes_one_key(request: RequestInfo) -> bool:
    """Return whether the number of one option answers the whole request."""
    return len(request.questions) == 1 and not request.questions[0].takes_several


def can_choose(request: RequestInfo, number: int) -> bool:
    """Return whether the request's first question has an option with this number."""
    questions = request.questions
    return bool(questions) and number <= len(questions[0].options) and request.takes_options


def can_write(request: RequestInfo) -> bool:
    """Return whether the request takes an answer in the user's own words."""
    is_dialog = request.tool == DIALOG
    return bool(request.questions) and request.takes_text and not is_dialog


@dataclass(slots=True)
class AnswerDraft:
    """The answers to all questions of a request, as far as the user has chosen them."""

    request: RequestInfo
    current: int = 0  #: the question that keys apply to
    chosen: dict[int, list[int]] = field(default_factory=dict)  #: option numbers by question
    written: dict[int, str] = field(default_factory=dict)  #: own words by question

    @property
    def question(self) -> QuestionInfo:
        return self.request.questions[self.current]

    def choose(self, number: int) -> None:
        """Choose an option of the current question; toggle it if the question takes several."""
        if not 1 <= number <= len(self.question.options):
            return
        self.written.pop(self.current, None)
        before = self.chosen.get(self.current, [])
        if not self.question.takes_several:
            self.chosen[self.current] = [number]
        elif number in before:
            self.chosen[self.current] = [each for each in before if each != number]
        else:
            self.chosen[self.current] = sorted([*before, number])

    def write(self, text: str) -> None:
        """Answer the current question in the user's own words."""
        if text.strip():
            self.chosen.pop(self.current, None)
            self.written[self.current] = text.strip()

    def move(self, step: int) -> None:
        last = len(self.request.questions) - 1
        self.current = min(max(self.current + step, 0), last)

    def is_answered(self, place: int) -> bool:
        return bool(self.chosen.get(place) or self.written.get(place))

    @property
    def is_complete(self) -> bool:
        return all(map(self.is_answered, range(len(self.request.questions))))

    @property
    def own_words(self) -> bool:
        """Return whether any answer is free text; ``answers`` then gives options by name."""
        return bool(self.written)

    def answers(self) -> list[str]:
        """Return the answers as the daemon takes them: one for each question, in order."""
        questions = enumerate(self.request.questions)
        found = [self._answer(place, question) for place, question in questions]
        # For a single question, each chosen option is an answer of its own.
        return found[0] if len(found) == 1 else [",".join(each) for each in found]

    def _answer(self, place: int, question: QuestionInfo) -> list[str]:
        if text := self.written.get(place):
            return [text]
        numbers = self.chosen.get(place, [])
        if not self.own_words:
            return [str(each) for each in numbers]
        return [question.options[each - 1] for each in numbers]
