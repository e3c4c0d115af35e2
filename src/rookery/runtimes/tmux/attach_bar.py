"""What an attached terminal shows below a session, and the keys that leave or switch it.

Everything is an option of Rookery's own tmux server. A session's texts are inserted into the
status line as values, which tmux does not expand again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rookery.model.notifications import SessionBar
from rookery.processes import Process
from rookery.runtimes.tmux.formats import literal
from rookery.runtimes.tmux.protocol import command, line
from rookery.runtimes.tmux.server import Server

#: The options of a session: its description, the numbers of others, and the next that waits.
BAR_OPTION, LINE_OPTION, NEXT_OPTION = "@rookery-bar", "@rookery-line", "@rookery-next"

#: The option of the server that stores which keys are bound.
_KEYS_OPTION = "@rookery-keys"

#: Begins the texts of the status line in a terminal that has few columns, and in others.
_IF_NARROW = "#{?#{e|<:#{client_width},60},"

_NONE_WAITS = "No other session waits for you."


@dataclass(frozen=True, slots=True)
class AttachKeys:
    """The keys of an attached terminal; empty if a key is off."""

    leave: str = ""
    next: str = ""


@dataclass(slots=True)
class AttachBar:
    """Keeps the status line and the keys of Rookery's tmux server."""

    server: Server
    keys: AttachKeys
    _shown: dict[str, SessionBar] = field(default_factory=dict)
    _prepared: Process | None = None  #: the server that has the options and keys

    async def show(self, bars: Mapping[str, SessionBar]) -> None:
        """Show these bars, by the names of their tmux sessions. Raises ``RuntimeFailed``."""
        if self.server.process is None or self.server.process != self._prepared:
            await self._prepare()
        changed = {name: bar for name, bar in bars.items() if self._shown.get(name) != bar}
        self._shown.clear()  # unknown until tmux has answered
        await self.server.ask(
            *(each for name, bar in changed.items() for each in _settings(name, bar))
        )
        self._shown.update(bars)

    async def _prepare(self) -> None:
        """Set the options and bind the keys: a server that runs may have older ones."""
        server = self.server.process
        ((bound, *_),) = await self.server.ask(
            line("display-message", "-p", f"#{{{_KEYS_OPTION}}}")
        )
        stale = [line("unbind-key", "-q", "-n", each) for each in bound.decode().split()]
        await self.server.ask(*stale, *_status_options(self.keys), *_bindings(self.keys))
        self._shown.clear()
        self._prepared = server


def _settings(name: str, bar: SessionBar) -> Iterable[bytes]:
    texts = {BAR_OPTION: bar.text, LINE_OPTION: bar.others, NEXT_OPTION: bar.next}
    for option, text in texts.items():
        # -q: the session may not be there yet, or any more.
        yield line("set-option", "-q", "-t", f"={name}:", option, literal(text))


def _status_options(keys: AttachKeys) -> Iterable[bytes]:
    options = {
        "status-left": f"#{{?{BAR_OPTION},#{{{BAR_OPTION}}},#S}} ",
        "status-left-length": "100",
        "status-right": f"{_IF_NARROW}{_short(keys)},{_long(keys)}}}#(:)",
        "status-right-length": "60",
        "window-status-format": "",
        "window-status-current-format": "",
        _KEYS_OPTION: f"{keys.leave} {keys.next}".strip(),
    }
    return [line("set-option", "-g", name, value) for name, value in options.items()]


def _short(keys: AttachKeys) -> str:
    return f"#{{?{LINE_OPTION},#{{{LINE_OPTION}}} · ,}}{_leaving(keys)}"


def _long(keys: AttachKeys) -> str:
    following = f"#{{?{NEXT_OPTION}, ({keys.next}),}}" if keys.next else ""
    others = f"#{{?{LINE_OPTION},#{{{LINE_OPTION}}}{following} · ,}}"
    return f"{others}{_leaving(keys)} leaves"


def _leaving(keys: AttachKeys) -> str:
    """Return the key that leaves; without one, tmux's own, which a tmux around it takes."""
    nested = "#{m/r:^(tmux|screen),#{client_termname}}"
    return keys.leave or f"#{{?{nested},C-b C-b d,C-b d}}"


def _bindings(keys: AttachKeys) -> Iterable[bytes]:
    if keys.leave:
        yield line("bind-key", "-n", keys.leave, "detach-client")
    if keys.next:
        switch = command("run-shell", "-C", f"switch-client -t '=#{{{NEXT_OPTION}}}'")
        message = command("display-message", _NONE_WAITS)
        condition = f"#{{{NEXT_OPTION}}}"
        yield line("bind-key", "-n", keys.next, "if-shell", "-F", condition, switch, message)
