"""The answers that one agent gives to the statements of ``test_agent``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import digest
from rookery.model.screens import Screen, View, read_styled
from rookery.model.sessions import Sender
from tests.support.paths import RECORDINGS

#: The session that all recorded hooks are read for.
S = SessionId("s")


@dataclass(frozen=True, slots=True)
class Recordings:
    """What was recorded of one version of an agent's program."""

    folder: Path

    def text(self, name: str) -> str:
        return (self.folder / f"{name}.txt").read_text()

    def screen(self, name: str) -> Screen:
        return read_styled(self.text(name))

    def hook(self, name: str) -> dict[str, Any]:
        payload: dict[str, Any] = json.loads(
            (self.folder / "hooks" / f"{name}.json").read_text()
        )
        return payload

    def call(self, name: str) -> str:
        """Return the digest of the call that a recorded hook reports."""
        payload = self.hook(name)
        return digest(payload["tool_name"], payload["tool_input"])

    @property
    def screens(self) -> set[str]:
        return {file.stem for file in self.folder.glob("*.txt")}

    @property
    def hooks(self) -> set[str]:
        return {file.stem for file in self.folder.glob("hooks/*.json")}

    @property
    def transcripts(self) -> list[Path]:
        return sorted(self.folder.glob("*.jsonl"))


def recorded(version: str) -> Recordings:
    return Recordings(RECORDINGS / version)


@dataclass(frozen=True, slots=True)
class AgentCase:
    """What an agent's recordings must be read as."""

    agent: str
    recordings: Recordings
    #: What stands in the box, and whether it works, in each recording that shows the box.
    boxes: Mapping[str, View]
    #: The kind of what is asked in each recording that shows a dialog, and how it begins; an
    #: empty kind is not asked for.
    dialogs: Mapping[str, tuple[str, str]]
    told: Mapping[str, list[Fact]]  #: the facts of each recorded hook
    senders: Mapping[str, Sender]  #: of some recorded hooks
    placeholders: tuple[str, ...]  #: what the box shows in place of a long paste
    undrawn: tuple[str, ...]  #: screens that are not drawn yet
    #: The fields of a hook payload with the native id, the folder and the event.
    sender_fields: tuple[str, str, str] = ("session_id", "cwd", "hook_event_name")
    has_whole_dialogs: bool = False  #: ``dialogs`` has their whole texts
    runs_exclamations: bool = False  #: words that begin with ``!`` would be run
