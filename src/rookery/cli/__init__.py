"""The command line: a face that asks the daemon and shows what it says."""

from __future__ import annotations

import sys

from rookery.cli import permissions, running, sessions, upkeep
from rookery.cli.group import rookery
from rookery.cli.show import complain
from rookery.model.errors import Answered, BadInput, NotRunning, RookeryError

#: Each adds its commands to the root when it is imported.
COMMANDS = (running, sessions, permissions, upkeep)

#: What a script may rely on; documented in docs/reference/cli.md.
FAILED, USAGE, NOT_RUNNING, NOT_DONE_IN_TIME, UNKNOWN = 1, 2, 3, 4, 5

_CODES = {
    "still-working": NOT_DONE_IN_TIME,
    "session-unknown": UNKNOWN,
    "bad-input": USAGE,
    "agent-unknown": USAGE,
    "program-missing": USAGE,
    "project-unknown": USAGE,
    "words-refused": USAGE,
}


def main() -> None:
    try:
        rookery(prog_name="rookery")
    except Answered as refusal:
        complain(str(refusal))
        sys.exit(_CODES.get(refusal.code, FAILED))
    except NotRunning as error:
        complain(str(error))
        sys.exit(NOT_RUNNING)
    except RookeryError as error:
        complain(str(error))
        sys.exit(USAGE if isinstance(error, BadInput) else FAILED)
    except BrokenPipeError:
        sys.stderr.close()  # who read us has left: as with any other program, that is all right
    except KeyboardInterrupt:
        sys.exit(130)
