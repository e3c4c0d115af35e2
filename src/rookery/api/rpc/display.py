"""Word sessions and statistics as plain text, for tools that show it as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rookery.model.money import in_dollars
from rookery.model.sessions import Session
from rookery.presentation.cells import cut
from rookery.presentation.texts import count, one_line

#: Characters of a prompt that are shown.
MAX_PROMPT_CHARACTERS = 80


def dollars(micro: int | None) -> float | None:
    return None if micro is None else in_dollars(micro)


def duration_text(milliseconds: int) -> str:
    """Return a duration in its two largest units, such as 2m 5s."""
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m {seconds}s" if minutes else f"{seconds}s"


def session_text(session: Session, *, workdir: str, milliseconds: int) -> str:
    """Return a session in one line."""
    state = session.activity or session.status
    parts = [f"{session.name} ({session.id[:8]}): {state}, {duration_text(milliseconds)}"]
    if session.cost is not None:
        parts.append(f"${in_dollars(session.cost):.2f}")
    parts += [workdir, cut(one_line(session.first_prompt), MAX_PROMPT_CHARACTERS)]
    return one_line(" | ".join(part for part in parts if part))


def stats_text(
    launched: int, by_status: Mapping[str, int], average_ms: int | None, cost: float | None
) -> str:
    """Return statistics in a few lines."""
    return "\n".join(_stats_lines(launched, by_status, average_ms, cost))


def _stats_lines(
    launched: int, by_status: Mapping[str, int], average_ms: int | None, cost: float | None
) -> Iterator[str]:
    yield f"Launched: {count(launched, 'session')}"
    for status, number in sorted(by_status.items()):
        yield f"  {status}: {number}"
    if average_ms is not None:
        yield f"Average duration: {duration_text(average_ms)}"
    yield f"Cost: {'not known' if cost is None else f'${cost:.2f}'}"
