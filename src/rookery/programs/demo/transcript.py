"""The transcript file of one conversation of the demo agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path


class DemoTranscript:
    def __init__(self, home: Path, name: str) -> None:
        self._home = home
        self.path = home / f"{name}.jsonl"

    def add(self, kind: str, text: str) -> None:
        """Append a line, if it can be written."""
        now = datetime.now(UTC).isoformat()
        line = {"type": kind, "text": text, "at": now, "timestamp": now}
        with suppress(OSError):
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as transcript:
                transcript.write(json.dumps(line) + "\n")

    def read(self) -> list[tuple[str, str]] | None:
        """Return the kinds and texts of its lines; ``None`` if there is no such file."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except OSError:
            return None
        return [*_lines(text)]


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        with suppress(ValueError):  # a line that was cut off
            match json.loads(line):
                case {"type": str(kind), "text": str(said)}:
                    yield kind, said
