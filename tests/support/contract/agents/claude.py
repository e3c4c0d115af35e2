"""What the recordings of Claude Code say."""

from __future__ import annotations

from functools import partial

from rookery.model import facts
from rookery.model.facts import Fact
from rookery.model.permissions import digest
from rookery.model.screens import View
from rookery.model.sessions import NativeId, Sender
from tests.support.contract.agents.case import AgentCase, S, recorded

RECORDED = recorded("claude-2.1.325")

NATIVE = "468710ed-3430-4f4a-a353-234216573ac7"
TRANSCRIPT = f"/home/user/.claude/projects/-work-project/{NATIVE}.jsonl"
LATER = "659699ef-b462-40e2-99a5-e8f12122bc5e"
LATER_TRANSCRIPT = f"/home/person/.claude/projects/-code-project/{LATER}.jsonl"

#: What stands in the box, and whether it works, in each recording that shows the box.
BOXES = {
    "agents-view": View(obstacle="its list of agents is open"),
    "answered": View(""),
    "at-list": View("read @no"),
    "bang-pasted": View("!touch made"),
    "draft": View("half a thou"),
    "failed": View(""),
    "hash-pasted": View("# remember this"),
    "history-search": View(obstacle="its history search is open"),
    "history-search-typed": View(obstacle="its history search is open"),
    "idle": View(""),
    # A prompt that is interrupted before it is answered comes back into the box.
    "interrupted": View("gate: b;; say: never"),
    "pasted-lines": View("a b c\nd e f"),
    "pasted-long": View("[Pasted text #1 +20 lines]"),
    "permitted": View(""),
    "quit-typed": View("/exit"),
    "refused": View(""),
    "slash-list": View("/mod", instead="/model"),
    "working": View("", is_working=True),
    "working-draft": View("draft while working", is_working=True),
    "working-in-tool": View("", is_working=True),
    "working-queued": View("", is_working=True),
}

#: The kind of what is asked in each recording that shows a dialog, and how it begins. At the
#: start, nobody asks for the kind.
DIALOGS = {
    "dialog-model": ("question", "Select model"),
    "permission-bash": ("permission", "Bash command scripted touch made Do you want to"),
    "permission-edit": ("permission", "Create file foo.txt 1 hello there Do you want to"),
    "permission-fetch": ("permission", "Fetch Claude wants to fetch content"),
    "permission-lines": ("permission", "Bash command d │ echo one │ echo two"),
    "permission-read": ("permission", "Read file Read(/etc/shadow)"),
    "permission-refused": ("permission", "Bash command d"),
    "permission-refusing": ("permission", "Bash command d"),
    "plan": ("permission", "Claude has written up a plan"),
    "plan-change": ("permission", "Claude has written up a plan"),
    "plan-changed": ("permission", "Claude has written up a plan"),
    "plan-short": ("permission", "Exit plan mode?"),
    "question-free": ("question", "☐ Colour Which colour?"),
    "question-typed": ("question", "☐ Colour Which colour?"),
    "questions": ("question", "←  ☐ Colour"),
    "questions-review": ("question", "←  ☒ Colour"),
    "questions-ticked": ("question", "←  ☒ Colour"),
    "questions-ticks": ("question", "←  ☒ Colour"),
    "question": ("question", "☐ Colour Which colour?"),
    "start-api-key": ("", "Detected a custom API key in your environment"),
    "start-auto-mode": ("", "Make auto mode your default permission mode?"),
    "start-trust": ("", "Accessing workspace: /tmp/p Quick safety check"),
}


def turn_of(name: str) -> str:
    """Return the id that Claude gives the turn of a hook."""
    return str(RECORDED.hook(name)["prompt_id"])


def ended(name: str, words: str, how: facts.How = "finished", *, commands: int = 0) -> Fact:
    return facts.TurnEnded(S, words, how, turn_of(name), commands)


def paused(name: str, words: str, *, commands: int = 0) -> Fact:
    return facts.TurnPaused(S, words, turn_of(name), subagents=1, commands=commands)


def resumed(name: str, report: str) -> Fact:
    return facts.TurnStarted(S, report, turn_of(name), resumes=True)


def used(name: str, call: str, subagent: str = "") -> Fact:
    """Return the fact of a recorded hook, which has the call's own id."""
    payload = RECORDED.hook(name)
    tool, call_id = str(payload["tool_name"]), str(payload["tool_use_id"])
    failure = str(payload.get("error", ""))
    return facts.ToolUsed(S, tool, call, subagent, call_id, failure=failure)


def called(name: str, argument: str) -> Fact:
    """Return the fact of a recorded hook, which has the call's own id."""
    payload = RECORDED.hook(name)
    tool, call_id = str(payload["tool_name"]), str(payload["tool_use_id"])
    return facts.ToolCalled(S, tool, argument, call_id)


#: What each recorded hook tells.
TOLD: dict[str, list[Fact]] = {
    "ConfigChange.user_settings": [facts.Noted(S, "ConfigChange", "user_settings")],
    "MessageDisplay": [facts.Noted(S, "MessageDisplay")],
    "Notification.idle_prompt": [
        facts.Noted(S, "Notification", "Claude is waiting for your input")
    ],
    "Notification.permission_prompt": [
        facts.Noted(S, "Notification", "Claude needs your permission")
    ],
    "PermissionRequest": [],
    "PermissionRequest.AskUserQuestion": [],
    "PermissionRequest.Write": [],
    "PermissionRequest.in_subagent": [],
    "PostModelSwitch": [facts.Noted(S, "PostModelSwitch", "command")],
    "PostCompact": [ended("PostCompact", "The conversation was compacted.")],
    "PostToolBatch": [facts.Noted(S, "PostToolBatch")],
    "PostToolUse": [used("PostToolUse", digest("Bash", {"command": "touch made"}))],
    "PostToolUse.Agent": [used("PostToolUse.Agent", RECORDED.call("PostToolUse.Agent"))],
    "PostToolUse.AskUserQuestion": [
        used("PostToolUse.AskUserQuestion", RECORDED.call("PostToolUse.AskUserQuestion"))
    ],
    "PostToolUse.Write": [used("PostToolUse.Write", RECORDED.call("PreToolUse.Write"))],
    "PostToolUse.in_subagent": [
        used(
            "PostToolUse.in_subagent",
            RECORDED.call("PreToolUse.in_subagent"),
            str(RECORDED.hook("PostToolUse.in_subagent")["agent_id"]),
        )
    ],
    "PostToolUseFailure": [used("PostToolUseFailure", digest("Bash", {"command": "false"}))],
    "PreCompact": [facts.TurnStarted(S, "/compact", turn_of("PreCompact"))],
    "PreToolUse": [called("PreToolUse", "touch one.txt")],
    "PreToolUse.Agent": [called("PreToolUse.Agent", "d")],
    "PreToolUse.AskUserQuestion": [called("PreToolUse.AskUserQuestion", "Which colour?")],
    "PreToolUse.Write": [called("PreToolUse.Write", "/code/project/w1.txt")],
    "PreToolUse.in_subagent": [called("PreToolUse.in_subagent", "touch sub.txt")],
    "SessionEnd.clear": [facts.ConversationLeft(S, "clear")],
    "SessionEnd.other": [facts.SessionEnded(S, "it ended")],
    "SessionEnd.prompt_input_exit": [facts.SessionEnded(S, "it ended: prompt_input_exit")],
    "SessionStart.clear": [facts.SessionStarted(S, "", LATER_TRANSCRIPT)],
    "SessionStart.compact": [facts.SessionStarted(S, "claude-sonnet-5-5", TRANSCRIPT)],
    "SessionStart.resume": [facts.SessionStarted(S, "", LATER_TRANSCRIPT)],
    "SessionStart.startup": [facts.SessionStarted(S, "claude-opus-5-5", TRANSCRIPT)],
    "Stop": [ended("Stop", "done manual")],
    "Stop.stop_hook_active": [ended("Stop.stop_hook_active", "second answer")],
    "Stop.with_background_command": [
        ended("Stop.with_background_command", "server is started", commands=1)
    ],
    "Stop.with_background_tasks": [paused("Stop.with_background_tasks", "main after sub")],
    "Stop.with_subagent_and_command": [
        paused("Stop.with_subagent_and_command", "main has delegated", commands=1)
    ],
    "StopFailure": [ended("StopFailure", "API Error: 400 bad request thing", "failed")],
    "SubagentStart": [facts.Noted(S, "SubagentStart", "general-purpose")],
    "SubagentStop": [facts.Noted(S, "SubagentStop", "general-purpose")],
    "SubagentStop.of_compaction": [facts.Noted(S, "SubagentStop")],
    "UserPromptSubmit.command_ended": [
        resumed(
            "UserPromptSubmit.command_ended",
            'Background command "dev server" completed (exit code 0)',
        )
    ],
    "UserPromptSubmit.subagent_stopped": [
        resumed(
            "UserPromptSubmit.subagent_stopped",
            'Background agent "part" was stopped by the user.',
        )
    ],
    "UserPromptSubmit.task_notification": [
        resumed("UserPromptSubmit.task_notification", 'Agent "d" finished')
    ],
    "UserPromptSubmit": [
        facts.TurnStarted(
            S,
            "bash: touch made;; result:;; say: done manual",
            turn_of("UserPromptSubmit"),
        ),
    ],
}

_SENDER = partial(Sender, "claude", NativeId(NATIVE), "/code/project")

CASE = AgentCase(
    agent="claude",
    recordings=RECORDED,
    boxes=BOXES,
    dialogs=DIALOGS,
    told=TOLD,
    senders={
        "SessionStart.startup": _SENDER(
            "SessionStart", TRANSCRIPT, model="claude-opus-5-5", is_new=True
        ),
        "Stop": _SENDER("Stop", TRANSCRIPT, permission_mode="default"),
    },
    placeholders=("[Pasted text #1 +20 lines]", "[Pasted text #2]"),
    undrawn=("Loading …", "─" * 40),
    runs_exclamations=True,
)
