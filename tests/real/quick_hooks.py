"""Whether hooks run the quick program, which the daemon builds a moment after it is up."""

from __future__ import annotations

import shutil

from rookery.hook_setup import programs, quick_hook
from tests.real.rookery import Rookery, eventually


def is_used(rookery: Rookery) -> bool:
    return str(quick_hook.path(rookery.home)) in programs.script_path(rookery.home).read_text()


def wait_for_quick_hook(rookery: Rookery) -> None:
    """Wait until the daemon writes the hook's script no more."""
    if shutil.which("cc"):
        eventually(lambda: is_used(rookery))
