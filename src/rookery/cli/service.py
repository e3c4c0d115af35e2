"""Write the systemd unit that starts the daemon, and recognise it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rookery.model.errors import BadInput

_UNIT = """\
[Unit]
Description=Rookery runs AI coding-agent sessions

[Service]
ExecStart={python} -I -m rookery up
Restart=on-failure
# Only the daemon is stopped: the agents, in their tmux, live on.
KillMode=process
UMask=0077
# It holds for the agents, too: sudo does not work in them. Remove it if they need that.
NoNewPrivileges=yes
{environment}
[Install]
WantedBy=default.target
"""


def unit_file() -> Path:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return config / "systemd" / "user" / "rookery.service"


def unit_text(root: Path | None) -> str:
    """Return the unit for a home; without ``root`` for the usual one. Raises ``BadInput``."""
    environment = f"{_environment(root)}\n" if root else ""
    python = _quoted(sys.executable).replace("$", "$$")
    return _UNIT.format(python=python, environment=environment)


def is_unit_of(text: str, root: Path | None) -> bool:
    """Return whether a unit starts the daemon of this home."""
    # Before it was quoted, the home was written as it is.
    lines = text.splitlines()
    if root:
        return _environment(root) in lines or f"Environment=ROOKERY_HOME={root}" in lines
    is_ours = any(line.endswith("-I -m rookery up") for line in lines)
    return is_ours and not any("ROOKERY_HOME=" in line for line in lines)


def _environment(root: Path) -> str:
    return f"Environment={_quoted(f'ROOKERY_HOME={root}')}"


def _quoted(word: str) -> str:
    """Quote a word for systemd, which would else split it or replace parts of it."""
    if any(not each.isprintable() for each in word):
        raise BadInput(f"{word!r} cannot be written into a unit of systemd.")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'
