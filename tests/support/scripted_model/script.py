r"""The language of prompts: directives, and the responses they make. Pure.

A directive begins a line or follows ``;;``. Whatever else stands in a prompt is ignored; but
a prompt without directives that says ``Use rookery__NAME(…)`` is obeyed; a question that is to
be answered with its second option.

    say: TEXT             words; ``\n`` is a new line
    words: N              so many words
    think: TEXT           reasoning
    tool: NAME {JSON}     a tool call; the steps after it are the next response; to OpenCode,
                          {"nested": N} in it is N lists in each other
    and: NAME {JSON}      one more call in the same response
    bash: COMMAND         a call of whichever shell tool the program has
    write: PATH TEXT      a call of whichever tool it has to write files
    result:               says what the latest tool call resulted in
    saw: REGEX            says whether the request contains that
    sleep: SECONDS        the stream stays alive meanwhile
    slow: N               words a second from now on; 0 is all at once
    gate: NAME            waits until the test opens it
    usage: in=1 out=2 cache_read=3 cache_write=4    instead of what was counted
    stop: REASON          why the response ended: max_tokens, refusal
    error: 529 x2 TEXT    an HTTP error, for the first tries or without ``x2`` for all
    sse_error: TYPE       an error in the middle of the stream
    cut:                  the connection drops
    hang:                 nothing more comes
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.support.scripted_model.steps import (
    AnyCall,
    Call,
    Cut,
    Error,
    Gate,
    Result,
    Saw,
    Say,
    Shell,
    Sleep,
    Slow,
    Step,
    Stop,
    StreamError,
    Think,
    Usage,
    Write,
)

_HINT = re.compile(r"Use (rookery__\w+)\(((?:\w+='[^']*'(?:, )?)*)(\.\.\.)?\)")
_ARGUMENT = re.compile(r"(\w+)='([^']*)'")
_END = re.compile(r"\n|;;|\Z")
_NAME = re.compile(r"([^\s;{]+)[ \t]*")
_COUNT = re.compile(r"[0-9]{1,6}")
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_FIGURE = re.compile(r"(in|out|cache_read|cache_write)=([0-9]{1,12})(?:\s+|\Z)")
_ERROR = re.compile(r"([45][0-9]{2})(?:\s+x([0-9]{1,6}))?(?:\s+(.*))?", re.DOTALL)


def read(prompt: str) -> Iterator[Step]:
    """Read the steps of ``prompt``; a directive that is not understood says so."""
    at = 0
    while found := _DIRECTIVE.search(prompt, at):
        verb, start = found[1], found.end()
        if verb in _CALLS:
            at = _end_of_call(prompt, start)
            text = prompt[start:at].strip()
        else:
            at = _end(prompt, start)
            text = prompt[start:at].strip().replace("\\n", "\n")
        yield _READERS[verb](text) or Say(f"Not understood: {verb}: {text}")


def hinted(prompt: str) -> Iterator[Step]:
    """Read the calls that ``prompt`` tells to make, word for word."""
    for name, arguments, more in _HINT.findall(prompt):
        given = dict(_ARGUMENT.findall(arguments))
        if more and "answer_to" in given:
            given["message"] = "2"  # what is left open: it takes the second option
        elif more:
            continue
        yield Call(name, given)
        yield Result()


def is_script(text: str) -> bool:
    return bool(_DIRECTIVE.search(text))


def begins_script(text: str) -> bool:
    return bool(_DIRECTIVE.match(text))


def responses(steps: Iterable[Step]) -> list[tuple[Step, ...]]:
    """Part steps into responses: each ends with its calls, the last with none."""
    parts: list[tuple[Step, ...]] = [()]
    for step in steps:
        joins = isinstance(step, Call) and step.is_parallel
        if _calls(parts[-1][-1:]) and not joins:
            parts.append(())
        parts[-1] += (step,)
    return [*parts, ()] if _calls(parts[-1]) else parts


def due(parts: Sequence[Sequence[Step]], calls: int) -> int:
    """Return the number of the response that is due when so many calls have been made."""
    made = 0
    for number, part in enumerate(parts[:-1]):
        if made >= calls:
            return number
        made += _calls(part)
    return len(parts) - 1


def _calls(steps: Iterable[Step]) -> int:
    return sum(isinstance(step, AnyCall) for step in steps)


def _end(prompt: str, start: int) -> int:
    found = _END.search(prompt, start)
    return found.start() if found else len(prompt)


def _end_of_call(prompt: str, start: int) -> int:
    """Find the end of a call, whose arguments may go over many lines and contain ``;;``."""
    name = _NAME.match(prompt, start)
    if name and prompt.startswith("{", name.end()):
        try:
            return json.JSONDecoder().raw_decode(prompt, name.end())[1]
        except (ValueError, RecursionError):
            pass
    return _end(prompt, start)


def _words(text: str) -> Say | None:
    if not _COUNT.fullmatch(text):
        return None
    return Say(" ".join(f"word{number}" for number in range(int(text))))


def _tool(text: str) -> Call | None:
    return _call(text, is_parallel=False)


def _and(text: str) -> Call | None:
    return _call(text, is_parallel=True)


def _call(text: str, *, is_parallel: bool) -> Call | None:
    if (name := _NAME.match(text)) is None:
        return None
    try:
        arguments = json.loads(text[name.end() :] or "{}")
    except (ValueError, RecursionError):
        return None
    return Call(name[1], arguments, is_parallel) if isinstance(arguments, dict) else None


def _shell(text: str) -> Shell | None:
    return Shell(text) if text else None


def _write(text: str) -> Write | None:
    path, _, rest = text.partition(" ")
    return Write(path, rest) if path else None


def _result(text: str) -> Result | None:
    return None if text else Result()


def _saw(text: str) -> Saw | None:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return None
    return Saw(text)


def _sleep(text: str) -> Sleep | None:
    return Sleep(float(text)) if _NUMBER.fullmatch(text) else None


def _slow(text: str) -> Slow | None:
    return Slow(float(text)) if _NUMBER.fullmatch(text) else None


def _gate(text: str) -> Gate | None:
    return Gate(text) if text else None


def _usage(text: str) -> Usage | None:
    if _FIGURE.sub("", text):
        return None
    figures = {name: int(number) for name, number in _FIGURE.findall(text)}
    return Usage(
        figures.get("in"),
        figures.get("out"),
        figures.get("cache_read", 0),
        figures.get("cache_write", 0),
    )


def _error(text: str) -> Error | None:
    if (found := _ERROR.fullmatch(text)) is None:
        return None
    status, tries, message = found.groups()
    return Error(int(status), int(tries) if tries else None, message or "scripted error")


def _stream_error(text: str) -> StreamError:
    return StreamError(text or "overloaded_error")


def _cut(text: str) -> Cut | None:
    return None if text else Cut()


def _hang(text: str) -> Sleep | None:
    return None if text else Sleep(math.inf)


_CALLS = {"tool", "and"}
_READERS: dict[str, Callable[[str], Step | None]] = {
    "say": Say,
    "words": _words,
    "think": Think,
    "tool": _tool,
    "and": _and,
    "bash": _shell,
    "write": _write,
    "result": _result,
    "saw": _saw,
    "sleep": _sleep,
    "slow": _slow,
    "gate": _gate,
    "usage": _usage,
    "stop": Stop,
    "error": _error,
    "sse_error": _stream_error,
    "cut": _cut,
    "hang": _hang,
}
_DIRECTIVE = re.compile(rf"(?:^|\n|;;)[ \t>*-]*({'|'.join(_READERS)}):[ \t]*")
