"""Whether hooks run the quick program, which the daemon builds a moment after it is up."""

from __future__ import annotations

from rookery.hook_setup import programs, quick_hook
from tests.support.real.rookery import Rookery


def is_used(rookery: Rookery) -> bool:
    return str(quick_hook.path(rookery.home)) in programs.script_path(rookery.home).read_text()
