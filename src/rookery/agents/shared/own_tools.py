"""The names of Rookery's own MCP tools, which check the badge of each caller. Pure."""

from __future__ import annotations

#: The names as Rookery's MCP server lists them. A pattern such as ``mcp__rookery__*`` would
#: also match the tools of another server whose name begins with the same word.
OWN_TOOLS = (
    "list_computers",
    "list_projects",
    "list_sessions",
    "start_session",
    "resume_session",
    "get_session_data",
    "interrupt_session",
    "end_session",
    "session_stats",
    "send_message",
    "run_agent_command",
    "stop_notifications",
    "create_relay",
    "close_relay",
    "list_relays",
    "answer_permission",
    "foreground",
    "background",
)


def named(prefix: str) -> tuple[str, ...]:
    """Return the names under which an agent reports the tools."""
    return tuple(f"{prefix}{tool}" for tool in OWN_TOOLS)
