"""Claude's own files on its live sessions: what one says. Claude Code, as of 2.1."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from rookery.model.evidence import Claim
from rookery.model.lifecycle import Activity
from rookery.model.sessions import NativeId

#: What it calls its states; "shell" is a command that goes on after the turn.
_ACTIVITIES = {"idle": Activity.IDLE, "shell": Activity.IDLE, "busy": Activity.WORKING}

#: What it waits for while a menu of its own is open, such as that of /model: no turn asks that.
MENU = "dialog open"


@dataclass(frozen=True, slots=True)
class Entry:
    """One process of Claude Code, as it describes itself."""

    pid: int
    started: str  #: in the kernel's ticks: another process may get the same pid later
    native_id: NativeId
    cwd: str
    claim: Claim | None  #: none while it is only starting


def read(text: str) -> Entry | None:
    """Read a file. ``None`` for one that is half written: it is being written again."""
    try:
        match json.loads(text):
            case {
                "pid": int(pid),
                "procStart": str(started),
                "sessionId": str(native_id),
                "cwd": str(cwd),
            } as found:
                claim = _claim(found)
                return Entry(pid, started, NativeId(native_id[:200]), cwd[:4_000], claim)
            case _:
                return None
    except (ValueError, RecursionError):
        return None


def _claim(found: dict[str, object]) -> Claim | None:
    status, moment = found.get("status"), found.get("statusUpdatedAt")
    if not isinstance(status, str) or not isinstance(moment, int):
        return None
    waits_for = found.get("waitingFor")
    asked = waits_for if isinstance(waits_for, str) else "It waits."
    kinds = {"permission prompt": Activity.PERMISSION}
    activity = (
        kinds.get(asked, Activity.QUESTION) if status == "waiting" else _ACTIVITIES.get(status)
    )
    if activity is None:
        return None
    at = datetime.fromtimestamp(moment / 1000, UTC)
    detail = asked[:200] if status == "waiting" else ""
    return Claim(activity, at, detail, runs_commands=status == "shell")
