"""The command line: a face that asks the daemon and shows what it says."""

from __future__ import annotations

import sys

import click

from rookery.cli import codes
from rookery.cli.group import home, rookery
from rookery.cli.show import complain
from rookery.client import CutOff
from rookery.model.errors import Answered, BadInput, NotRunning, RookeryError


def main() -> None:
    try:
        # Not standalone: click would call a command that is stopped with Ctrl-C a failure.
        sys.exit(rookery(prog_name="rookery", standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Answered as refusal:
        complain(str(refusal))
        sys.exit(codes.OF_REFUSALS.get(refusal.code, codes.FAILED))
    except CutOff as error:
        complain(str(error))
        sys.exit(codes.NOT_RUNNING)
    except NotRunning as error:
        complain(f"{error}  (its home: {home().state})")
        sys.exit(codes.NOT_RUNNING)
    except RookeryError as error:
        complain(str(error))
        sys.exit(codes.USAGE if isinstance(error, BadInput) else codes.FAILED)
    except BrokenPipeError:
        sys.stderr.close()  # who read us has left: as with any other program, that is all right
    except (click.Abort, KeyboardInterrupt):
        sys.exit(codes.INTERRUPTED)
