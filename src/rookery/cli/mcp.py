"""The command that agents run as their MCP server."""

from __future__ import annotations

import click

from rookery.cli.options import examples, home
from rookery.programs import mcp_bridge


@click.command(epilog=examples("rookery mcp"))
def mcp() -> None:
    """Serve Rookery's tools for agents over MCP, on standard input and output."""
    mcp_bridge.serve(str(home().door))
