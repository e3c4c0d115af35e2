"""All that Rookery asks of the operating system about processes.

Other packages know neither /proc nor pidfds, psutil or peer credentials. ``linux`` and
``portable`` answer the same questions (``operating_system.System``), and ``system`` is the one
in use: ``portable`` on macOS, and everywhere with ``ROOKERY_PORTABLE=1``. Other packages import
from here, or from ``exit_watch``, ``lineage``, ``peers``, ``real_paths`` or ``terminal_jobs``.
"""

from __future__ import annotations

from rookery.processes.agent_search import (
    FoundProgram,
    caller_of,
    find_agent,
    is_shared,
    is_shared_server,
    program_of,
    run_as,
    runs_program,
)
from rookery.processes.operating_system import IS_PORTABLE, system
from rookery.processes.signal_names import signal_name
from rookery.processes.table import (
    Kernel,
    Process,
    ProcessTable,
    SeenProcess,
    ancestors,
    descendants,
    find_newest,
    in_session,
    is_running,
    send_signal,
    session_leader,
    signal_each,
    signal_group,
    signal_sessions,
)

__all__ = [
    "IS_PORTABLE",
    "FoundProgram",
    "Kernel",
    "Process",
    "ProcessTable",
    "SeenProcess",
    "ancestors",
    "caller_of",
    "descendants",
    "find_agent",
    "find_newest",
    "in_session",
    "is_running",
    "is_shared",
    "is_shared_server",
    "program_of",
    "run_as",
    "runs_program",
    "send_signal",
    "session_leader",
    "signal_each",
    "signal_group",
    "signal_name",
    "signal_sessions",
    "system",
]
