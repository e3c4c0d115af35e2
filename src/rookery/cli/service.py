"""The systemd unit that starts the daemon, and the command that writes and removes it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from rookery.cli.options import examples, own_root
from rookery.cli.render import say
from rookery.model.errors import BadInput

_UNIT = """\
[Unit]
Description=Rookery runs AI coding-agent sessions

[Service]
ExecStart={python} -I -m rookery up
Restart=on-failure
# Stop only the daemon: the agents, in their own tmux, keep running.
KillMode=process
UMask=0077
# This applies to the agents, too: sudo does not work in them. Remove it if they need sudo.
NoNewPrivileges=yes
{environment}
[Install]
WantedBy=default.target
"""


def unit_file() -> Path:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return config / "systemd" / "user" / "rookery.service"


def unit_text(root: Path | None) -> str:
    """Return the text of the unit for a home; ``None``: the default. Raises ``BadInput``."""
    environment = f"{_environment(root)}\n" if root else ""
    python = _quoted(sys.executable).replace("$", "$$")
    return _UNIT.format(python=python, environment=environment)


def is_unit_of(text: str, root: Path | None) -> bool:
    """Return whether a unit starts the daemon of this home."""
    # Older versions wrote the home without quotes.
    lines = text.splitlines()
    if root:
        return _environment(root) in lines or f"Environment=ROOKERY_HOME={root}" in lines
    is_ours = any(line.endswith("-I -m rookery up") for line in lines)
    return is_ours and not any("ROOKERY_HOME=" in line for line in lines)


def _environment(root: Path) -> str:
    return f"Environment={_quoted(f'ROOKERY_HOME={root}')}"


def _quoted(argument: str) -> str:
    """Quote an argument so that systemd neither splits it nor expands parts of it."""
    if any(not each.isprintable() for each in argument):
        raise BadInput(f"{argument!r} cannot be written into a systemd unit.")
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def find_unit() -> Path | None:
    """Return the systemd unit file that starts the daemon of this home, or None."""
    file = unit_file()
    try:
        unit = file.read_text()
    except OSError:
        return None
    return file if is_unit_of(unit, own_root()) else None


def remove_unit(file: Path) -> str:
    """Remove the unit. Returns the text for the user."""
    file.unlink()
    return f"Removed: {file}. Type:  systemctl --user daemon-reload"


@click.command(epilog=examples("rookery service", "rookery service install"))
@click.argument("what", type=click.Choice(["print", "install", "remove"]), default="print")
def service(what: str) -> None:
    """Write, show or remove the systemd unit that starts the daemon when you log in."""
    unit, file = unit_text(own_root()), unit_file()
    if what == "print":
        say(unit.rstrip("\n"))
    elif what == "install":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(unit)
        say(f"Written: {file}")
        say(
            "Now type:  systemctl --user daemon-reload && systemctl --user enable --now rookery"
        )
        say("To run it also while you are not logged in:  loginctl enable-linger")
    elif file.exists():
        say(remove_unit(file))
    else:
        say("There is no unit.")
