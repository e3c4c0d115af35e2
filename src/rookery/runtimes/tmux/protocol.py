"""Parse and write the tmux control protocol; pure, no I/O."""

from __future__ import annotations

import re
from codecs import escape_decode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

#: Bytes of a line; a reply's line is a row of a screen, an output's at most some kilobytes.
MAX_LINE_BYTES = 16 * 1024 * 1024

#: Commands that continue after the end of their own block: they run others, each with a block
#: of its own, or fail later, with an error outside any block.
_LINGERING = (
    "if-shell",
    "load-buffer",
    "loadb",
    "run-shell",
    "save-buffer",
    "saveb",
    "source-file",
)

_NAME = re.compile(r"[a-z][a-z-]*")

#: C0, DEL, C1: a newline ends a command. Surrogates: they have no UTF-8 encoding.
_UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

#: The lines that ``line`` produces, and no others: no ``;`` outside quotes, no comment, no
#: empty line (which would detach the client).
_SPOKEN = re.compile(rb"([a-z][a-z-]*)(?: '(?:[^'\x00-\x1f\x7f]++|'\\'')*+')*+\n")

_BEGIN = re.compile(rb"%begin (\d{1,19} (\d{1,19}) (\d{1,9}))")
_OUTPUT = re.compile(
    rb"%(?:output (%\d{1,9}) |extended-output (%\d{1,9}) [^:]*: )(.*)", re.DOTALL
)
_FLOW = re.compile(rb"%(pause|continue) (%\d{1,9})")
_NOTICE = re.compile(rb"%([a-z][a-z-]*)(?: (.*))?", re.DOTALL)

#: A backslash that does not start an octal byte.
_MISSPELT = re.compile(rb"\\(?![0-3][0-7][0-7])")


class Unspeakable(ValueError):
    """The text cannot be sent on a control line."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One block: what a command printed, or why it was refused."""

    number: int
    ok: bool
    lines: tuple[bytes, ...]
    is_ours: bool  #: it answers a line of this client, not a hook, a key or the attaching


@dataclass(frozen=True, slots=True)
class Output:
    """Output of a pane's program; may begin or end in the middle of a character."""

    pane: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Paused:
    """The pane's output is paused, and some of it is lost, until it is continued."""

    pane: str


@dataclass(frozen=True, slots=True)
class Continued:
    """Another client resumed the pane's output.

    The client that asks for it is not notified: it finds this line in the reply.
    """

    pane: str


@dataclass(frozen=True, slots=True)
class ProtocolExit:
    """The connection ends."""

    reason: str


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line was dropped because it was longer than ``MAX_LINE_BYTES``."""

    size: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Any other notification; for a line that is none, it is ``garbage`` with that line."""

    name: str
    words: tuple[str, ...]


Event: TypeAlias = Reply | Output | Paused | Continued | ProtocolExit | Overlong | Notice


def quote(text: str) -> str:
    """Return ``text`` quoted as one argument that arrives unchanged.

    tmux still takes one that begins with ``-`` for a flag: put ``--`` before it.
    """
    if match := _UNSPEAKABLE.search(text):
        message = f"{match[0]!r} at {match.start()}"
        raise Unspeakable(message)
    # Within single quotes nothing is special to tmux; a quote closes, escapes and reopens them.
    return "'" + text.replace("'", "'\\''") + "'"


def command(name: str, *words: str) -> str:
    """Return a command that may itself be an argument of another, as in ``if-shell``."""
    if not _NAME.fullmatch(name):
        message = f"no command is called {name!r}"
        raise Unspeakable(message)
    return " ".join([name, *map(quote, words)])


def line(name: str, *words: str) -> bytes:
    """Return one command as a complete control line."""
    return command(name, *words).encode() + b"\n"


class ProtocolQuestion:
    """Lines that are sent in one write, and the replies received so far.

    ``mark`` must be a text that no pane can guess. It is printed after each lingering command:
    all blocks before it belong to that command.
    """

    def __init__(self, lines: Sequence[bytes], mark: str) -> None:
        self.replies: list[tuple[bytes, ...]] = []
        self.refusal: bytes | None = None
        self._mark = (mark.encode(),)
        self._lingers = [_lingers(spoken) for spoken in lines]
        self._gathered: list[bytes] = []
        full_stop = line("display-message", "-p", mark)
        pairs = zip(lines, self._lingers, strict=True)
        self.wire = b"".join(each + full_stop if lingers else each for each, lingers in pairs)

    @property
    def is_answered(self) -> bool:
        return len(self.replies) == len(self._lingers)

    def take(self, reply: Reply) -> None:
        """Accept the next block that answers this client."""
        if not self._lingers[len(self.replies)]:
            self._note(reply)
            self.replies.append(reply.lines)
        elif reply.lines != self._mark:
            self._note(reply)
            self._gathered.extend(reply.lines)
        else:
            self.replies.append(tuple(self._gathered))
            self._gathered.clear()

    def take_complaint(self, complaint: str) -> None:
        """Accept a line outside any block: tmux reports an unreadable file like this."""
        if self._lingers[len(self.replies)] and self.refusal is None:
            self.refusal = complaint.encode()

    def _note(self, reply: Reply) -> None:
        if not reply.ok and self.refusal is None:
            self.refusal = b"\n".join(reply.lines)


def _lingers(spoken: bytes) -> bool:
    match = _SPOKEN.fullmatch(spoken)
    if match is None:
        message = f"not made by line(): {spoken[:80]!r}"
        raise Unspeakable(message)
    # tmux accepts abbreviated command names.
    return any(name.startswith(match[1].decode()) for name in _LINGERING)


@dataclass(slots=True)
class _Block:
    number: int
    is_ours: bool
    end: bytes
    error: bytes
    lines: list[bytes]
    lacks_a_line: bool = False

    def close(self, last: bytes) -> Reply:
        if self.lacks_a_line:
            return Reply(
                self.number, False, (b"a line of the reply is too long",), self.is_ours
            )
        return Reply(self.number, last == self.end, tuple(self.lines), self.is_ours)


class Parser:
    """Parses bytes into events; the chunk boundaries do not matter."""

    def __init__(self, longest: int = MAX_LINE_BYTES) -> None:
        self._longest = longest
        self._block: _Block | None = None
        # In pieces: joining them for each chunk would copy a long line again and again.
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Event]:
        *ends, rest = chunk.split(b"\n")
        events = [event for end in ends if (event := self._read(end)) is not None]
        self._keep(rest)
        return events

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._longest:
            self._pieces.clear()
        elif piece:
            self._pieces.append(piece)

    def _read(self, end: bytes) -> Event | None:
        size = self._size + len(end)
        if size > self._longest:
            return self._drop(size)
        whole = self._join(end) if self._size else end
        if self._block is not None:
            return self._read_inside(self._block, whole)
        if begin := _BEGIN.fullmatch(whole):
            stamp, number, flags = begin.groups()
            self._block = _Block(
                int(number), flags == b"1", b"%end " + stamp, b"%error " + stamp, []
            )
            return None
        return read(whole)

    def _read_inside(self, block: _Block, whole: bytes) -> Event | None:
        # Only the exact time, number and flags that began the block end it: the lines may hold
        # a pane's own text, which may look like an end.
        if whole in (block.end, block.error):
            self._block = None
            return block.close(whole)
        block.lines.append(whole)
        return None

    def _join(self, end: bytes) -> bytes:
        whole = b"".join([*self._pieces, end])
        self._pieces.clear()
        self._size = 0
        return whole

    def _drop(self, size: int) -> Overlong:
        self._pieces.clear()
        self._size = 0
        if self._block is not None:
            self._block.lacks_a_line = True
        return Overlong(size)


def read(whole: bytes) -> Event:
    """Parse one line outside any block; never raises."""
    if output := _OUTPUT.fullmatch(whole):
        pane, extended, payload = output.groups()
        return _read_output(whole, pane or extended, payload)
    if flow := _FLOW.fullmatch(whole):
        pane = flow[2].decode()
        return Paused(pane) if flow[1] == b"pause" else Continued(pane)
    if notice := _NOTICE.fullmatch(whole):
        return _read_notice(whole, notice[1], notice[2])
    return _garbage(whole)


def _read_output(whole: bytes, pane: bytes, payload: bytes) -> Event:
    if b"\\" in payload:
        # With every backslash followed by three octal digits below 0o400, escape_decode finds
        # no other escape, and leaves all other bytes unchanged.
        if _MISSPELT.search(payload):
            return _garbage(whole)
        payload, _ = escape_decode(payload)
    return Output(pane.decode(), payload)


def _read_notice(whole: bytes, name: bytes, rest: bytes | None) -> Event:
    text = "" if rest is None else rest.decode(errors="replace")
    if name == b"exit":
        return ProtocolExit(text)
    # One of these that did not match above is malformed.
    if name in (b"begin", b"output", b"extended-output", b"pause", b"continue"):
        return _garbage(whole)
    return Notice(name.decode(), tuple(text.split(" ")) if rest is not None else ())


def _garbage(whole: bytes) -> Notice:
    return Notice("garbage", (whole.decode(errors="replace"),))
