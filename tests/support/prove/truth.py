"""What was so, as a script knows it, and how well what was said agrees with it. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

#: Seconds for which what was so may still be said.
LATE = 0.3


@dataclass(frozen=True, slots=True)
class Mark:
    """From a moment on, one of these words is true: of two, nobody outside can tell which."""

    at: float
    words: frozenset[str]
    kind: str  #: of the turn


@dataclass(frozen=True, slots=True)
class Sample:
    """What was said of a session, between the question and its answer."""

    asked: float
    answered: float
    said: str


@dataclass(slots=True)
class Timeline:
    """What one session really did, from the first mark until it is closed."""

    marks: list[Mark] = field(default_factory=list)
    end: float = math.inf

    def note(self, kind: str, at: float, *words: str) -> None:
        self.marks.append(Mark(at, frozenset(words), kind))

    def at_cause(self) -> Timeline:
        """Take every effect to be there with its cause; but what is started is not up yet."""
        made, after = Timeline(end=self.end), frozenset[str]()
        for mark in reversed(self.marks):
            after = mark.words if len(mark.words) == 1 else after
            kept = mark.words if "starting" in mark.words or not after else after
            made.marks.insert(0, Mark(mark.at, kept, mark.kind))
        return made

    def between(self, start: float, end: float) -> Sequence[Mark]:
        """Return the marks that were in force at some moment from ``start`` to ``end``."""
        first = bisect_right(self.marks, start, key=_at) - 1
        return self.marks[max(first, 0) : bisect_right(self.marks, end, key=_at)]

    def covers(self, sample: Sample) -> bool:
        return bool(self.marks) and self.marks[0].at <= sample.asked < self.end

    def agrees(self, sample: Sample) -> bool:
        marks = self.between(sample.asked - LATE, sample.answered)
        return any(sample.said in mark.words for mark in marks)


def _at(mark: Mark) -> float:
    return mark.at


@dataclass(slots=True)
class Figures:
    """How one program fared."""

    turns: int = 0
    samples: int = 0
    agreeing: int = 0
    at_cause: int = 0  #: samples that agree, had every effect been there with its cause
    open: int = 0  #: samples at which two words were true
    lags: list[float] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)
    answers: int = 0  #: that were compared with their prompts
    misplaced: list[str] = field(default_factory=list)  #: what was wrong about them

    @property
    def share(self) -> float:
        return 100 * self.agreeing / max(self.samples, 1)

    def lag(self, quantile: float) -> float:
        ordered = sorted(self.lags) or [0.0]
        return ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]

    def add(self, timeline: Timeline, samples: Iterable[Sample]) -> None:
        """Judge what was said of one session."""
        strict = timeline.at_cause()
        judged = [sample for sample in samples if timeline.covers(sample)]
        for sample in judged:
            now = timeline.between(sample.asked, sample.asked)[-1]
            agrees = timeline.agrees(sample)
            self.samples += 1
            self.agreeing += agrees
            self.at_cause += strict.agrees(sample)
            self.open += len(now.words) > 1
            if not agrees:
                true = " or ".join(sorted(now.words))
                self.wrong[f"{now.kind}: {true}, but {sample.said!r} was said"] += 1
        self.lags += _lags(timeline, judged)


def _lags(timeline: Timeline, samples: Sequence[Sample]) -> Iterator[float]:
    """Say how long after each change that was sure it was first said, or that it never was."""
    before: frozenset[str] = frozenset()
    ends = [*(mark.at for mark in timeline.marks[1:]), timeline.end]
    for mark, end in zip(timeline.marks, ends, strict=True):
        if len(mark.words) == 1 and mark.words != before:
            before = mark.words
            during = [each for each in samples if mark.at <= each.asked < end]
            said = (each.asked for each in during if each.said in mark.words)
            if during:
                yield next(said, during[-1].asked) - mark.at
