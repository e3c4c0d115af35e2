"""Open the HTTP port on loopback, and report its URL or why it is not open."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
from dataclasses import dataclass

from rookery.config import Http
from rookery.doctor.checks import Check
from rookery.home import Home
from rookery.private_files import open_private

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class HttpPort:
    """The HTTP port on loopback, once it is open."""

    port: int | None = None
    note: str = ""  #: for the user, if the port is not the expected one
    is_refused: bool = False  #: HTTP is enabled, but the port could not be opened

    @property
    def url(self) -> str | None:
        return f"http://127.0.0.1:{self.port}" if self.port else None

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return the values of a Host header that name this port."""
        return tuple(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost") if self.port)

    @property
    def check(self) -> Check:
        """Return the doctor's check of this port."""
        if self.is_refused:
            return Check("http", ok=False, detail=self.note)
        if self.url is None:
            return Check("http", ok=None, detail="HTTP is disabled (http.enabled)")
        detail = f"{self.url}. {self.note}" if self.note else self.url
        return Check("http", ok=None if self.note else True, detail=detail)

    def listen(self, http: Http) -> socket.socket | None:
        """Listen on the configured port, which only this computer can reach.

        If the default port is taken, another one is used. A port that was set explicitly is
        never replaced: clients send their token to it, and another user may have taken it.
        """
        if not http.enabled:
            return None
        try:
            listening = _bound(http.port)
        except OSError as error:
            problem = _why(error, http.port)
            if "port" in http.model_fields_set:
                self.is_refused = True
                self.note = (
                    f"HTTP is off: {problem} Free it or set another http.port, then restart the"
                    " daemon. Do not send tokens to that port."
                )
                _log.info("%s", self.note)  # `up` prints the note itself
                return None
            listening = _bound(0)
            self.note = f"{problem} HTTP uses port {listening.getsockname()[1]} instead."
            _log.info("%s", self.note)
        self.port = listening.getsockname()[1]
        return listening

    def write_down(self, home: Home) -> None:
        """Write the URL to the home, for programs that use HTTP; no file if HTTP is off."""
        if self.url is None:
            home.url.unlink(missing_ok=True)
            return
        new = home.url.with_name("url.new")
        new.unlink(missing_ok=True)
        with open_private(new) as file:
            file.write(f"{self.url}\n".encode())
        new.replace(home.url)


def forget(home: Home) -> None:
    """Remove the URL's file when the port closes: another program may take the port."""
    with contextlib.suppress(OSError):
        home.url.unlink()


def _bound(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _why(error: OSError, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is used by another program."
    return f"Port {port} cannot be opened: {os.strerror(error.errno or 0)}."
