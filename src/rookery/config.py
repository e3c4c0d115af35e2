"""What the user may set, and what holds where nothing is set."""

from __future__ import annotations

import os
import socket
import stat
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from rookery.agents.names import FOLDERS_KEY
from rookery.model.errors import ConfigBroken
from rookery.model.patterns import compile_regex


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, serialize_by_alias=True
    )


def _check_words(words: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in word for word in words):
        raise ValueError("no program can be given a NUL character")
    return words


def _check_environment(environment: dict[str, str]) -> dict[str, str]:
    for name, value in environment.items():
        if not name or "=" in name:
            raise ValueError(f"{name!r} cannot be the name of a variable")
        _check_words((name, value))
    return environment


def _check_line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("it must be one line of printable characters")
    return text


#: Words of a command line.
Words = Annotated[tuple[str, ...], AfterValidator(_check_words)]

#: Variables by name, as every program can be given them.
Variables = Annotated[dict[str, str], AfterValidator(_check_environment)]


class AgentSettings(_Section):
    """How one agent's program is run."""

    command: Words = ()  #: instead of its usual program
    arguments: Words = ()  #: after the program, before ours
    environment: Variables = Field(default_factory=dict)  #: for this agent alone


class LimitSettings(_Section):
    start_deadline: float = Field(60.0, gt=0)  #: seconds for an agent to come up
    tmux_sessions: int = Field(100, ge=1)  #: that live at once
    #: Sessions that one session may start in a minute.
    starts_a_minute: int = Field(30, ge=1, le=10_000)
    #: Messages that may wait for one session, from all authors; news is counted apart.
    queued_messages: int = Field(1_000, ge=1, le=1_000_000)
    #: Kilobytes of all messages that may wait for one session.
    queued_kb: int = Field(16_000, ge=1, le=1_000_000)
    #: Live sessions that Rookery knows by their hooks only; further ones are not recorded.
    headless_sessions: int = Field(500, ge=1, le=100_000)
    inactive_hours: float = Field(72.0, gt=0, le=87_600)  #: then a session is ended
    listed_hours: float = Field(1.0, ge=0, le=87_600)  #: an ended session stays in the list
    kept_sessions: int = Field(10_000, ge=1)  #: of those that ended
    retention_days: float = Field(90.0, gt=0, le=36_500)  #: then an entry is forgotten
    scrollback_lines: int = Field(10_000, ge=100)  #: of each pane
    live_ring_kb: int = Field(256, ge=16)  #: of each pane's last output
    quit_seconds: float = Field(5.0, gt=0)  #: for an agent to leave in its own way
    terminate_seconds: float = Field(5.0, gt=0)  #: and then after SIGTERM
    typing_seconds: float = Field(3.0, ge=0)  #: words wait so long after a person's last key


class Trust(_Section):
    #: Whom a session may read and speak to: its family, or everybody.
    sessions: Literal["family", "all"] = "family"
    #: Where a session may start others: in its own project folder and below, or anywhere.
    projects: Literal["own", "any"] = "own"
    #: Besides clear, compact, context, cost and review; none that the recipient's project
    #: defines: slash commands, without the slash, that a session may give to its children.
    commands: tuple[str, ...] = ()


class PermissionSettings(_Section):
    """Tool calls that a person is asked about. The rules are in a file of their own."""

    #: Seconds for an answer in mode remote; then `permissions.on_timeout` decides.
    deadline_seconds: float = Field(300.0, gt=0, le=350)
    #: At the deadline the agent's own dialog takes over (terminal), or the answer is no (deny).
    on_timeout: Literal["terminal", "deny"] = "terminal"
    #: What a hook that should decide says while no daemon runs: let the agent ask, say no, or
    #: say nothing.
    when_away: Literal["ask", "deny", "pass"] = "ask"
    parents_may_answer: bool = False  #: a session may answer for those that it started


class StopSettings(_Section):
    """What happens when an agent stops with words that look like an error."""

    #: Nothing; have it try another way; or ask the person whether it should go on.
    policy: Literal["off", "retry", "ask"] = "off"
    retries: int = Field(2, ge=1, le=8)  #: of one turn, at most
    #: Words at which a stop looks like an error.
    pattern: str = (
        r"(?i)\b(?:errors?|exceptions?|traceback|fail(?:ed|ure|s)?|unable to|could ?n[o']t)\b"
    )

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        compile_regex(pattern)
        return pattern


class ListenerSettings(_Section):
    """Sessions that wait for others."""

    survive_restart: bool = True  #: else whoever waited has to ask again
    check_seconds: float = Field(60.0, ge=1, le=86_400)  #: between two looks at them
    stale_minutes: float = Field(10.0, gt=0, le=100_000)  #: who waits longer is looked at


class RelaySettings(_Section):
    """Sessions that talk with each other."""

    max_hops: int = Field(8, ge=1, le=1_000)  #: answers to answers, since a person spoke
    max_a_minute: int = Field(20, ge=1, le=10_000)  #: answers in one relay
    max_characters: int = Field(12_000, ge=100, le=500_000)  #: of one answer


class Tools(_Section):
    """What agents that Rookery starts can ask of it themselves, by MCP."""

    enabled: bool = True  #: give them to agents


class DiscoverySettings(_Section):
    """Agents that we did not start."""

    enabled: bool = True  #: look for them in the user's own tmux
    tmux_sockets: tuple[str, ...] = ()  #: of these servers only; else of the usual ones
    #: Claude's configuration folders, besides the usual one and those that are set for it here.
    session_file_folders: tuple[str, ...] = Field((), alias=FOLDERS_KEY)


class Price(_Section):
    """What a model costs, in dollars for a million tokens. No agent says it itself."""

    input: float = Field(0.0, ge=0, le=1_000_000)  #: dollars for a million tokens that go in
    output: float = Field(0.0, ge=0, le=1_000_000)  #: and for a million that come out
    #: For a million that come from a cache; else as all that go in.
    cache_read: float | None = Field(None, ge=0, le=1_000_000)
    #: For a million that go into a cache; else as all that go in.
    cache_write: float | None = Field(None, ge=0, le=1_000_000)


class Http(_Section):
    """The door on loopback, for what cannot use the unix socket. It always needs a token."""

    enabled: bool = True  #: listen on loopback
    #: The port on 127.0.0.1. 0: any free one. If the default port is taken, another one is
    #: used; if a port that is set here is taken, there is no HTTP door.
    port: int = Field(4870, ge=0, le=65535)


class Settings(_Section):
    #: what this one is called
    computer: Annotated[str, AfterValidator(_check_line)] = Field(
        default_factory=socket.gethostname
    )
    environment: Variables = Field(default_factory=dict)  #: added to every agent's
    limits: LimitSettings = LimitSettings()
    trust: Trust = Trust()
    permissions: PermissionSettings = PermissionSettings()
    discovery: DiscoverySettings = DiscoverySettings()
    stops: StopSettings = StopSettings()
    listeners: ListenerSettings = ListenerSettings()
    relays: RelaySettings = RelaySettings()
    tools: Tools = Tools()
    http: Http = Http()
    agents: dict[str, AgentSettings] = Field(default_factory=dict)
    prices: dict[str, Price] = Field(default_factory=dict)

    def agent(self, name: str) -> AgentSettings:
        return self.agents.get(name, AgentSettings())


def load(path: Path) -> Settings:
    """Read the configuration. A missing file is an empty one. Raises ``ConfigBroken``."""
    try:
        check_owner(path)  # before it is read: a FIFO would hold the daemon for ever
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigBroken(f"{path}: {error}") from error
    try:
        return Settings.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigBroken(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        raise ConfigBroken(f"{path}: {first_error(error, 'configuration.md')}") from error


def check_owner(path: Path, found: os.stat_result | None = None) -> None:
    """Refuse command lines that somebody else could have written."""
    found = found or path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ConfigBroken(f"{path} is not a regular file.")
    if found.st_uid not in {os.getuid(), 0}:
        raise ConfigBroken(f"{path} can be changed by others: it belongs to another user.")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigBroken(f"{path} can be changed by others; type:  chmod go-w '{path}'")


def first_error(error: ValidationError, page: str) -> str:
    """Say what is wrong first; ``page`` of the reference has all that there is."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"there is no key '{key}'; see docs/reference/{page}"
    return f"'{key}': {first['msg']}"
