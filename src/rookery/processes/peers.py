"""Read from the kernel which process is at the other end of a unix socket."""

from __future__ import annotations

import os
import socket
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Seconds for a server to accept a connection, on which nothing is sent.
CONNECT_TIMEOUT_S = 0.5

#: Options of unix sockets on macOS, which Python does not name: sys/un.h.
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2

#: The size of macOS's ``struct xucred``: version, uid, number of groups and 16 groups.
_XUCRED_BYTES = 76

#: Linux's ``struct ucred``: pid, uid and gid.
_UCRED = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end of a unix socket."""

    pid: int
    uid: int

    @property
    def is_ours(self) -> bool:
        """Return whether it is a process of the same user as this one."""
        return self.uid == os.getuid()


#: The peer if the kernel reports none. It counts as another user's, so it is refused.
UNKNOWN = Peer(0, -1)


def peer_of(connection: socket.socket) -> Peer:
    """Return the peer of a connected unix socket."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
        pid, uid, _ = _UCRED.unpack(credentials)
        return Peer(pid, uid)
    if sys.platform == "darwin":
        user = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        _, uid = struct.unpack_from("2I", user)
        (pid,) = struct.unpack("i", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
        return Peer(pid, uid)
    return UNKNOWN


def server_pid(path: Path) -> int | None:
    """Return the process that listens on a unix socket; ``None`` if it is unknown."""
    with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
        connection.settimeout(CONNECT_TIMEOUT_S)
        connection.connect(str(path))
        return peer_of(connection).pid or None
    return None
