"""Gemini CLI, as of 0.61.

This module has only what is needed by commands that must start quickly; ``agent`` has the rest.
"""

NAME = "gemini"

#: Files and folders of a project that can run programs once the project is trusted.
PROJECT_FILES = (".gemini",)

#: Gemini reads hooks only from its user's settings: they cannot be set at launch.
NEEDS_INSTALLED_HOOKS = True

#: The runtimes in which it works without a terminal.
DRIVEN = ("acp",)
