"""What the recordings of Gemini CLI say."""

from __future__ import annotations

from functools import partial

from rookery.model import facts
from rookery.model.facts import Fact
from rookery.model.permissions import INEXACT, digest
from rookery.model.screens import View
from rookery.model.sessions import NativeId, Sender
from tests.support.contract.agents.case import AgentCase, S, recorded

RECORDED = recorded("gemini-0.61.0")

NATIVE = "4928bf68-5714-484d-afd2-70167ff2e21d"
LATER = "3719c0fb-2a17-402e-8437-a377fd82a544"
CHATS = "/home/person/.gemini/tmp/project/chats"
TRANSCRIPT = f"{CHATS}/session-2026-11-15T12-55-{NATIVE[:8]}.jsonl"
LATER_TRANSCRIPT = f"{CHATS}/session-2026-11-15T12-58-{LATER[:8]}.jsonl"

#: What names the recorded call, whatever it is told with.
TOUCH = INEXACT + digest("run_shell_command", {"command": "touch one.txt"})

WRAPPED = "\n".join(["say:", *["x" * 114] * 3, "x" * 58])

#: What stands in the box, and whether it works, in each recording that shows the box.
BOXES = {
    # Of a terminal without true colour, where the box is a background colour only.
    "plain-answered": View(""),
    "plain-draft": View("half a thou"),
    "plain-idle": View(""),
    "plain-pasted-lines": View("a b c\nd e f"),
    "plain-working": View("", is_working=True),
    "answered": View(""),
    "bang-pasted": View("!touch made"),
    "clean-ui": View(""),
    "clean-ui-draft": View("half a thou"),
    "clean-ui-working": View("", is_working=True),
    "draft": View("half a thou"),
    "failed": View(""),
    "history-search": View(obstacle="its history search is open"),
    "idle": View(""),
    "interrupted": View(""),
    "mode-yolo": View(""),
    "narrow-working": View("", is_working=True),
    "no-colour-answered": View(""),
    "no-colour-draft": View("half a thou"),
    "pasted-lines": View("a b c\nd e f\n\ng h i"),
    "pasted-long": View("[Pasted Text: 21 lines]"),
    "pasted-wrapped": View(WRAPPED),
    "permitted": View(""),
    "quit-typed": View("/quit"),
    "refused": View(""),
    "shell-draft": View("!touch made"),
    "shell-mode": View("!"),
    "slash-list": View("/mod", instead="/model"),
    "shortcuts": View(""),
    "start-banner": View(""),
    "vim-insert": View(""),
    "vim-normal": View(""),
    "working": View("", is_working=True),
    "working-draft": View("draft while working", is_working=True),
    "working-in-tool": View("", is_working=True),
    "working-queued": View("", is_working=True),
}

#: The kind of what is asked in each recording that shows a dialog, and how it begins.
DIALOGS = {
    "at-list": ("question", "It offers to complete a word: codebase_investigator"),
    "dialog-model": ("question", "Select Model"),
    "permission-above-the-box": (
        "permission",
        "? Shell  touch made touch made Allow execution",
    ),
    "permission-edit": ("permission", "? WriteFile  Writing to foo.txt 1 hello there Apply"),
    "permission-shell": ("permission", "? Shell  touch made touch made Allow execution of"),
    "question": ("question", "Answer Questions Which colour?"),
    "start-api-key": ("question", "Enter Gemini API Key"),
    "start-auth": ("question", "? Get started How would you like to authenticate"),
    "start-trust": ("question", "Do you trust the files in this folder?"),
}

#: What each recorded hook tells.
TOLD: dict[str, list[Fact]] = {
    "AfterAgent": [facts.TurnEnded(S, "hello gem")],
    "AfterModel": [facts.Noted(S, "AfterModel")],
    "AfterTool": [facts.ToolUsed(S, "run_shell_command", TOUCH)],
    "AfterTool.ask_user": [facts.ToolUsed(S, "ask_user")],
    "BeforeAgent": [facts.TurnStarted(S, "say: hello gem", is_only_one=True)],
    "BeforeModel": [facts.Noted(S, "BeforeModel")],
    "BeforeTool": [facts.ToolCalled(S, "run_shell_command", "touch one.txt")],
    "BeforeTool.ask_user": [facts.ToolCalled(S, "ask_user", "Which colour?")],
    "BeforeToolSelection": [facts.Noted(S, "BeforeToolSelection")],
    "Notification.ToolPermission.ask_user": [],
    "Notification.ToolPermission.exec": [],
    "Notification.ToolPermission.info": [],
    "PreCompress": [facts.Noted(S, "PreCompress", "auto")],
    "SessionEnd.clear": [facts.ConversationLeft(S, "clear")],
    "SessionEnd.exit": [facts.SessionEnded(S, "it ended: exit")],
    "SessionStart.clear": [facts.SessionStarted(S, "", LATER_TRANSCRIPT)],
    "SessionStart.resume": [facts.SessionStarted(S, "", LATER_TRANSCRIPT)],
    "SessionStart.startup": [facts.SessionStarted(S, "", TRANSCRIPT)],
}

_SENDER = partial(Sender, "gemini", NativeId(NATIVE), "/code/project")

CASE = AgentCase(
    agent="gemini",
    recordings=RECORDED,
    boxes=BOXES,
    dialogs=DIALOGS,
    told=TOLD,
    senders={
        "SessionStart.startup": _SENDER("SessionStart", TRANSCRIPT, is_new=True),
        "AfterAgent": _SENDER("AfterAgent", TRANSCRIPT),
    },
    placeholders=("[Pasted Text: 21 lines]", "[Pasted Text: 700 chars #2]"),
    undrawn=("Loading extensions...", "▄" * 40),
)
