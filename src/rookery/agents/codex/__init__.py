"""Codex CLI, as of 0.166.

This module has only what is needed by commands that must start quickly; ``agent`` has the rest.
"""

NAME = "codex"

#: Files and folders of a project that can run programs once the project is trusted.
PROJECT_FILES = (".codex",)

#: The runtimes in which it works without a terminal.
DRIVEN = (NAME, "acp")
