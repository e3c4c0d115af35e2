"""The user's configuration and its defaults."""

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

from rookery.agent_settings import AgentSettings, ProfileSettings, Variables
from rookery.agents.names import CONFIGURED_NAME, FOLDERS_KEY, NAMES, SHELL, WITH_SETTINGS
from rookery.attach_settings import AttachSettings
from rookery.model.errors import AgentUnknown, ConfigBroken
from rookery.model.patterns import compile_regex
from rookery.model.spelling_suggestions import did_you_mean
from rookery.notification_settings import NotificationSettings
from rookery.setting_errors import told_errors
from rookery.workspace_settings import WorkspaceSettings

#: Names that are typed on a command line.
_PROFILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, serialize_by_alias=True
    )


def _check_line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("it must be one line of printable characters")
    return text


class LimitSettings(_Section):
    start_deadline: float = Field(60.0, gt=0, le=86_400)  #: seconds for an agent to start
    tmux_sessions: int = Field(100, ge=1, le=100_000)  #: maximum of live sessions in tmux
    driven_sessions: int = Field(5, ge=1, le=1_000)  #: maximum of live driven sessions
    #: Minutes until an idle driven session ends.
    driven_idle_minutes: float = Field(30.0, gt=0, le=100_000)
    #: US dollars that a driven session may use, unless its start sets another limit.
    budget_usd: float = Field(5.0, gt=0, le=1_000_000)
    #: Seconds without a report of a driven agent after which that is recorded: in a turn, while
    #: no tool runs and nothing is asked.
    silence_seconds: float = Field(15.0, gt=0, le=86_400)
    #: Sessions that one session may start in a minute.
    starts_a_minute: int = Field(30, ge=1, le=10_000)
    #: Messages that may wait for one session, from all senders. Rookery's own notifications are
    #: counted separately.
    queued_messages: int = Field(1_000, ge=1, le=1_000_000)
    #: Kilobytes of all messages that may wait for one session.
    queued_kb: int = Field(16_000, ge=1, le=1_000_000)
    #: Live sessions that Rookery knows only from hooks; further ones are not recorded.
    headless_sessions: int = Field(500, ge=1, le=100_000)
    #: Hours until an inactive session ends.
    inactive_hours: float = Field(72.0, gt=0, le=87_600)
    listed_hours: float = Field(1.0, ge=0, le=87_600)  #: hours an ended session is listed
    kept_sessions: int = Field(10_000, ge=1, le=10_000_000)  #: ended sessions that are kept
    #: Days until an entry of the journal, or a block of output, is deleted.
    retention_days: float = Field(90.0, gt=0, le=36_500)
    scrollback_lines: int = Field(10_000, ge=100, le=10_000_000)  #: lines that each pane keeps
    #: Blocks of output that `rookery output --blocks` prints unless it is told how many.
    output_blocks: int = Field(200, ge=1, le=10_000)
    live_ring_kb: int = Field(256, ge=16)  #: deprecated, without effect
    #: Seconds for an agent to quit in its own way.
    quit_seconds: float = Field(5.0, gt=0, le=86_400)
    #: Seconds for an agent to end after SIGTERM.
    terminate_seconds: float = Field(5.0, gt=0, le=86_400)
    #: Seconds that messages wait after a user's key.
    typing_seconds: float = Field(3.0, ge=0, le=86_400)


class Trust(_Section):
    #: Which sessions a session may read and send to: its family, or all.
    sessions: Literal["family", "all"] = "family"
    #: Where a session may start others: in its own project folder and below, or anywhere.
    projects: Literal["own", "any"] = "own"
    #: Slash commands, without the slash, that a session may send to its descendants, besides
    #: clear, compact, context, cost and review. Those of the recipient's project are refused.
    commands: tuple[str, ...] = ()


class PermissionSettings(_Section):
    """Tool calls that a person is asked about. The rules are in a separate file."""

    #: Seconds for an answer in mode remote; then `permissions.on_timeout` decides.
    deadline_seconds: float = Field(300.0, gt=0, le=350)
    #: At the deadline, leave the call to the agent's own dialog (terminal), or deny it (deny).
    on_timeout: Literal["terminal", "deny"] = "terminal"
    #: What a deciding hook does while no daemon runs: let the agent ask (ask), deny the call
    #: (deny), or answer nothing (pass).
    when_away: Literal["ask", "deny", "pass"] = "ask"
    parents_may_answer: bool = False  #: sessions may answer requests of their children


class StopSettings(_Section):
    """What happens when an agent stops with an answer that looks like an error."""

    #: Let the agent stop (off), tell it to try another way (retry), or ask the user (ask).
    policy: Literal["off", "retry", "ask"] = "off"
    retries: int = Field(2, ge=1, le=8)  #: maximum of retries in one turn
    #: The regular expression of an answer that looks like an error.
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

    survive_restart: bool = True  #: keep listeners when the daemon restarts
    check_seconds: float = Field(60.0, ge=1, le=86_400)  #: seconds between two checks of waits
    #: Minutes after which a wait is checked.
    stale_minutes: float = Field(10.0, gt=0, le=100_000)


class RelaySettings(_Section):
    """Sessions that receive each other's answers."""

    #: Relayed answers in a chain since a user's message.
    max_hops: int = Field(8, ge=1, le=1_000)
    max_a_minute: int = Field(20, ge=1, le=10_000)  #: answers per minute in one relay
    #: Maximum length of a relayed answer.
    max_characters: int = Field(12_000, ge=100, le=500_000)


class Tools(_Section):
    """The MCP tools that Rookery offers to the agents that it starts."""

    enabled: bool = True  #: offer Rookery's tools to agents


class DiscoverySettings(_Section):
    """Agents that Rookery did not start."""

    enabled: bool = True  #: look for agents in the user's own tmux servers
    tmux_sockets: tuple[str, ...] = ()  #: search only these servers; if empty, the usual ones
    #: Further configuration folders of Claude Code, besides the default one and those in the
    #: environment that is configured for it.
    session_file_folders: tuple[str, ...] = Field((), alias=FOLDERS_KEY)


class Price(_Section):
    """The price of a model in dollars per million tokens, where its agent reports no cost.

    MODEL is the name of a model, or a pattern in which * and ? match any text. The longest
    pattern that matches applies.
    """

    #: Dollars per million input tokens. MODEL is a name, or a pattern such as `gpt-*`.
    input: float = Field(0.0, ge=0, le=1_000_000)
    output: float = Field(0.0, ge=0, le=1_000_000)  #: dollars per million output tokens
    #: Dollars per million tokens read from a cache. Default: the price of input.
    cache_read: float | None = Field(None, ge=0, le=1_000_000)
    #: Dollars per million tokens written to a cache. Default: the price of input.
    cache_write: float | None = Field(None, ge=0, le=1_000_000)


class Http(_Section):
    """HTTP on loopback, for clients that cannot use the unix socket. Always needs a token."""

    enabled: bool = True  #: listen on loopback
    #: Port on 127.0.0.1; 0 for any free port. If the default port is taken, another one is
    #: used; if a configured port is taken, HTTP is off.
    port: int = Field(4870, ge=0, le=65535)


class MetricsSettings(_Section):
    """Metrics for Prometheus at /metrics. They need the extra `metrics`, and a token."""

    enabled: bool = False  #: serve metrics


#: The agents that can be the default: the words of a shell are a command, not a prompt.
_DEFAULT_AGENTS = tuple(name for name in NAMES if name != SHELL)


class Settings(_Section):
    #: the name of this computer
    computer: Annotated[str, AfterValidator(_check_line)] = Field(
        default_factory=socket.gethostname
    )
    #: The agent that `rookery start` starts if none is named; a shell cannot be the default.
    default_agent: str | None = None
    #: Start the daemon with the first command that needs it.
    autostart: bool = True
    environment: Variables = Field(default_factory=dict)  #: variables for every agent
    limits: LimitSettings = LimitSettings()
    trust: Trust = Trust()
    permissions: PermissionSettings = PermissionSettings()
    discovery: DiscoverySettings = DiscoverySettings()
    stops: StopSettings = StopSettings()
    listeners: ListenerSettings = ListenerSettings()
    relays: RelaySettings = RelaySettings()
    notifications: NotificationSettings = NotificationSettings()
    workspaces: WorkspaceSettings = WorkspaceSettings()
    attach: AttachSettings = AttachSettings()
    tools: Tools = Tools()
    http: Http = Http()
    metrics: MetricsSettings = MetricsSettings()
    agents: dict[str, AgentSettings] = Field(default_factory=dict)
    profiles: dict[Annotated[str, Field(pattern=_PROFILE_NAME)], ProfileSettings] = Field(
        default_factory=dict
    )
    prices: dict[str, Price] = Field(default_factory=dict)

    @field_validator("default_agent")
    @classmethod
    def _is_known(cls, name: str | None) -> str | None:
        if name is not None and name not in _DEFAULT_AGENTS:
            raise ValueError(f"it must be one of {', '.join(_DEFAULT_AGENTS)}")
        return name

    @property
    def acp_agents(self) -> tuple[str, ...]:
        """Return the agents that only the configuration knows, by the command for ACP."""
        return tuple(
            name for name, given in self.agents.items() if given.acp and name not in NAMES
        )

    def agent(self, name: str) -> AgentSettings:
        return self.agents.get(name, AgentSettings())


#: Where the keys are listed.
_ALL_KEYS = "The keys are in docs/reference/configuration.md"


def load(path: Path) -> Settings:
    """Read the configuration. A missing file counts as empty. Raises ``ConfigBroken``."""
    try:
        check_owner(path)  # before reading: a FIFO would block the daemon for ever
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
        raise ConfigBroken(f"{path}: {told_errors(error, Settings, see=_ALL_KEYS)}") from error


def check_agents(settings: Settings) -> None:
    """Refuse settings of an unknown agent: they would never be used."""
    known = (*NAMES, *settings.acp_agents)
    names = ", ".join(sorted(known))
    for name in settings.agents:
        if name not in known:
            near = did_you_mean(name, NAMES) or f"There are: {names}."
            raise AgentUnknown(
                f"[agents.{name}]. {near} Another agent needs the command that speaks ACP:"
                ' acp = ["PROGRAM"]'
            )
        if name not in NAMES and not CONFIGURED_NAME.fullmatch(name):
            raise ConfigBroken(
                f"[agents.{name}]: a name has small letters, digits, '-' and '_', and begins"
                " with a letter."
            )
    for name, profile in settings.profiles.items():
        if profile.agent not in known:
            raise AgentUnknown(f"{profile.agent!r} in [profiles.{name}]. There are: {names}.")
        if profile.config_dir and profile.agent not in WITH_SETTINGS:
            raise ConfigBroken(
                f"'profiles.{name}.config_dir': {profile.agent} has no configuration folder."
            )


def check_owner(path: Path, found: os.stat_result | None = None) -> None:
    """Raise ``ConfigBroken`` if others could have changed the file: it holds command lines."""
    found = found or path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ConfigBroken(f"{path} is not a regular file.")
    if found.st_uid not in {os.getuid(), 0}:
        raise ConfigBroken(f"{path} can be changed by others: it belongs to another user.")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigBroken(f"{path} can be changed by others; type:  chmod go-w '{path}'")
