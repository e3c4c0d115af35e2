"""Tells the daemon of one hook call of an agent, and the agent what the daemon decides.

Run as ``python -I -S hook.py SOCKET SPOOL AGENT``, with the payload on standard input. Where
there is a C compiler, ``hook.c`` is run instead, and runs this program only when it is needed:
then the key of the call and the daemon's answer so far follow, and it is not told again.
Without a daemon it is quick and harmless: it exits with 0, whatever goes wrong, and prints
nothing, unless the call is one that somebody should have decided (see ``_say_in_absence``).
Then no error makes it silent: it says the strictest that was left for such a call. If the file
with the offline answers is missing or damaged, it says what the script around it passes in its
environment (see ``_say_undecided``).
"""

# Without "from __future__ import annotations": to import even that takes a fiftieth of a call.
import _socket  # the bare modules: those around them cost a tenth of the whole call to import
import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Of the protocol: the first word of a call (see ``rookery.hook_protocol``).
VERSION = 2

#: Seconds for the daemon to take it and say so; then it goes to the spool.
DEADLINE = 2.0

#: Seconds to wait for a decision in all, whatever happens: less than the agent waits for us.
#: A hook that its agent gives up says nothing, and the call is made.
PATIENCE = 350.0

#: Seconds for a daemon that died while we waited to come back.
RETURN = 30.0

#: Bytes of a payload; a tool's input may hold a whole file. The daemon takes no more.
MAX_PAYLOAD_BYTES = 8 * 1024 * 1024

#: Processes above the hook that are named: its shell, the agent, and what that was started by.
MAX_ANCESTORS = 6

#: The daemon's first word, once what it was told is on disk. What follows is for the agent.
TAKEN = b"taken\n"

#: Or: somebody is asked. What follows in the line is to be said if nobody ever answers.
WAIT = b"wait "

#: Before what was decided in the end; without it, the daemon has died.
DECIDED = b"decided\n"

#: What is to be said while no daemon runs; beside the spool.
ABSENCE = "absence.json"

#: The last field of that file, by which damage is noticed.
CHECKSUM = b'"checksum": "'


def main() -> None:
    door, spool, agent, *told = sys.argv[1:6]
    payload = sys.stdin.buffer.read()
    try:
        said = _carry(door, spool, agent, payload, told)
    except Exception:  # noqa: BLE001 - whatever it is, a call must not pass because of it
        said = _say_in_absence(spool, agent, payload)
    sys.stdout.buffer.write(said)


def _carry(door: str, spool: str, agent: str, payload: bytes, told: "list[str]") -> bytes:
    """Tell the daemon, or leave the call in the spool. Returns what the agent is told."""
    key = told[0] if told else f"{time.time_ns():020d}-{posix.urandom(8).hex()}"
    call = _call(key, agent, payload)
    over = int(key[:20]) / 1e9 + PATIENCE
    try:
        answer = told[1].encode() if told else _tell(door, call, PATIENCE)
    except OSError:
        answer = b""
    if answer.startswith(TAKEN):
        return answer[len(TAKEN) :]
    if answer.startswith(WAIT):
        return insist(door, call, answer, over)
    # Of a payload that the daemon would refuse only the first line is kept, as a note: it says
    # who called and how much it was.
    _spool(spool, key, call[: len(call) - len(payload)] if _is_too_large(payload) else call)
    return _say_in_absence(spool, agent, payload)


def _call(key: str, agent: str, payload: bytes) -> bytes:
    """One line that says who calls, then the payload as it came.

    The key names this very call, so that what is told twice, because a daemon died before it
    could answer, is taken once; it begins with the time, which the facts then bear. The
    payload's length is told before it, and the line is kept open: so the daemon sees when the
    agent ends us because it waits no more.
    """
    badge, pane = posix.environ.get(b"ROOKERY_BADGE"), posix.environ.get(b"TMUX_PANE")
    server = posix.environ.get(b"TMUX", b"").rsplit(b",", 2)[0].replace(b"\n", b"")
    told = f"v{VERSION} {key} {agent} {len(payload)}".encode()
    words = (told, badge or b"-", pane or b"-", _ancestors() or b"-", server or b"-")
    return b" ".join(words) + b"\n" + payload


def _is_too_large(payload: bytes) -> bool:
    return len(payload) > MAX_PAYLOAD_BYTES


def _ancestors() -> bytes:
    """Name the processes above this one, the nearest first, each with its start time.

    When a spooled call is read, they may be gone: then nothing else tells who made it.
    """
    found: list[bytes] = []
    pid = posix.getppid()
    while pid > 1 and len(found) < MAX_ANCESTORS:
        try:
            # After the name, which may hold blanks and brackets of its own.
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            found.append(b"%d:%s" % (pid, fields[19]))
            pid = int(fields[1])
        except (OSError, IndexError, ValueError):
            break
    return b",".join(found)


def _tell(door: str, call: bytes, patience: float) -> bytes:
    """Return all that the daemon says; it has ``patience`` seconds if somebody is asked."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(DEADLINE)
        connection.connect(door)
        _check_peer(connection)
        rest = memoryview(call)
        while rest:
            rest = rest[connection.send(rest) :]
        return _hear(connection, patience)
    finally:
        connection.close()


def _check_peer(connection: _socket.socket) -> None:
    """Raise ``OSError`` if another user's program listens: it must not hear or decide."""
    if hasattr(_socket, "SO_PEERCRED"):
        told = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        if int.from_bytes(told[4:8], sys.byteorder) != posix.getuid():
            raise OSError


def _hear(connection: _socket.socket, patience: float) -> bytes:
    answer = b""
    try:
        while part := connection.recv(65536):
            answer += part
            if answer.startswith(WAIT):
                connection.settimeout(patience)
    except OSError:
        if not answer.startswith(WAIT):
            raise
    return answer


def insist(door: str, call: bytes, answer: bytes, over: float) -> bytes:
    """Return what is decided; if the daemon dies over it, ask the next one for the same.

    ``over`` is when it must be decided, in seconds since 1970.
    """
    fallback = answer[len(WAIT) :].partition(b"\n")[0]
    lost = 0.0
    while True:
        first, _, rest = answer.partition(b"\n")
        if rest.startswith(DECIDED):
            return rest[len(DECIDED) :]
        if first + b"\n" == TAKEN:
            return rest
        now = time.time()
        lost = now if first or not lost else lost
        if now > min(over, lost + RETURN):
            return fallback
        time.sleep(0.2)  # noqa: TID251 - a program of its own, with nothing else to wait for
        try:
            answer = _tell(door, call, max(over - now, DEADLINE))
        except OSError:
            answer = b""


def _say_in_absence(spool: str, agent: str, payload: bytes) -> bytes:
    """Return what the daemon left word to say to a call that it should have decided."""
    home = spool.rpartition("/")[0]
    try:
        return _find_answer(verified(_read(home + "/" + ABSENCE)), agent, payload)
    except Exception:  # noqa: BLE001 - missing or damaged in any way: then no rule is known
        return _say_undecided(payload) if _exists(home) else b""


def verified(stored: bytes) -> bytes:
    """Return the offline answers. Raises ``ValueError`` if their checksum does not fit.

    It is the number and the sum of the bytes before it: importing a better one takes long.
    """
    before, _, check = stored.rpartition(CHECKSUM)
    if check != b'%d %d"}\n' % (len(before), sum(before)):
        raise ValueError
    return stored


def _say_undecided(payload: bytes) -> bytes:
    """Return the agent's "ask" or "deny" to a call before a tool runs, whatever the tool."""
    event = posix.environ.get(b"ROOKERY_HOOK_EVENT", b"")
    is_known = b'"hook_event_name"' in payload
    is_meant = event and (not is_known or b'"%s"' % event in payload)
    return posix.environ.get(b"ROOKERY_HOOK_ANSWER", b"") if is_meant else b""


def _exists(folder: str) -> bool:
    try:
        posix.stat(folder)
    except OSError:
        return False
    return True


def _find_answer(words: bytes, agent: str, payload: bytes) -> bytes:
    # Looked for as bytes: most calls are of other events, and need no JSON to be read.
    events = {each.partition(b'"')[0] for each in words.split(b'"event": "')[1:]}
    is_known = b'"hook_event_name"' in payload
    meant = {each.decode() for each in events if not is_known or b'"%s"' % each in payload}
    if not meant:
        return b""
    left = [each for each in _parsed(words).get(agent, ()) if each["event"] in meant]
    try:
        told = _parsed(payload)
        event, tool = told.get("hook_event_name", ""), told.get("tool_name", "")
        left = [each for each in left if each["event"] == event and _is_for(each, tool)]
    except Exception:  # noqa: BLE001, S110 - what cannot be read is no reason to be silent
        pass
    return str(left[0]["say"]).encode() if left else b""


def _is_for(left: "dict[str, Any]", tool: str) -> bool:
    return any(fits(glob, tool) for glob in left["tools"])


def fits(glob: str, text: str) -> bool:
    """Match a glob that knows ``*`` and ``?`` only; to import fnmatch takes long."""
    place = at = resume = 0
    star = -1
    while at < len(text):
        here = glob[place : place + 1]
        if here == "*":
            star, resume = place, at
            place += 1
        elif here and here in ("?", text[at]):
            place += 1
            at += 1
        elif star >= 0:
            resume += 1
            place, at = star + 1, resume
        else:
            return False
    return not glob[place:].strip("*")


class _Context:
    """What the scanner below the json module asks for; importing json itself takes long."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = parse_int = parse_constant = str


def _parsed(text: bytes) -> "dict[str, Any]":
    import _json  # noqa: PLC0415 - most calls need none

    scan = _json.make_scanner(_Context)  # type: ignore[arg-type] # it only looks at these
    found, _ = scan(text.removeprefix(b"\xef\xbb\xbf").decode().lstrip(), 0)
    if not isinstance(found, dict):
        raise TypeError
    return found


def _read(name: str) -> bytes:
    with open(name, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
        return file.read()


def _spool(spool: str, key: str, call: bytes) -> None:
    """Leave a call where the next daemon finds it, also after a power cut."""
    # Its name sorts by time; it appears whole or not at all.
    name = f"{spool}/{key}"
    try:
        _write(name + ".part", call)
        posix.rename(name + ".part", name)
        _sync(spool)
    except OSError:  # there is no room
        try:
            posix.unlink(name + ".part")
        except OSError:
            return


def _sync(folder: str) -> None:
    # A rename is not on disk before its folder is.
    number = posix.open(folder, posix.O_RDONLY)
    try:
        posix.fsync(number)
    finally:
        posix.close(number)


def _write(name: str, call: bytes) -> None:
    file = posix.open(name, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, 0o600)
    try:
        rest = memoryview(call)
        while rest:
            rest = rest[posix.write(file, rest) :]
        posix.fsync(file)
    finally:
        posix.close(file)


if __name__ == "__main__":
    try:
        main()
    except Exception:  # noqa: BLE001 - see the first lines: never to the agent's harm
        sys.exit(0)
