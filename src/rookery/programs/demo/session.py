"""The session of the demo agent: its state, its transcript and its hooks."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from rookery.programs.demo.hooks import HookCall, Hooks, MonotonicClock
from rookery.programs.demo.options import Options
from rookery.programs.demo.screen import PrintedKind, PrintedText
from rookery.programs.demo.transcript import DemoTranscript

HookFields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Pause:
    until: float  #: on the program's clock


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How the program ends."""

    code: int = 0
    signal: int | None = None  #: the signal that ends it


CRASH = ExitStatus(signal=signal.SIGKILL)


class DemoSession:
    """The state of the session, through which turns print, record their texts and run hooks."""

    def __init__(self, options: Options, hooks: Hooks, clock: MonotonicClock) -> None:
        self.id = options.session_id
        self.folder = str(Path.cwd())
        self.mode = options.permission_mode
        self.turns = 0
        self.words_per_second = 0.0  #: 0: print each text at once
        self.allowed_tools: set[str] = set()
        self.unprinted: list[PrintedText] = []
        self.partial = ""  #: the part of an incomplete block that is printed already
        self.has_started = False
        self.exit: ExitStatus | None = None
        self._home = options.home
        self._hooks = hooks
        self._clock = clock

    def renew(self) -> None:
        """Continue as a new session."""
        self.id = str(uuid4())
        self.turns = 0
        self.words_per_second = 0.0
        self.allowed_tools.clear()

    def pause(self, seconds: float) -> Pause:
        return Pause(self._clock() + seconds)

    def print(self, kind: PrintedKind, text: str) -> None:
        """Add a block to the conversation."""
        self.partial = ""
        self.unprinted.append(PrintedText(kind, text))

    def record(self, kind: str, text: str) -> None:
        """Append a line to the transcript, if it can be written."""
        DemoTranscript(self._home, self.id).add(kind, text)

    def run_hooks(self, event: str, fields: HookFields) -> HookCall:
        """Run the hooks of an event, with a payload in Claude Code's format."""
        common = {
            "session_id": self.id,
            "transcript_path": str(self._transcript),
            "cwd": self.folder,
            "hook_event_name": event,
        }
        payload = json.dumps({**common, **fields}).encode()
        # This hook waits for the user; the hooks of other events run meanwhile.
        return self._hooks.run(event, payload, concurrent=event == "PermissionRequest")

    def leave(self, status: ExitStatus, reason: str = "other") -> None:
        """End the program, unless it is ending already."""
        if self.exit is None:
            self.exit = status
            if self.has_started:
                self.run_hooks("SessionEnd", {"reason": reason})

    @property
    def _transcript(self) -> Path:
        return DemoTranscript(self._home, self.id).path
