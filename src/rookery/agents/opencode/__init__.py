"""OpenCode, as of 1.18.

This module has only what is needed by commands that must start quickly; ``agent`` has the rest.
"""

NAME = "opencode"

#: Files and folders of a project that can run programs once the project is trusted.
PROJECT_FILES = (".opencode", "opencode.json", "opencode.jsonc")

#: The runtimes in which it works without a terminal.
DRIVEN = (NAME, "acp")
