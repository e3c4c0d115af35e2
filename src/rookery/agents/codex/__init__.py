"""Codex CLI, as of 0.166.

Only what a command that must start quickly may need; ``agent`` has the rest.
"""

NAME = "codex"

#: What a project's folder may hold that runs programs once the folder is trusted.
PROJECT_FILES = (".codex",)

#: The runtimes in which it works without a terminal.
DRIVEN = (NAME, "acp")
