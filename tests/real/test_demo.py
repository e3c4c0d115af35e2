"""The demo agent in a real tmux, on a socket of its own."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = pytest.mark.real

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "Stop",
    "StopFailure",
    "Interrupt",
    "SessionEnd",
)


def wait_until(is_true: Callable[[], bool], *, what: Callable[[], object]) -> None:
    """Look again and again; fail with ``what`` is there instead after ten seconds."""
    deadline = time.monotonic() + 10
    while not is_true():
        if time.monotonic() > deadline:
            pytest.fail(f"still: {what()}")
        select.select([], [], [], 0.02)


class Desk:
    """A private tmux with the demo agent in it, and its hooks written to a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "hooks.jsonl"
        self._status = folder / "status"
        self._settings = folder / "settings.json"
        script = folder / "hook.sh"
        script.write_text(f"cat >> {self._log}; echo >> {self._log}\n")
        self.hook(*EVENTS, command=f"sh {script}")

    def hook(self, *events: str, command: str) -> None:
        """Let ``command`` hear of ``events``, after those that hear of them already."""
        before = json.loads(self._settings.read_text()) if self._settings.exists() else {}
        hooks = before.get("hooks", {})
        told = {"hooks": [{"type": "command", "command": command, "timeout": 20}]}
        added = {event: [*hooks.get(event, []), told] for event in events}
        self._settings.write_text(json.dumps({"hooks": hooks | added}))

    def tmux(self, *words: str, given: str | None = None) -> str:
        command = ["tmux", "-S", str(self._folder / "t.sock"), "-f", "/dev/null", "-u", *words]
        return subprocess.run(
            command,
            input=given,
            capture_output=True,
            check=True,
            text=True,
            timeout=20,
            env={**os.environ, "ROOKERY_DEMO_HOME": str(self._folder / "home")},
        ).stdout

    def start(self, *options: str) -> None:
        demo = [
            sys.executable,
            "-I",
            "-m",
            "rookery.programs.demo",
            "--settings",
            str(self._settings),
        ]
        # Not tmux' own word for it: 3.3a may forget to look how a pane ended.
        command = f"{shlex.join([*demo, *options])}; echo $? > {self._status}; exec cat"
        self.tmux("new-session", "-d", "-x", "100", "-y", "30", "-s", "demo", command)

    def start_and_wait(self) -> None:
        self.start()
        self.see("0 turns")

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-t", "demo", "-l", text)

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "demo", *keys)

    def submit(self, text: str) -> None:
        self.type(text)
        self.press("Enter")

    def paste(self, text: str) -> None:
        self.tmux("load-buffer", "-", given=text)
        self.tmux("paste-buffer", "-p", "-t", "demo")

    def resize(self, columns: int, lines: int) -> None:
        """Change the size, and wait until the demo knows: tmux may take 0.25 s to tell it."""
        self.tmux("resize-window", "-t", "demo", "-x", str(columns), "-y", str(lines))
        self.see(f"\n{'─' * columns}\n❯")

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "demo")

    def scrollback(self) -> list[str]:
        return self.tmux("capture-pane", "-p", "-S", "-", "-t", "demo").splitlines()

    def see(self, text: str) -> None:
        wait_until(lambda: text in self.screen(), what=self.screen)

    def told(self) -> list[dict[str, Any]]:
        """Return the payloads of the hooks so far."""
        log = self._log.read_text() if self._log.exists() else ""
        whole, _, _ = log.rpartition("\n")  # the last one may still be written
        return [json.loads(line) for line in whole.splitlines()]

    def events(self) -> list[str]:
        return [payload["hook_event_name"] for payload in self.told()]

    def hear(self, event: str) -> dict[str, Any]:
        wait_until(lambda: event in self.events(), what=self.events)
        return next(told for told in self.told() if told["hook_event_name"] == event)

    def status(self) -> int:
        """Wait for the end of the demo, and return its status."""
        wait_until(lambda: self._status.exists() and self._is_written(), what=self.screen)
        return int(self._status.read_text())

    def signal(self, number: signal.Signals) -> None:
        shell = psutil.Process(int(self.tmux("display", "-p", "-t", "demo", "#{pane_pid}")))
        [demo] = shell.children()
        demo.send_signal(number)

    def _is_written(self) -> bool:
        return self._status.read_text().endswith("\n")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    desk.tmux("new-session", "-d", "-s", "keeper", "cat")
    try:
        yield desk
    finally:
        desk.tmux("kill-server")


def test_a_prompt_is_answered(desk: Desk) -> None:
    desk.start_and_wait()

    desk.submit("say: hello;;fix the bug")

    desk.see("1 turn")
    assert "❯ say: hello;;fix the bug\n\n● hello\n\n● Echo: fix the bug\n" in desk.screen()


def test_a_paste_of_several_lines_is_submitted_once(desk: Desk) -> None:
    desk.start_and_wait()

    desk.paste("say: one\n\tsay: two  é漢🎉\n\nsay: three")
    desk.see("  say: three")
    desk.press("Enter")

    desk.see("1 turn")
    assert (
        desk.hear("UserPromptSubmit")["prompt"] == "say: one\n\tsay: two  é漢🎉\n\nsay: three"
    )
    assert desk.events().count("UserPromptSubmit") == 1
    assert desk.hear("Stop")["last_assistant_message"] == "three"


def test_a_megabyte_is_pasted_quickly_and_exactly(desk: Desk) -> None:
    desk.start_and_wait()
    text = "".join(f"{number} é漢🎉\t\n" for number in range(70_000)) + "end"

    began = time.monotonic()
    desk.paste(text)
    desk.see("[Pasted text #1 +70000 lines]")
    seconds = time.monotonic() - began
    desk.press("Enter")

    assert desk.hear("UserPromptSubmit")["prompt"] == text
    assert len(text.encode()) > 1_000_000
    assert seconds < 2  # 0.1 s on an idle machine; this one may run other tests


def test_a_permission_is_given_at_the_dialog(desk: Desk) -> None:
    desk.start_and_wait()

    desk.submit("permission: Bash ls;;say: done")
    desk.see(" ❯ 1. Yes")
    desk.press("1")

    desk.see("1 turn")
    assert "● Bash(ls)\n  ⎿ ok\n\n● done\n" in desk.screen()


def test_a_refused_permission_ends_the_turn(desk: Desk) -> None:
    desk.start_and_wait()

    desk.submit("permission: Bash ls;;say: done")
    desk.see(" ❯ 1. Yes")
    desk.press("Escape")

    desk.see("⎿ Refused")
    assert desk.hear("Interrupt")["reason"] == "refused"
    assert "Stop" not in desk.events()


def test_a_hook_answers_in_the_place_of_a_person(desk: Desk) -> None:
    decision = {"behavior": "allow", "updatedInput": {"answers": {"Which?": "Blue"}}}
    answer = {
        "hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}
    }
    desk.hook("PermissionRequest", command=shlex.join(["echo", json.dumps(answer)]))
    desk.start_and_wait()

    desk.submit("permission: Bash ls;;question: Which? | Red | Blue")

    desk.see("● You chose Blue")


def test_hooks_come_in_order(desk: Desk) -> None:
    desk.start_and_wait()

    desk.submit("say: a;;tool: Read x;;permission: Bash ls;;fail: no money")
    desk.see(" ❯ 1. Yes")
    desk.press("Enter")
    desk.see("1 turn")
    desk.submit("/clear")
    desk.see("0 turns")
    desk.submit("/exit")

    assert desk.status() == 0
    assert desk.events() == [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "StopFailure",
        "SessionEnd",
        "SessionStart",
        "SessionEnd",
    ]
    assert [told["reason"] for told in desk.told() if "reason" in told] == [
        "clear",
        "prompt_input_exit",
    ]
    assert [told["source"] for told in desk.told() if "source" in told] == ["startup", "clear"]
    assert len({told["session_id"] for told in desk.told()}) == 2


def test_words_typed_in_a_turn_are_the_next_one(desk: Desk) -> None:
    desk.start_and_wait()

    desk.submit("sleep: 0.5;;say: first")
    desk.see("esc to interrupt")
    desk.submit("say: second")
    desk.type("kept")

    desk.see("2 turns")
    assert "● first\n\n❯ say: second\n\n● second\n" in desk.screen()
    assert "\n❯ kept\n" in desk.screen()


def test_escape_interrupts_a_turn(desk: Desk) -> None:
    desk.start_and_wait()

    desk.submit("sleep: 60")
    desk.see("esc to interrupt")
    desk.press("Escape")

    desk.see("⎿ Interrupted")
    assert desk.hear("Interrupt")["reason"] == "escape"
    assert "Stop" not in desk.events()


def test_it_exits_with_the_status_asked_for(desk: Desk) -> None:
    desk.start_and_wait()

    desk.submit("exit: 7")

    assert desk.status() == 7
    assert desk.hear("SessionEnd")["reason"] == "other"


def test_a_crash_tells_nobody(desk: Desk) -> None:
    desk.start_and_wait()

    desk.submit("crash:")

    assert desk.status() == 128 + signal.SIGKILL
    assert desk.events() == ["SessionStart", "UserPromptSubmit"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_after_a_farewell(desk: Desk, number: signal.Signals) -> None:
    desk.start_and_wait()

    desk.signal(number)

    assert desk.status() == 128 + number
    assert desk.events() == ["SessionStart", "SessionEnd"]


def test_nothing_is_heard_before_the_folder_is_trusted(desk: Desk) -> None:
    desk.start("--trust-dialog")

    desk.see("Do you trust the files in this folder?")
    desk.paste("say: lost")
    desk.press("2")

    assert desk.status() == 1
    assert desk.events() == []


def test_each_line_is_in_the_scrollback_once(desk: Desk) -> None:
    desk.start_and_wait()

    for turn in range(1, 6):
        desk.submit(";;".join(f"say: {turn}.{number}" for number in range(10)))
        desk.see(f"{turn} turn")
        desk.resize(40 + 20 * turn, 20)
        desk.resize(170 - 20 * turn, 40)
    desk.submit("say: end")
    desk.see("6 turns")

    scrollback = desk.scrollback()
    said = [f"● {turn}.{number}" for turn in range(1, 6) for number in range(10)]
    assert [line for line in scrollback if line.startswith("● ")] == [*said, "● end"]
    assert sum(line.startswith("───") for line in scrollback) == 2


def test_the_alternate_screen_is_left_as_it_was_entered(desk: Desk) -> None:
    desk.start("--alternate-screen")

    desk.see("0 turns")
    inside = desk.tmux("display", "-p", "-t", "demo", "#{alternate_on}").strip()
    desk.press("C-d")

    assert desk.status() == 0
    assert inside == "1"
    assert desk.tmux("display", "-p", "-t", "demo", "#{alternate_on}").strip() == "0"
