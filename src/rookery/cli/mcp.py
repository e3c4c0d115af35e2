"""The command that agents run as their MCP server."""

from __future__ import annotations

import click

from rookery.cli.options import home
from rookery.programs import mcp_bridge


@click.command()
def mcp() -> None:
    """Be an MCP server on standard input and output: the tools for agents."""
    mcp_bridge.serve(str(home().door))
