"""Read the files in which Claude Code describes its live sessions."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from rookery.model.evidence import Claim
from rookery.model.lifecycle import Activity
from rookery.model.sessions import NativeId
from rookery.ports.transcript import SessionEntry, SessionFiles

#: Claude Code's names for its states; "shell" is a command that continues after the turn.
_ACTIVITIES = {"idle": Activity.IDLE, "shell": Activity.IDLE, "busy": Activity.WORKING}

#: The value of ``waitingFor`` while a menu of Claude Code is open, such as /model: no turn asks
#: then.
MENU = "dialog open"


def read(text: str) -> SessionEntry | None:
    """Parse a file. ``None`` if it is incomplete: Claude Code then writes it again."""
    try:
        match json.loads(text):
            case {
                "pid": int(pid),
                "procStart": str(started),
                "sessionId": str(native_id),
                "cwd": str(cwd),
            } as found:
                claim = _claim(found)
                return SessionEntry(pid, started, NativeId(native_id[:200]), cwd[:4_000], claim)
            case _:
                return None
    except (ValueError, RecursionError):
        return None


def _claim(fields: dict[str, object]) -> Claim | None:
    status, moment = fields.get("status"), fields.get("statusUpdatedAt")
    if not isinstance(status, str) or not isinstance(moment, int):
        return None
    waits_for = fields.get("waitingFor")
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


SESSION_FILES = SessionFiles(
    folder="sessions", name=re.compile(r"\d+\.json"), menu=MENU, read=read
)
