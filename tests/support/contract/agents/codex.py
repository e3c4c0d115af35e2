"""What the recordings of Codex say."""

from __future__ import annotations

from functools import partial

from rookery.model import facts
from rookery.model.facts import Fact
from rookery.model.permissions import digest
from rookery.model.screens import View
from rookery.model.sessions import NativeId, Sender
from tests.support.contract.agents.case import AgentCase, S, recorded

RECORDED = recorded("codex-0.166.0")

NATIVE = "01a1de06-53c2-7212-8a45-8a95c327ebea"
DAY = "/home/user/.codex/sessions/2026/11/15"
TRANSCRIPT = f"{DAY}/rollout-2026-11-15T07-05-19-{NATIVE}.jsonl"
LATER_DAY = "/home/person/.codex/sessions/2026/11/15"
LATER_NATIVE = "01a1df41-87e1-78e3-829d-233207042e82"
LATER_TRANSCRIPT = f"{LATER_DAY}/rollout-2026-11-15T12-49-36-{LATER_NATIVE}.jsonl"

#: What stands in the box, and whether it works, in each recording that shows the box.
BOXES = {
    "answered": View(""),
    "history-search": View(obstacle="its history search is open"),
    "history-search-typed": View(obstacle="its history search is open"),
    "bang-pasted": View("!touch made"),
    "cleared": View(""),
    "draft": View("half a thou"),
    "failed": View(""),
    "idle": View(""),
    "interrupted": View(""),
    "pasted-lines": View("a b c\nd e f\n\ng h i"),
    "pasted-long": View("[Pasted Content 1800 chars]"),
    "permitted": View(""),
    "quit-typed": View("/quit"),
    "refused": View(""),
    "slash-list": View("/mod", instead="/model"),
    "working": View("", is_working=True),
    "working-draft": View("draft while working", is_working=True),
    "working-in-tool": View("", is_working=True),
}

#: The kind of what is asked in each recording that shows a dialog, and how it begins. At the
#: start, nobody asks for the kind.
DIALOGS = {
    "at-list": ("question", ""),
    "dialog-model": ("question", "Select Model"),
    "dialog-permissions": ("question", "Update Model Permissions"),
    "permission": ("permission", "Would you like to run the following command? Environment"),
    "start-hooks": ("", "Hooks need review"),
    "start-model-offer": ("", "Meet GPT-6 Sol"),
    "start-trust": ("", "Folder access"),
}


def turn_of(name: str) -> str:
    """Return the id that Codex gives the turn of a hook."""
    return str(RECORDED.hook(name)["turn_id"])


def used(name: str, call: str) -> Fact:
    """Return the fact of a recorded hook, which has the call's own id and its folder."""
    payload = RECORDED.hook(name)
    tool, call_id = str(payload["tool_name"]), str(payload["tool_use_id"])
    return facts.ToolUsed(S, tool, call, call_id=call_id, folder=str(payload["cwd"]))


def called(name: str, argument: str) -> Fact:
    """Return the fact of a recorded hook, which has the call's own id."""
    payload = RECORDED.hook(name)
    tool, call_id = str(payload["tool_name"]), str(payload["tool_use_id"])
    return facts.ToolCalled(S, tool, argument, call_id)


#: What each recorded hook tells.
TOLD: dict[str, list[Fact]] = {
    "Interrupt": [facts.TurnEnded(S, "", "interrupted", turn_of("Interrupt"))],
    "PermissionRequest": [],
    "PostCompact": [
        facts.TurnEnded(S, "The conversation was compacted.", turn=turn_of("PostCompact"))
    ],
    "PostToolUse": [used("PostToolUse", digest("Bash", {"command": "echo inside"}))],
    "PostToolUse.apply_patch": [
        used("PostToolUse.apply_patch", RECORDED.call("PreToolUse.apply_patch"))
    ],
    "PostToolUse.request_user_input": [
        used("PostToolUse.request_user_input", RECORDED.call("PreToolUse.request_user_input"))
    ],
    "PreCompact": [facts.TurnStarted(S, "/compact", turn_of("PreCompact"))],
    "PreToolUse": [called("PreToolUse", "echo hi")],
    "PreToolUse.apply_patch": [called("PreToolUse.apply_patch", "/code/project/new.txt")],
    "PreToolUse.request_user_input": [called("PreToolUse.request_user_input", "Which colour?")],
    "SessionEnd": [facts.SessionEnded(S, "it ended")],
    "SessionStart": [facts.SessionStarted(S, "fake-model", TRANSCRIPT)],
    "SessionStart.resume": [facts.SessionStarted(S, "gpt-5.5", LATER_TRANSCRIPT)],
    "Stop.stop_hook_active": [
        facts.TurnEnded(S, "second answer", turn=turn_of("Stop.stop_hook_active"))
    ],
    "Stop": [facts.TurnEnded(S, "line two", turn=turn_of("Stop"))],
    "UserPromptSubmit": [
        facts.TurnStarted(
            S,
            "say: line one\nsay: line two",
            turn_of("UserPromptSubmit"),
            is_taken_in=True,
        )
    ],
}

_SENDER = partial(Sender, "codex", NativeId(NATIVE), "/code/project")

CASE = AgentCase(
    agent="codex",
    recordings=RECORDED,
    boxes=BOXES,
    dialogs=DIALOGS,
    told=TOLD,
    senders={
        "SessionStart": _SENDER("SessionStart", TRANSCRIPT, model="fake-model", is_new=True),
        "Stop": _SENDER("Stop", TRANSCRIPT, model="fake-model"),
    },
    placeholders=("[Pasted Content 1800 chars]", "[Pasted Content 1800 chars] #2"),
    undrawn=("Loading …", "─" * 40),
    runs_exclamations=True,
)
