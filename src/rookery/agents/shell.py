"""Any terminal program: no hooks, no turns of its own, a screen that cannot be read.

Level: observed. Quiet for a while is idle; what it newly printed is its answer.
"""

from __future__ import annotations

from rookery.model.messages import folded
from rookery.model.screens import shape
from rookery.ports.agent import Abilities, Agent, CommandLine, InputDialect, LaunchSpec
from rookery.ports.terminal import Printed

#: Bytes kept of one answer, and of these for the line that says what is missing.
MAX_ANSWER_BYTES, MAX_HEAD_BYTES = 64_000, 80

#: What prompts end in.
SIGILS = ("$", "#", "%", ">", "❯", "➜")


def command_line(spec: LaunchSpec) -> CommandLine:
    return CommandLine(spec.command, {})


SHELL = Agent(
    name="shell",
    program="",
    abilities=Abilities(),
    modes={},
    command_line=command_line,
    input=InputDialect(quiet=1.5, interrupt=("ctrl-c",)),
)


def answer(printed: Printed, words: str) -> str:
    """Return what a program printed after ``words``: without them, and what it rests on."""
    lines = [line.rstrip() for line in printed.lines]
    if not printed.rest and (own := _after_own_prompt(lines, words)) is not None:
        return _shortened("\n".join(own).strip("\n"), is_whole=True)
    rows = _without_echo(lines, printed.rest, words)
    said = "\n".join(_without_rest(rows, printed.rest)).strip("\n")
    return _shortened(said, is_whole=printed.is_whole)


def _after_own_prompt(rows: list[str], words: str) -> list[str] | None:
    """Return what stands between the words behind a prompt and the same prompt at the end.

    A shell that was busy when they were typed shows them twice: where they were typed, and
    behind its prompt, once it reads them. What is printed before that is of other words.
    """
    rest = next((row for row in reversed(rows) if row), "").strip()
    if not rest.endswith(SIGILS):
        return None
    echo = _squeezed(rest + words)
    end = max(number for number, row in enumerate(rows) if row)
    found = (number for number in range(end) if _squeezed(rows[number]) == echo)
    begin = next(found, None)
    return None if begin is None else rows[begin + 1 : end]


def _without_echo(rows: list[str], rest: str, words: str) -> list[str]:
    """Take out the words themselves: they stand where the program rested, if it shows them."""
    first = next((number for number, row in enumerate(rows) if row), len(rows))
    typed = {_squeezed(words), _squeezed(folded(words))}
    before = _squeezed(rest)
    shown = ""
    for number in range(first, len(rows)):
        shown += _squeezed(rows[number])
        if shown in typed or shown.removeprefix(before) in typed:
            return rows[number + 1 :]
        if not any((before + each).startswith(shown) for each in typed):
            break  # no line that was wrapped, then; but it may have been drawn anew
    lasts = (words.strip().split("\n")[-1].rstrip(), folded(words))
    for number, row in enumerate(rows[: first + words.count("\n") + 1]):
        if any(row.endswith(last) and _is_alike(row[: -len(last)], rest) for last in lasts):
            return rows[number + 1 :]
    for number, row in enumerate(rows):
        if rest and _squeezed(row) in {before + each for each in typed}:
            return rows[:number] + rows[number + 1 :]
    return rows


def _without_rest(rows: list[str], rest: str) -> list[str]:
    """Take out the line that the program rests on now, if it is like the one before."""
    if not rows or not rest:
        return rows
    *said, last = rows
    if _is_alike(last, rest):
        return said
    if rest.endswith(SIGILS) and last.endswith(rest):
        return [*said, last.removesuffix(rest)]  # it did not end its last line
    return rows


def _is_alike(row: str, rest: str) -> bool:
    """Whether a program may rest on either: the same prompt, or a status that goes on."""
    row, rest = row.strip(), rest.strip()
    if row == rest:
        return True
    if not row or not rest or row.endswith(("?", ":")):
        return False  # a question is something new, however much it is like the last one
    if row.endswith(SIGILS) and row[-1] == rest[-1]:
        # One that tells the folder, for instance; or that stood behind an unended line.
        return row[0] == rest[0] or rest.endswith(row)
    return shape(row) == shape(rest)


def _shortened(said: str, *, is_whole: bool) -> str:
    """Keep the end of what is too long, and say what is missing."""
    head = "" if is_whole else "… (the beginning has scrolled away)\n"
    if len(said.encode()) + len(head.encode()) <= MAX_ANSWER_BYTES:
        return head + said if said else ""
    kept = said.encode()[-MAX_ANSWER_BYTES + MAX_HEAD_BYTES :].decode(errors="ignore")
    return f"… ({len(said) - len(kept):,} characters before this)\n{kept}"


def _squeezed(text: str) -> str:
    return "".join(text.split())
