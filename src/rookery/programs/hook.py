"""Send one hook call of an agent to the daemon, and print the daemon's answer for the agent.

Run as ``python -I -S hook.py SOCKET SPOOL AGENT``, with the payload on standard input. Where
there is a C compiler, ``hook.c`` runs instead. It starts this program only when needed, with
the key of the call and the daemon's answer so far; then the call is not sent again.

Without a daemon the hook is quick and harmless: it exits with 0 and prints nothing, unless the
call needed a decision. Then every error leads to the strictest offline answer stored for the
call or, if that file is missing or damaged, to the answer in the wrapper script's environment.
"""

# No "from __future__ import annotations": that import alone takes 2 % of a call.
import _socket  # the C modules: importing their Python wrappers costs 10 % of the whole call
import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The protocol version: the first field of a call (see ``rookery.hook_protocol``).
VERSION = 2

#: Seconds for the daemon to accept the call; after that the call goes to the spool.
ACCEPT_TIMEOUT_SECONDS = 2.0

#: Total seconds to wait for a decision: less than the agent's own timeout for the hook.
#: When an agent gives up on a hook, the hook's answer is lost and the tool call runs.
DECISION_TIMEOUT_SECONDS = 350.0

#: Seconds to wait for a new daemon after the daemon died before it had decided.
RESTART_TIMEOUT_SECONDS = 30.0

#: Maximum bytes of a payload, as in the daemon; a tool's input may hold a whole file.
MAX_PAYLOAD_BYTES = 8 * 1024 * 1024

#: How many ancestor processes a call names: the shell, the agent, and the agent's parents.
MAX_ANCESTORS = 6

#: The daemon's first line once the call is on disk. The answer for the agent follows.
TAKEN = b"taken\n"

#: The first line while a decision is pending. The rest of the line is the fallback answer.
WAIT = b"wait "

#: Precedes the final decision; if it is missing, the daemon has died.
DECIDED = b"decided\n"

#: The file with the offline answers, beside the spool.
ABSENCE = "absence.json"

#: The last field of that file, by which damage is detected.
CHECKSUM = b'"checksum": "'


def main() -> None:
    door, spool, agent, *told = sys.argv[1:6]
    payload = sys.stdin.buffer.read()
    try:
        said = _deliver(door, spool, agent, payload, told)
    except Exception:  # noqa: BLE001 - no error may let a call run undecided
        said = _offline_answer(spool, agent, payload)
    sys.stdout.buffer.write(said)


def _deliver(door: str, spool: str, agent: str, payload: bytes, told: "list[str]") -> bytes:
    """Send the call to the daemon, or spool it. Returns the answer for the agent."""
    key = told[0] if told else f"{time.time_ns():020d}-{posix.urandom(8).hex()}"
    call = _call(key, agent, payload)
    over = int(key[:20]) / 1e9 + DECISION_TIMEOUT_SECONDS
    try:
        answer = told[1].encode() if told else _send(door, call, DECISION_TIMEOUT_SECONDS)
    except OSError:
        answer = b""
    if answer.startswith(TAKEN):
        return answer[len(TAKEN) :]
    if answer.startswith(WAIT):
        return insist(door, call, answer, over)
    if len(payload) > MAX_PAYLOAD_BYTES:
        # The daemon would refuse it. The first line names the caller and the payload's length.
        call = call[: len(call) - len(payload)]
    _spool(spool, key, call)
    return _offline_answer(spool, agent, payload)


def _call(key: str, agent: str, payload: bytes) -> bytes:
    """Return one line that identifies the caller, followed by the payload unchanged.

    A call that is sent twice, because a daemon died, has the same key and is processed once.
    The key begins with the time, which the facts then carry. The payload's length lets the
    connection stay open: the daemon then notices when the agent kills this program.
    """
    badge, pane = posix.environ.get(b"ROOKERY_BADGE"), posix.environ.get(b"TMUX_PANE")
    server = posix.environ.get(b"TMUX", b"").rsplit(b",", 2)[0].replace(b"\n", b"")
    told = f"v{VERSION} {key} {agent} {len(payload)}".encode()
    words = (told, badge or b"-", pane or b"-", _ancestors() or b"-", server or b"-")
    return b" ".join(words) + b"\n" + payload


def _ancestors() -> bytes:
    """Return pid and start time of each ancestor, nearest first; empty without /proc."""
    found: list[bytes] = []
    pid = posix.getppid()
    while pid > 1 and len(found) < MAX_ANCESTORS:
        try:
            # Parse after the process name, which may itself contain spaces and parentheses.
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            found.append(b"%d:%s" % (pid, fields[19]))
            pid = int(fields[1])
        except (OSError, IndexError, ValueError):
            break
    return b",".join(found)


def _send(door: str, call: bytes, timeout_s: float) -> bytes:
    """Return the daemon's whole answer; wait up to ``timeout_s`` seconds for a decision."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(ACCEPT_TIMEOUT_SECONDS)
        connection.connect(door)
        _check_peer(connection)
        rest = memoryview(call)
        while rest:
            rest = rest[connection.send(rest) :]
        return _receive(connection, timeout_s)
    finally:
        connection.close()


def _check_peer(connection: _socket.socket) -> None:
    """Raise ``OSError`` if another user's program listens: it must not read or decide calls."""
    if hasattr(_socket, "SO_PEERCRED"):
        told = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        if int.from_bytes(told[4:8], sys.byteorder) != posix.getuid():
            raise OSError


def _receive(connection: _socket.socket, timeout_s: float) -> bytes:
    answer = b""
    try:
        while part := connection.recv(65536):
            answer += part
            if answer.startswith(WAIT):
                connection.settimeout(timeout_s)
    except OSError:
        if not answer.startswith(WAIT):
            raise
    return answer


def insist(door: str, call: bytes, answer: bytes, over: float) -> bytes:
    """Return the decision; if the daemon dies meanwhile, ask the next one about the same call.

    ``over`` is the deadline in seconds since 1970.
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
        if now > min(over, lost + RESTART_TIMEOUT_SECONDS):
            return fallback
        time.sleep(0.2)  # noqa: TID251 - a standalone program with nothing else to wait for
        try:
            answer = _send(door, call, max(over - now, ACCEPT_TIMEOUT_SECONDS))
        except OSError:
            answer = b""


def _offline_answer(spool: str, agent: str, payload: bytes) -> bytes:
    """Return the offline answer that the daemon stored for a call that needs a decision."""
    home = spool.rpartition("/")[0]
    try:
        return _find_answer(verified(_read(home + "/" + ABSENCE)), agent, payload)
    except Exception:  # noqa: BLE001 - missing or damaged in any way: no rule is known
        return _undecided_answer(home, payload)


def verified(stored: bytes) -> bytes:
    """Return the offline answers. Raises ``ValueError`` if their checksum does not match.

    It is the count and the sum of the bytes before it: modules for better ones import slowly.
    """
    before, _, check = stored.rpartition(CHECKSUM)
    if check != b'%d %d"}\n' % (len(before), sum(before)):
        raise ValueError
    return stored


def _undecided_answer(home: str, payload: bytes) -> bytes:
    """Return the agent's "ask" or "deny" for a call before a tool runs, whatever the tool."""
    event = posix.environ.get(b"ROOKERY_HOOK_EVENT", b"")
    is_installed = posix.access(home, posix.F_OK)
    is_meant = is_installed and event and _may_be(event, payload)
    return posix.environ.get(b"ROOKERY_HOOK_ANSWER", b"") if is_meant else b""


def _may_be(event: bytes, payload: bytes) -> bool:
    """Return whether a payload may be of this event; parsing it would be slow."""
    return b'"hook_event_name"' not in payload or b'"%s"' % event in payload


def _find_answer(words: bytes, agent: str, payload: bytes) -> bytes:
    # Search the bytes first: most calls are for other events and need no JSON parsing.
    events = {each.partition(b'"')[0] for each in words.split(b'"event": "')[1:]}
    meant = {each.decode() for each in events if _may_be(each, payload)}
    if not meant:
        return b""
    left = [each for each in _parse_json(words).get(agent, ()) if each["event"] in meant]
    try:
        told = _parse_json(payload)
        event, tool = told.get("hook_event_name", ""), told.get("tool_name", "")
        left = [
            each
            for each in left
            if each["event"] == event and any(fits(glob, tool) for glob in each["tools"])
        ]
    except Exception:  # noqa: BLE001, S110 - an unreadable payload still gets an answer
        pass
    return str(left[0]["say"]).encode() if left else b""


def fits(glob: str, text: str) -> bool:
    """Match a glob of ``*`` and ``?`` only; importing fnmatch is slow."""
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
    """The attributes that the C scanner of the json module reads; importing json is slow."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = parse_int = parse_constant = str


def _parse_json(text: bytes) -> "dict[str, Any]":
    import _json  # noqa: PLC0415 - most calls do not need it

    scan = _json.make_scanner(_Context)  # type: ignore[arg-type] # it reads attributes only
    found, _ = scan(text.removeprefix(b"\xef\xbb\xbf").decode().lstrip(), 0)
    if not isinstance(found, dict):
        raise TypeError
    return found


def _read(name: str) -> bytes:
    with open(name, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
        return file.read()


def _spool(spool: str, key: str, call: bytes) -> None:
    """Store a call where the next daemon finds it, even after a power cut."""
    # The name sorts by time, and the rename makes the file appear complete or not at all.
    name = f"{spool}/{key}"
    try:
        _write(name + ".part", posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, call)
        posix.rename(name + ".part", name)
        _write(spool, posix.O_RDONLY)  # a rename is durable only once its folder is synced
    except OSError:  # the disk is full
        posix.unlink(name + ".part")  # if that fails, too, ``main`` still answers


def _write(name: str, flags: int, content: bytes = b"") -> None:
    """Write a file, or a folder's entries, to disk."""
    file = posix.open(name, flags, 0o600)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[posix.write(file, rest) :]
        posix.fsync(file)
    finally:
        posix.close(file)


if __name__ == "__main__":
    try:
        main()
    except Exception:  # noqa: BLE001 - see the module docstring: never harm the agent
        sys.exit(0)
