"""The naive way to relay what is printed: a look each second, and what is beyond the last one.

As in the design that relays come from: each pane has a baseline; what a capture shows beyond
it is typed into the other pane; after typing into a pane its baseline is taken anew.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

#: Seconds between two looks.
LOOK = 1.0


@dataclass
class Participant:
    name: str
    number: int
    pane: str
    baseline: list[str] = field(default_factory=list)
    deltas: list[str] = field(default_factory=list)  #: what was passed on of it


class DeltaRelay:
    """Two programs in panes of a tmux server of their own."""

    def __init__(self, socket: Path, commands: dict[str, list[str]]) -> None:
        self._socket = socket
        self.participants = [
            Participant(name, number, self._start(name, command))
            for number, (name, command) in enumerate(commands.items(), start=1)
        ]

    def _start(self, name: str, command: list[str]) -> str:
        self._tmux("start-server", ";", "set", "-g", "history-limit", "10000")
        size = ("-x", "200", "-y", "50")
        options = ("-d", "-P", "-F", "#{pane_id}", "-s", name)
        return self._tmux("new-session", *options, *size, *command).strip()

    def begin(self) -> bool:
        """Take the baselines. False if one of them does not show its prompt yet."""
        for each in self.participants:
            each.baseline = self.capture(each)
        return all("[0 done] >" in each.baseline[-1] for each in self.participants)

    def capture(self, participant: Participant) -> list[str]:
        return self._tmux("capture-pane", "-p", "-t", participant.pane).rstrip().split("\n")

    def type(self, participant: Participant, words: str) -> None:
        self._tmux("send-keys", "-t", participant.pane, "-l", "--", words)
        self._tmux("send-keys", "-t", participant.pane, "Enter")
        participant.baseline = self.capture(participant)

    def look(self) -> None:
        """Look at both once, and pass on what is new."""
        for author, other in zip(self.participants, self.participants[::-1], strict=True):
            current = self.capture(author)
            delta = "\n".join(beyond(author.baseline, current)).strip()
            author.baseline = current
            if delta:
                author.deltas.append(delta)
                self.type(other, f"[{author.name}] ({author.number}):\n\n{delta}")

    def end(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-S", str(self._socket), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
        return done.stdout


def beyond(baseline: list[str], current: list[str]) -> list[str]:
    """Return the lines after those of the baseline, of which some may have scrolled away."""
    for gone in range(len(baseline)):
        kept = baseline[gone:]
        if current[: len(kept)] == kept:
            return current[len(kept) :]
    return current
