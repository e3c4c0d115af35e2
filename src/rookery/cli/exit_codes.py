"""The exit codes that scripts may rely on; docs/reference/commands.md lists them."""

from __future__ import annotations

FAILED, USAGE, NOT_RUNNING, NOT_DONE_IN_TIME, UNKNOWN = 1, 2, 3, 4, 5

#: The agent asks its person something, and the command does not wait for the answer.
PERSON_NEEDED = 6

#: Stopped with Ctrl-C.
INTERRUPTED = 130

#: The refusals that are about the caller: the daemon itself works.
REFUSED_CALLERS = frozenset({"forbidden", "unauthorized"})

#: The exit code for each refusal by the daemon; any other refusal is a failure.
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
    "profile-unknown": USAGE,
    "program-missing": USAGE,
    "project-unknown": USAGE,
    "words-refused": USAGE,
}
