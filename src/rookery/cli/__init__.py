"""The command line: it sends requests to the daemon and prints the answers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from rookery.cli import exit_codes
from rookery.cli.failures import SYSTEM_CODE, report_error, report_refusal, report_usage
from rookery.cli.options import home
from rookery.cli.program_name import with_program_name_in_prose
from rookery.cli.root import rookery
from rookery.client import Client
from rookery.model.errors import RookeryError


def _give_up_output() -> None:
    """Redirect stdout to /dev/null, so that Python does not retry a failed write at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace_closed_streams() -> None:
    """Open /dev/null for each standard stream that the caller has closed.

    Otherwise Python has no object to write to, and a socket may get the stream's descriptor.
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
    except click.exceptions.NoArgsIsHelpError as error:  # a group without a command
        click.echo(with_program_name_in_prose(error.ctx.get_help()) if error.ctx else "")
        sys.exit(0)
    except click.ClickException as error:
        report_usage(error)
        sys.exit(error.exit_code)
    except RookeryError as error:
        report_refusal(error, home())
    except BrokenPipeError:
        sys.stderr.close()  # the reader has closed the pipe, which is not a failure
    except OSError as error:
        _give_up_output()
        problem = error.filename or "the output cannot be written"
        report_error(SYSTEM_CODE, f"{problem}: {error.strerror or error}")
        sys.exit(exit_codes.FAILED)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(exit_codes.INTERRUPTED)
