"""Find out why hooks of agents do not work."""

from __future__ import annotations

from rookery.home import Home
from rookery.hook_setup.programs import find_problem
from rookery.private_files import find_socket_problem


def find_hooks_problem(home: Home) -> str:
    """Return why hooks cannot reach the daemon, or which hook program is damaged."""
    return find_socket_problem(home.hook_door) or find_problem(home)
