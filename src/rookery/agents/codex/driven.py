"""Codex without a terminal: how its app-server is started, and the thread opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.agents.codex.launch_settings import hook_settings, tool_settings
from rookery.model.errors import BadInput
from rookery.ports.agent import CommandLine, DriverLine, LaunchSpec

#: The hooks of a driven session: they add context to prompts, decide about calls that Codex
#: runs unasked, find changed files and hold a stop. The protocol reports and asks all else.
_HOOKS = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")

#: The parameters of a thread for the modes with Rookery's names; see ``agent.MODES``.
_OUR_MODES: Mapping[str, Mapping[str, str]] = {
    "plan": {"sandbox": "read-only", "approvalPolicy": "never"},
    "default": {
        "sandbox": "read-only",
        "approvalPolicy": "on-request",
        # The user's settings can name a model as the reviewer.
        "approvalsReviewer": "user",
    },
}


def driver_line(spec: LaunchSpec) -> DriverLine:
    """Return how ``codex app-server`` is started. Raises ``BadInput``."""
    if spec.allowed_tools:
        raise BadInput(
            "Codex takes no list of allowed tools. Choose a permission mode, or write rules."
        )
    argv = [*spec.command, "app-server"]
    for setting in (*hook_settings(spec.hook, _HOOKS), *tool_settings(spec.tools)):
        argv += ["-c", setting]
    method, thread = _conversation(spec)
    options = {"method": method, "params": {**thread, **_settings(spec)}}
    return DriverLine("codex", CommandLine(tuple(argv), {}), options)


def _conversation(spec: LaunchSpec) -> tuple[str, Mapping[str, Any]]:
    """Return the request that opens the thread, and its parameters."""
    if spec.resumes:
        return "thread/resume", {"threadId": spec.native_id, "excludeTurns": True}
    if spec.forks:
        return "thread/fork", {"threadId": spec.forks, "excludeTurns": True}
    return "thread/start", {}


def _settings(spec: LaunchSpec) -> Mapping[str, Any]:
    settings: dict[str, Any] = {}
    if spec.model:
        settings["model"] = spec.model
    if spec.permission_mode:
        mode = _OUR_MODES.get(spec.permission_mode, {"sandbox": spec.permission_mode})
        settings.update(mode)
    if spec.system_prompt:
        settings["developerInstructions"] = spec.system_prompt
    return settings
