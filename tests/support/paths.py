"""Where tests find the project's files."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

#: What real agents sent, printed and wrote.
RECORDINGS = ROOT / "tests" / "recordings"

#: Agent programs that ``make agents`` installs, and those of ``make test-agents``.
PROGRAMS = ROOT / "tests" / "agents" / "programs" / "node_modules" / ".bin"
MORE_PROGRAMS = ROOT / "tests" / "agents" / "more" / "node_modules" / ".bin"

#: Helpers of tests, some of which are programs.
SUPPORT = ROOT / "tests" / "support"
