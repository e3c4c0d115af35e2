"""The exit codes: what a script may rely on. They are listed in docs/reference/commands.md."""

from __future__ import annotations

FAILED, USAGE, NOT_RUNNING, NOT_DONE_IN_TIME, UNKNOWN = 1, 2, 3, 4, 5

#: Stopped with Ctrl-C.
INTERRUPTED = 130

#: What a refusal of the daemon comes to; any other is a failure.
OF_REFUSALS = {
    "still-working": NOT_DONE_IN_TIME,
    "session-unknown": UNKNOWN,
    "relay-unknown": UNKNOWN,
    "request-unknown": UNKNOWN,
    "message-unknown": UNKNOWN,
    "token-unknown": UNKNOWN,
    "bad-input": USAGE,
    "not-found": USAGE,
    "agent-unknown": USAGE,
    "program-missing": USAGE,
    "project-unknown": USAGE,
    "words-refused": USAGE,
}
