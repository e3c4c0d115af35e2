"""The table of all tools that agents can call."""

from __future__ import annotations

from typing import Any

from rookery.api.mcp import person_tools, session_tools, word_tools
from rookery.api.mcp.context import Tool

TOOLS: tuple[Tool[Any, Any], ...] = (
    *session_tools.TOOLS,
    *word_tools.TOOLS,
    *person_tools.TOOLS,
)
