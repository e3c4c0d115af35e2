"""Word what a session does now, in one line."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from rookery.client.sessions import ListedSession, WaitingInfo
from rookery.model.reason_texts import in_one_line, with_last_output
from rookery.presentation.ages import age
from rookery.presentation.states import ended_by
from rookery.presentation.texts import count

#: Precedes an answer that its person has not seen.
UNREAD = "●"

#: A driven agent that reports nothing for this long may hang.
SILENCE = timedelta(seconds=15)

#: Precedes a prompt.
PROMPT = "❯"


class Surroundings(Struct, frozen=True):
    """What is known about a session besides its row."""

    now: datetime
    queued: WaitingInfo | None = None  #: the messages that wait for it
    failure: str = ""  #: the text of its last turn, if that failed


def activity(session: ListedSession, around: Surroundings) -> str:
    """Return what a session does, asks or has answered, or why it stopped.

    The text may contain control characters.
    """
    queued, state = around.queued, session.state
    if session.has_failed_turn:
        return around.failure.strip() or session.last_answer or "its last turn failed"
    if session.is_asking:
        return _with_queue(_asked(session), queued)
    if state in {"working", "starting"}:
        text = _working(session, around.now) if state == "working" else _subject(session)
        return _with_queue(f"{_silence(session, around.now)}{text}", queued)
    if state == "idle":
        return _idle(session, queued)
    return ended_by(session) or with_last_output(session.reason) or session.title


def tool_text(tool: str, argument: str) -> str:
    """Return a tool with its argument in one line."""
    return f"{tool} — {in_one_line(argument)}" if argument.strip() else tool


def running_on(commands: int) -> str:
    """Return how many commands of an agent still run after its turn, as text."""
    return f"{count(commands, 'command')} still {'runs' if commands == 1 else 'run'}"


def _asked(session: ListedSession) -> str:
    if session.activity == "question" or not session.asked_tool:
        return session.reason or session.title
    place = f" in {session.asked_folder}" if session.asked_folder else ""
    argument = session.asked_argument
    shown = argument if place else from_folder(session.project_path, argument)
    return tool_text(f"{session.asked_tool}{place}", shown)


def from_folder(folder: str, argument: str) -> str:
    """Return a path relative to a session's folder: narrow places would cut its end."""
    is_path = argument.startswith(f"{folder}/") and len(argument.split()) == 1
    return f".{argument.removeprefix(folder)}" if folder and is_path else argument


def _working(session: ListedSession, now: datetime) -> str:
    tool_at, began = session.tool_at or "", session.last_prompt_at or ""
    if not tool_at or tool_at < began:
        return _subject(session)
    # The time comes first: a narrow table cuts the end of a long command.
    how_long = "done" if session.tool_ended_at else age(tool_at, now)
    argument = from_folder(session.project_path, session.tool_argument)
    return tool_text(f"{session.last_tool} ({how_long})", argument)


def _silence(session: ListedSession, now: datetime) -> str:
    """Return how long a driven agent has reported nothing, unless one of its tools runs."""
    if not session.is_driven or session.state != "working" or not session.last_activity_at:
        return ""
    is_in_tool = bool(session.tool_at) and not session.tool_ended_at
    silent = now - datetime.fromisoformat(session.last_activity_at)
    if is_in_tool or silent < SILENCE:
        return ""
    return f"silent for {age(session.last_activity_at, now)} · "


def _idle(session: ListedSession, queued: WaitingInfo | None) -> str:
    if queued and queued.why:
        return f"{_wait(queued)}: {queued.blocked_by}"
    mark = f"{UNREAD} " if session.is_unread else ""
    running = f"{running_on(session.background)} · " if session.background else ""
    return f"{mark}{running}{_answer(session)}"


def cut_off_note(session: ListedSession) -> str:
    """Return the turn that was cut off when the resumed session ended; empty if none was."""
    return f"cut off: {PROMPT} {session.cut_off}" if session.cut_off else ""


def _answer(session: ListedSession) -> str:
    """Return the turn that was cut off, else the last answer, else the prompt.

    An interrupted turn is marked.
    """
    if cut := cut_off_note(session):
        return cut
    text = session.last_answer or _subject(session)
    return f"interrupted: {text}" if session.last_outcome == "interrupted" else text


def _subject(session: ListedSession) -> str:
    prompt = session.last_prompt
    return f"{PROMPT} {prompt}" if prompt else session.reason or session.title


def _with_queue(text: str, queued: WaitingInfo | None) -> str:
    return f"{text}; {_wait(queued)}" if queued else text


def _wait(queued: WaitingInfo) -> str:
    return f"{count(queued.messages, 'message')} {'waits' if queued.messages == 1 else 'wait'}"
