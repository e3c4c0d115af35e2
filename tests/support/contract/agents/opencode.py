"""What the recordings of OpenCode say."""

from __future__ import annotations

from rookery.model import facts
from rookery.model.facts import Fact
from rookery.model.permissions import digest
from rookery.model.screens import View
from rookery.model.sessions import NativeId, Sender
from tests.support.contract.agents.case import AgentCase, S, recorded

RECORDED = recorded("opencode-1.18.33")

NATIVE = "ses_e20b3d8e5ffeLcLXZUox09jayx"
TOUCH = {"command": "touch one.txt", "description": "scripted"}

#: What stands in the box, and whether it works, in each recording that shows the box.
BOXES = {
    "answered": View(""),
    "bang-pasted": View("!touch made"),
    "draft": View("half a thou"),
    "escape-once": View("", is_working=True),
    "idle": View(""),
    "interrupted": View(""),
    "interrupted-retry": View(""),
    "pasted-lines": View("a b c\nd e f"),
    "pasted-long": View("[Pasted ~20 lines]"),
    "permitted": View(""),
    "quit-typed": View("/exit"),
    "refused": View(""),
    "retrying": View("", is_working=True),
    "sent-at-first": View("", is_working=True),
    "shell-draft": View("!ls"),
    "shell-mode": View("!"),
    "slash-list": View("/mo", instead="/models"),
    "shell-mode-at-first": View("!"),
    "wide-answered": View(""),
    "wide-working-draft": View("漢字 🙂 draft", is_working=True),
    "working": View("", is_working=True),
    "working-draft": View("draft while working", is_working=True),
    "working-queued": View("", is_working=True),
}

#: The kind of what is asked in each recording that shows a dialog, and all of its text.
DIALOGS = {
    "at-list": ("question", "It offers to complete a word: notes.md"),
    "at-list-at-first": ("question", "It offers to complete a word: notes.md"),
    "palette": ("question", "Commands"),
    "palette-at-first": ("question", "Commands"),
    "permission-always": (
        "permission",
        "Always allow This will allow edit until OpenCode is restarted.",
    ),
    "permission-edit": ("permission", "Permission required → Edit foo.txt 1 + hello there"),
    "permission-shell": ("permission", "Permission required # Shell command $ touch made"),
    "question": ("question", "Which colour? warm cold"),
    "wide-permission": ("permission", "Permission required # Shell command $ sleep 4"),
    "wide-question": ("question", "Which colour? warm cold"),
}

#: The id of the recorded prompt.
PROMPT = "msg_1df4c273d001haAbdY3ziLyZNX"

#: The id of the recorded call.
CALL = "call_960a24b96c294ca6a6908526"

#: What each recorded call of our plugin tells.
TOLD: dict[str, list[Fact]] = {
    "Interrupt": [facts.TurnEnded(S, "", "interrupted")],
    "Notification.retry": [facts.Noted(S, "Notification", "bad thing")],
    "PermissionRequest": [],
    "PermissionRequest.question": [],
    "PermissionSettled": [facts.InputSettled(S, "terminal")],
    "PostToolUse": [facts.ToolUsed(S, "bash", digest("bash", TOUCH), call_id=CALL)],
    "PreToolUse": [
        facts.ToolCalled(
            S, "bash", "touch one.txt", str(RECORDED.hook("PreToolUse")["tool_use_id"])
        )
    ],
    "SessionEnd.clear": [facts.ConversationLeft(S, "clear")],
    "SessionStart": [facts.SessionStarted(S, "fake/fake-model")],
    "Stop": [facts.TurnEnded(S, "hello open\nmore", turn=PROMPT)],
    "StopFailure": [facts.TurnEnded(S, "bad thing", "failed")],
    "SubagentStart": [facts.Noted(S, "SubagentStart", "general")],
    "SubagentStop": [facts.Noted(S, "SubagentStop")],
    "Usage": [facts.UsageReported(S, 8053, 2, 24_189, context=8055)],
    "UserPromptSubmit": [facts.TurnStarted(S, "say: hello open", PROMPT)],
}

CASE = AgentCase(
    agent="opencode",
    recordings=RECORDED,
    boxes=BOXES,
    dialogs=DIALOGS,
    told=TOLD,
    senders={
        "SessionStart": Sender(
            "opencode",
            NativeId(NATIVE),
            "/code/project",
            "SessionStart",
            model="fake/fake-model",
            is_new=True,
        )
    },
    placeholders=("[Pasted ~20 lines]",),
    undrawn=("┃", "  ┃  one\n  ┃  two"),
    has_whole_dialogs=True,
)
