"""One conversation: what its hooks are told about it, and its transcript."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    folder: str
    home: Path  #: where transcripts lie

    @property
    def transcript(self) -> Path:
        return self.home / f"{self.id}.jsonl"

    def payload(self, event: str, fields: Mapping[str, object]) -> bytes:
        """Write what a hook reads, in Claude Code's words."""
        common = {
            "session_id": self.id,
            "transcript_path": str(self.transcript),
            "cwd": self.folder,
            "hook_event_name": event,
        }
        return json.dumps({**common, **fields}).encode()

    def record(self, kind: str, text: str) -> None:
        """Add a line to the transcript, if that is possible."""
        now = datetime.now(UTC).isoformat()
        line = {"type": kind, "text": text, "at": now, "timestamp": now}
        with suppress(OSError):
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self.transcript.open("a", encoding="utf-8") as transcript:
                transcript.write(json.dumps(line) + "\n")
