"""The processes in panes."""

from __future__ import annotations

from tests.support.real.rookery import Rookery


def asked_of(rookery: Rookery, name: str) -> list[str]:
    """Return what a session was ever asked."""
    return [turn["prompt"] for turn in rookery.json("output", name)["turns"]]


def pane_pid(rookery: Rookery, name: str) -> int:
    pane = rookery.session(name)["tmux_pane"]
    return int(rookery.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))
