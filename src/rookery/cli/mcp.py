"""The command that agents run to have tools."""

from __future__ import annotations

import importlib

from rookery.cli.root import home, rookery


@rookery.command()
def mcp() -> None:
    """Be an MCP server on standard input and output: the tools for agents."""
    # Only now: no other command needs it.
    importlib.import_module("rookery.programs.mcp_bridge").serve(str(home().door))
