"""Parse what hook programs send: one line that names the caller, then the agent's raw payload.

Version 2 of the line is ``v2 KEY AGENT SIZE BADGE PANE PROCESSES SERVER``. Version 1 has no
first field, and version 0 has no SIZE, either: its payload ends with the connection. Agents
started by an older daemon may run an older hook program, so all three are supported.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from rookery.model.errors import HookUnreadable
from rookery.model.sessions import Badge
from rookery.ports.agent import Payload
from rookery.processes import Process
from rookery.processes.lineage import read_lineage
from rookery.programs.hook import CHECKSUM, MAX_PAYLOAD_BYTES, VERSION

#: Values nested deeper are cut out, so that the rest of a payload can be read and decided.
MAX_NESTING = 100

#: Larger payloads are not searched for deep values: agents truncate large ones themselves.
MAX_SEARCHED_CHARACTERS = 256 * 1024


#: Values of one payload. Each costs the daemon's only thread about 10 µs, and hooks of other
#: sessions wait for their decisions meanwhile.
MAX_VALUES = 25_000


@dataclass(frozen=True, slots=True)
class CallHead:
    """The first line of a call."""

    key: str
    agent: str
    size: int | None  #: of the payload; None if it ends with the connection
    badge: Badge | None
    named: tuple[Process, ...]  #: the ancestors of the hook program, the nearest first


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook call of an agent, as received."""

    key: str  #: made by the hook program; a spooled hook comes again under the same key
    agent: str
    badge: Badge | None
    payload: Payload
    #: The process that made the call, according to the kernel; None if the call was spooled,
    #: and so no hook program waits for an answer.
    pid: int | None = None
    #: Whether the payload had to be changed to be parsed: what the agent is about to do may
    #: differ from what it says here.
    is_altered: bool = False
    at: datetime | None = None  #: when the hook program ran, if known
    #: The ancestors that the hook program names, the nearest first. For a spooled call the
    #: kernel no longer knows them; a planted file can name any process.
    named: tuple[Process, ...] = ()
    #: The agent's own process, as far as it was determined before the transaction.
    process: Process | None = None


_KEY = re.compile(r"(\d{20})-[0-9a-f]{16}")


def time_of(key: str) -> datetime | None:
    """Return when the call with this key was made: keys begin with nanoseconds since 1970."""
    match = _KEY.fullmatch(key)
    try:
        return datetime.fromtimestamp(int(match[1]) / 1e9, UTC) if match else None
    except (OverflowError, ValueError, OSError):
        return None


def read_head(line: bytes) -> CallHead:
    """Parse the first line of a call. Raises ``HookUnreadable``, which names no badge."""
    words = line.rstrip(b"\n").decode(errors="surrogateescape").split(" ")
    version, words = _version(words)
    try:
        key, agent, *rest = words
        size = _size(rest.pop(0)) if version else None
        # The pane and its server are not used: a caller is known by its badge and process.
        badge, _pane, named, *_server = rest if version == 0 else (*rest[:3], rest[3])
    except (ValueError, IndexError):
        # Not chained: the cause's text may contain a badge, which must not appear in a log.
        raise HookUnreadable(f"its first line has {len(words)} fields") from None
    worn = None if badge == "-" else Badge(badge)
    return CallHead(key, agent, size, worn, read_lineage(named))


_VERSION = re.compile(r"v([0-9]{1,4})")


def _version(fields: list[str]) -> tuple[int, list[str]]:
    if match := _VERSION.fullmatch(fields[0]):
        version = int(match[1])
        if version != VERSION:
            raise HookUnreadable(
                f"it uses version {version} of the hook protocol, this daemon {VERSION};"
                " update Rookery, then restart the agent"
            )
        return version, fields[1:]
    has_size = len(fields) > 2 and fields[2].isdecimal()  # noqa: PLR2004 - KEY AGENT SIZE
    return (1 if has_size else 0), fields


def _size(field: str) -> int:
    if not (field.isascii() and field.isdecimal() and len(field) < 20):  # noqa: PLR2004 - digits
        raise ValueError
    return int(field)


def read_call(call: bytes, *, pid: int | None = None) -> Hook:
    """Parse what a hook program sent. Raises ``HookUnreadable``."""
    first, _, body = call.partition(b"\n")
    head = read_head(first)
    if (head.size or 0) > MAX_PAYLOAD_BYTES:
        raise HookUnreadable(f"{head.size:,} bytes; {MAX_PAYLOAD_BYTES:,} is the most")
    return read_body(head, body, pid=pid)


def read_body(head: CallHead, body: bytes, *, pid: int | None = None) -> Hook:
    """Parse the payload of a call whose first line was parsed. Raises ``HookUnreadable``."""
    if _has_too_many_values(body):
        raise HookUnreadable(f"it has more than {MAX_VALUES:,} values")
    try:
        payload, is_altered = _read(body)
    except (ValueError, RecursionError) as error:
        raise HookUnreadable(str(error)[:200]) from error
    if not isinstance(payload, dict):
        raise HookUnreadable("it is not a JSON object")
    return Hook(
        key=head.key,
        agent=head.agent,
        badge=head.badge,
        payload=payload,
        pid=pid,
        is_altered=is_altered,
        at=time_of(head.key),
        named=head.named,
    )


def is_whole(first_line: bytes, size: int) -> bool:
    """Return whether a spooled call of this many bytes has its whole payload."""
    try:
        has_payload = read_head(first_line).size == size - len(first_line)
    except HookUnreadable:
        return False
    return first_line.endswith(b"\n") and has_payload


def require_tool(payload: Payload) -> None:
    """Refuse a tool call that no rule could match. Raises ``HookUnreadable``."""
    tool, tool_input = payload.get("tool_name"), payload.get("tool_input")
    if not isinstance(tool, str) or not isinstance(tool_input, dict | None):
        raise HookUnreadable("it names no tool or no input")


#: Bytes in which a payload names its event: the field, blanks and the longest name.
MAX_EVENT_BYTES = 200

_EVENT = re.compile(rb'"hook_event_name"\s*:\s*"(\w{1,100})"')


def events_in(payload: bytes | bytearray) -> frozenset[str]:
    """Return the events that a payload may be of, even if it is not valid JSON."""
    return frozenset(found.decode() for found in _EVENT.findall(payload))


def _read(body: bytes) -> tuple[object, bool]:
    """Parse JSON. Also returns whether deep values or invalid characters were replaced."""
    if _is_plain(body):
        with suppress(ValueError):  # such as NaN, which Python's own parser accepts
            return msgspec.json.decode(body), False
    try:
        text, is_altered = body.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        text, is_altered = body.decode("utf-8-sig", errors="replace"), True
    shallow = _without_deep_values(text)
    is_altered = is_altered or shallow is not text
    payload = json.loads(shallow)
    if _LONE_SURROGATE.search(shallow):
        whole = json.dumps(payload, ensure_ascii=False)
        replaced = whole.encode(errors="replace")
        is_altered = is_altered or replaced != whole.encode(errors="surrogatepass")
        return json.loads(replaced), is_altered
    return payload, is_altered


def _has_too_many_values(body: bytes) -> bool:
    """Return whether a payload has too many values to parse it, whatever its texts contain."""
    if len(body) < 2 * MAX_VALUES:  # a value and its comma need two bytes
        return False
    unescaped = body.replace(rb"\\", b"").replace(rb"\"", b"")
    if unescaped.count(b'"') > 4 * MAX_VALUES:  # two quotes for a name, and two for its value
        return True
    outside = b"".join(unescaped.split(b'"')[::2])
    return sum(map(outside.count, (b",", b"[", b"{"))) > MAX_VALUES


_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _is_plain(body: bytes) -> bool:
    """Return whether nothing in a payload needs to be replaced, as in most."""
    return b"\\u" not in body and body.count(b"[") + body.count(b"{") <= MAX_NESTING


def _without_deep_values(text: str) -> str:
    """Replace values nested too deep by null, so that the rest can be parsed and decided."""
    is_large = len(text) > MAX_SEARCHED_CHARACTERS
    if is_large or text.count("[") + text.count("{") <= MAX_NESTING:
        return text
    pieces, depth, end = [], 0, 0
    for found in _NESTING.finditer(text):
        if found[0] in {"[", "{"}:
            depth += 1
            if depth == MAX_NESTING + 1:
                pieces.append(text[end : found.start()])
        elif found[0] in {"]", "}"}:
            depth -= 1
            if depth == MAX_NESTING:
                pieces.append("null")
                end = found.end()
    return "".join([*pieces, text[end:]]) if pieces else text


#: Brackets and braces; and strings, even unterminated, in which brackets do not count.
_NESTING = re.compile(r'[][{}]|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)


def with_checksum(content: bytes) -> bytes:
    """Add the field by which hook programs detect damage (``programs.hook.verified``).

    The result is still one JSON object: running plugins of an older version read it, too.
    """
    before = b"{" if content == b"{}" else content.removesuffix(b"}") + b", "
    return b'%s%s%d %d"}\n' % (before, CHECKSUM, len(before), sum(before))
