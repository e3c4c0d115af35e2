"""Report when this command and the daemon have different versions."""

from __future__ import annotations

import re

from rookery import __version__


def skew(daemon: str, own: str = __version__) -> str:
    """Return a sentence with advice for the user; empty if the versions are the same."""
    if daemon == own:
        return ""
    differ = f"This command is version {own}, the daemon {daemon}"
    if _numbers(daemon) > _numbers(own):
        return f"{differ}: upgrade this command, or use the one that started the daemon."
    return f"{differ}: restart the daemon with `rookery down` and `rookery up`."


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version))
