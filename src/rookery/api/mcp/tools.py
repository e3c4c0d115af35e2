"""The table of all tools that agents can call."""

from __future__ import annotations

from typing import Any

from rookery.api.mcp.context import OnComputer, Tool, declared, written
from rookery.api.mcp.foreground_tools import background, foreground
from rookery.api.mcp.message_tools import (
    AnswerArguments,
    RelayIdArguments,
    RelaysArguments,
    StopParams,
    create_relay,
    run_agent_command,
    send_message,
)
from rookery.api.mcp.session_tools import (
    end_session,
    get_session_data,
    interrupt_session,
    list_sessions,
    resume_session,
    start_session,
)
from rookery.model.scopes import Need

TOOLS: tuple[Tool[Any, Any], ...] = (
    declared(
        "list_computers",
        "List the computers where sessions can be, and the agents that can be started there.",
        OnComputer,
        operation="computers",
    ),
    declared(
        "list_projects",
        "List the folders in which sessions work or worked, to start another in one of them.",
        OnComputer,
        operation="projects",
    ),
    written(Need.READ, list_sessions),
    written(Need.START, start_session),
    written(Need.START, resume_session),
    written(Need.READ, get_session_data),
    written(Need.END, interrupt_session),
    written(Need.END, end_session),
    declared(
        "session_stats",
        "Count sessions, turns, tokens and cost (in micro-dollars): all, by day, by agent.",
        OnComputer,
        operation="stats",
    ),
    written(Need.SPEAK, send_message),
    written(Need.END, run_agent_command),
    declared(
        "stop_notifications",
        "Be told no more of a session, which goes on. False if you were not waiting for it.",
        StopParams,
        operation="unlisten",
        renamed={"session_id": "target", "caller_session_id": "caller"},
    ),
    written(Need.SPEAK, create_relay),
    declared(
        "close_relay",
        "End a relay that you are in; the others are told, and go on by themselves.",
        RelayIdArguments,
        operation="relay_close",
        renamed={"relay_id": "relay"},
    ),
    declared(
        "list_relays",
        "List the relays that you may see: who talks with whom, and which limit stopped one.",
        RelaysArguments,
        operation="relays",
        renamed={"session_id": "session", "include_closed": "all"},
    ),
    declared(
        "answer_permission",
        "Answer what a session that you started asks: allow or deny a tool call, or a question."
        "\n\nOnly where your person lets sessions do so; never for yourself or for who started"
        " you.",
        AnswerArguments,
        operation="answer_permission",
    ),
    written(Need.SPEAK, foreground),
    written(Need.SPEAK, background),
)
