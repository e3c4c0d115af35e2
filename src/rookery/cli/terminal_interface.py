"""The command that opens the terminal interface."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rookery.agents.names import RUNTIMES
from rookery.cli.options import examples, pass_client
from rookery.cli.root import TUI_LIBRARY
from rookery.cli.start_options import environment_here
from rookery.client import Client
from rookery.model.errors import BadInput
from rookery.quick_python_import import import_quickly


@click.command(epilog=examples("rookery tui", "NO_COLOR=1 rookery tui"))
@pass_client
def tui(daemon: Client) -> None:
    """Open the list of sessions in this terminal: answer, send, start and attach by keys."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("the interface needs a terminal; use `rookery ls`.")
    open_interface(daemon)


def open_interface(daemon: Client) -> None:
    """Show the interface until the user leaves it."""
    try:
        # Imported by name: all other commands must not load the library.
        app = import_quickly("rookery.tui.app")
        base = import_quickly("rookery.tui.board_screen")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != TUI_LIBRARY:
            raise
        install = "in the clone of Rookery:  pipx install '.[tui]'"
        raise BadInput(f"the terminal interface is not installed. Run {install}") from error
    app.run(
        base.TuiSetup(
            daemon=daemon,
            agents=RUNTIMES,
            program=(sys.executable, "-m", "rookery"),
            folder=str(Path.cwd()),
            environment=environment_here(),
        )
    )
