"""Any terminal program: no hooks, no turns of its own, a screen that cannot be parsed.

Level: observed. A program that is quiet for a while counts as idle, and the text that it has
printed since the message is its answer.
"""

from __future__ import annotations

from rookery.agents import names
from rookery.model.messages import folded
from rookery.model.screens import shape
from rookery.ports.agent import Abilities, Agent, CommandLine, InputDialect, LaunchSpec
from rookery.ports.terminal import Printed

#: Maximum bytes of one answer, and the part of them for a line that reports what is missing.
MAX_ANSWER_BYTES, MAX_HEAD_BYTES = 64_000, 80

#: Characters with which the prompts of shells end.
SIGILS = ("$", "#", "%", ">", "❯", "➜")


def command_line(spec: LaunchSpec) -> CommandLine:
    return CommandLine(spec.command, {})


SHELL = Agent(
    name=names.SHELL,
    program="",
    abilities=Abilities(),
    modes={},
    command_line=command_line,
    input=InputDialect(quiet=1.5, interrupt=("ctrl-c",)),
)


def answer(printed: Printed, words: str) -> str:
    """Return the output after ``words``, without their echo and without the last prompt."""
    lines = [line.rstrip() for line in printed.lines]
    if not printed.rest and (after_prompt := _after_own_prompt(lines, words)) is not None:
        return _shortened("\n".join(after_prompt).strip("\n"), is_whole=True)
    rows = _without_echo(lines, printed.rest, words)
    output = "\n".join(_without_rest(rows, printed.rest)).strip("\n")
    return _shortened(output, is_whole=printed.is_whole)


def _after_own_prompt(rows: list[str], words: str) -> list[str] | None:
    """Return the rows between the echo of ``words`` at a prompt and the same prompt at the end.

    A shell that was busy shows typed text twice: where it was typed, and at its prompt once it
    reads it. Output before the second echo belongs to an earlier command.
    """
    rest = next((row for row in reversed(rows) if row), "").strip()
    if not rest.endswith(SIGILS):
        return None
    echo = _squeezed(rest + words)
    end = max(number for number, row in enumerate(rows) if row)
    echo_rows = (number for number in range(end) if _squeezed(rows[number]) == echo)
    begin = next(echo_rows, None)
    return None if begin is None else rows[begin + 1 : end]


def _without_echo(rows: list[str], rest: str, words: str) -> list[str]:
    """Remove the echo of ``words``, which begins where the program's prompt was."""
    first = next((number for number, row in enumerate(rows) if row), len(rows))
    typed = {_squeezed(words), _squeezed(folded(words))}
    before = _squeezed(rest)
    shown = ""
    for number in range(first, len(rows)):
        shown += _squeezed(rows[number])
        if shown in typed or shown.removeprefix(before) in typed:
            return rows[number + 1 :]
        if not any((before + each).startswith(shown) for each in typed):
            break  # the row is no wrapped part of the echo; but the line may have been redrawn
    lasts = (words.strip().split("\n")[-1].rstrip(), folded(words))
    for number, row in enumerate(rows[: first + words.count("\n") + 1]):
        if any(row.endswith(last) and _is_alike(row[: -len(last)], rest) for last in lasts):
            return rows[number + 1 :]
    for number, row in enumerate(rows):
        if rest and _squeezed(row) in {before + each for each in typed}:
            return rows[:number] + rows[number + 1 :]
    return rows


def _without_rest(rows: list[str], rest: str) -> list[str]:
    """Remove the last row if it is a prompt like the one before the message."""
    if not rows or not rest:
        return rows
    *output, last = rows
    if _is_alike(last, rest):
        return output
    if rest.endswith(SIGILS) and last.endswith(rest):
        return [*output, last.removesuffix(rest)]  # the output did not end with a line break
    return rows


def _is_alike(row: str, rest: str) -> bool:
    """Return whether two rows are the same prompt, or the same status with other numbers."""
    row, rest = row.strip(), rest.strip()
    if row == rest:
        return True
    if not row or not rest or row.endswith(("?", ":")):
        return False  # a question is new output, however similar to the row before
    if row.endswith(SIGILS) and row[-1] == rest[-1]:
        # Prompts may contain the folder, or follow output without a line break.
        return row[0] == rest[0] or rest.endswith(row)
    return shape(row) == shape(rest)


def _shortened(output: str, *, is_whole: bool) -> str:
    """Keep the end of a text that is too long, with a note on what is missing."""
    head = "" if is_whole else "… (the beginning has scrolled away)\n"
    if len(output.encode()) + len(head.encode()) <= MAX_ANSWER_BYTES:
        return head + output if output else ""
    end = output.encode()[-MAX_ANSWER_BYTES + MAX_HEAD_BYTES :].decode(errors="ignore")
    return f"… ({len(output) - len(end):,} characters before this)\n{end}"


def _squeezed(text: str) -> str:
    return "".join(text.split())
