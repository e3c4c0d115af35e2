"""The daemon itself: its status, its upkeep and its tokens."""

from __future__ import annotations

from msgspec import field

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.transport import Client
from rookery.model.errors import Answered


class StatusInfo(DaemonAnswer, frozen=True):
    pid: int = 0
    version: str = ""
    home: str = ""
    sessions: int = 0
    in_tmux: int | None = None
    driven: int = 0
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
    hooks_problem: str = ""
    metrics_problem: str = ""
    lost: int = 0
    config_note: str = ""


class CheckInfo(DaemonAnswer, frozen=True):
    name: str = ""
    ok: bool | None = None
    detail: str = ""
    advice: str = ""
    items: tuple[str, ...] = ()


class CheckupInfo(DaemonAnswer, frozen=True):
    ok: bool = False
    checks: tuple[CheckInfo, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


class PrunedInfo(DaemonAnswer, frozen=True):
    rows: int = 0


class BackedUpInfo(DaemonAnswer, frozen=True):
    file: str = ""
    bytes: int = 0


class TokenInfo(DaemonAnswer, frozen=True):
    id: str = ""
    scope: str = ""
    minted_by: str = ""
    created_at: str = ""


class MintedInfo(DaemonAnswer, frozen=True):
    token: TokenInfo = TokenInfo()
    secret: str | None = None


class TokensInfo(DaemonAnswer, frozen=True):
    tokens: tuple[TokenInfo, ...] = ()


class DoneInfo(DaemonAnswer, frozen=True):
    done: bool = True


def show_status(daemon: Client) -> StatusInfo:
    return read(StatusInfo, daemon.get("status"))


def stop_daemon(daemon: Client) -> StatusInfo:
    return read(StatusInfo, daemon.post("stop"))


def run_checks(daemon: Client, *, path: str) -> CheckupInfo:
    """Run the checks; ``path`` is a further PATH on which they look for agents."""
    try:
        return read(CheckupInfo, daemon.get("doctor", path=path))
    except Answered as refusal:
        if refusal.code != "bad-input":
            raise
        return read(CheckupInfo, daemon.get("doctor"))  # an older daemon takes no PATH


def prune(daemon: Client, *, days: float | None) -> PrunedInfo:
    return read(PrunedInfo, daemon.post("prune", days=days))


def back_up(daemon: Client, file: str) -> BackedUpInfo:
    return read(BackedUpInfo, daemon.post("backup", file=file))


def mint_token(daemon: Client, scope: str) -> MintedInfo:
    return read(MintedInfo, daemon.post("tokens", scope=scope))


def list_tokens(daemon: Client) -> TokensInfo:
    return read(TokensInfo, daemon.get("tokens"))


def revoke_token(daemon: Client, token: str) -> DoneInfo:
    return read(DoneInfo, daemon.post("tokens", token, "revoke"))
