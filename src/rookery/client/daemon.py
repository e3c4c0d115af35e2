"""The daemon itself: its status, its upkeep and its tokens."""

from __future__ import annotations

from msgspec import field

from rookery.client.answers import Answer, read
from rookery.client.transport import Client


class Status(Answer, frozen=True):
    pid: int = 0
    version: str = ""
    home: str = ""
    sessions: int = 0
    in_tmux: int | None = None
    waiting: int = 0
    computer: str = ""
    tmux_socket: str = ""
    log: str = ""
    url: str | None = None
    trouble: str = ""
    holding: bool = False
    http_note: str = ""
    rules_problem: str = ""
    headless_problem: str = ""


class Expense(Answer, frozen=True):
    name: str = ""
    tokens: int = 0


class Statistics(Answer, frozen=True):
    launched: int = 0
    found: int = 0
    live: int = 0
    by_status: dict[str, int] = field(default_factory=dict)
    by_agent: dict[str, int] = field(default_factory=dict)
    by_day: dict[str, int] = field(default_factory=dict)
    total_seconds: float = 0.0
    average_seconds: float | None = None
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tokens_by_agent: dict[str, int] = field(default_factory=dict)
    tokens_by_day: dict[str, int] = field(default_factory=dict)
    cost: int | None = None
    cost_by_agent: dict[str, int] = field(default_factory=dict)
    cost_by_day: dict[str, int] = field(default_factory=dict)
    most_expensive: Expense | None = None


class Check(Answer, frozen=True):
    name: str = ""
    ok: bool | None = None
    detail: str = ""
    advice: str = ""
    items: tuple[str, ...] = ()


class Checkup(Answer, frozen=True):
    ok: bool = False
    checks: tuple[Check, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


class Pruned(Answer, frozen=True):
    rows: int = 0


class BackedUp(Answer, frozen=True):
    file: str = ""
    bytes: int = 0


class Token(Answer, frozen=True):
    id: str = ""
    scope: str = ""
    minted_by: str = ""
    created_at: str = ""


class Minted(Answer, frozen=True):
    token: Token = Token()
    secret: str | None = None


class Tokens(Answer, frozen=True):
    tokens: tuple[Token, ...] = ()


class Done(Answer, frozen=True):
    done: bool = True


def show_status(daemon: Client) -> Status:
    return read(Status, daemon.get("status"))


def stop_daemon(daemon: Client) -> Status:
    return read(Status, daemon.post("stop"))


def show_statistics(daemon: Client) -> Statistics:
    return read(Statistics, daemon.get("stats"))


def run_checks(daemon: Client) -> Checkup:
    return read(Checkup, daemon.get("doctor"))


def prune(daemon: Client, *, days: float | None) -> Pruned:
    return read(Pruned, daemon.post("prune", days=days))


def back_up(daemon: Client, file: str) -> BackedUp:
    return read(BackedUp, daemon.post("backup", file=file))


def mint_token(daemon: Client, scope: str) -> Minted:
    return read(Minted, daemon.post("tokens", scope=scope))


def list_tokens(daemon: Client) -> Tokens:
    return read(Tokens, daemon.get("tokens"))


def revoke_token(daemon: Client, token: str) -> Done:
    return read(Done, daemon.post("tokens", token, "revoke"))
