"""The command line: it sends requests to the daemon and prints the answers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from rookery.cli import exit_codes
from rookery.cli.daemon_process import advice_on_stall
from rookery.cli.options import home
from rookery.cli.render import complain
from rookery.cli.root import rookery
from rookery.client import Client, ConnectionLost
from rookery.home import Home
from rookery.model.errors import Answered, BadInput, NotRunning, RookeryError, TimedOut


def _code_of(error: RookeryError) -> int:
    match error:
        case Answered(code=code):
            return exit_codes.OF_REFUSALS.get(code, exit_codes.FAILED)
        case NotRunning():
            return exit_codes.NOT_RUNNING
        case BadInput():
            return exit_codes.USAGE
        case TimedOut():
            return exit_codes.NOT_DONE_IN_TIME
        case _:
            return exit_codes.FAILED


def explain(error: RookeryError, here: Home) -> str:
    """Return the text that a command prints for an error: what happened and what to do."""
    match error:
        case TimedOut():
            return f"{error} {advice_on_stall(here)}"
        case NotRunning() if not isinstance(error, ConnectionLost):
            return f"{error}  (its home: {here.state})"
        case _:
            return str(error)


def _give_up_output() -> None:
    """Redirect stdout to /dev/null, so that Python does not retry a failed write at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace_closed_streams() -> None:
    """Open /dev/null for each standard stream that the caller has closed.

    Otherwise Python has no object to write to, and a socket may get the stream's number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - open until exit


def main(client: Client | None = None) -> None:
    """Run the command in ``sys.argv`` with the given client or the one for this home."""
    _replace_closed_streams()
    try:
        # Not standalone: click would exit with 1 for a command stopped with Ctrl-C.
        sys.exit(rookery(prog_name="rookery", standalone_mode=False, obj=client))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except RookeryError as error:
        complain(explain(error, home()))
        sys.exit(_code_of(error))
    except BrokenPipeError:
        sys.stderr.close()  # the reader has closed the pipe, which is not a failure
    except OSError as error:
        _give_up_output()
        problem = error.filename or "the output cannot be written"
        complain(f"{problem}: {error.strerror or error}")
        sys.exit(exit_codes.FAILED)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(exit_codes.INTERRUPTED)
