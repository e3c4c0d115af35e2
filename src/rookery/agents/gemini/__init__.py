"""Gemini CLI, as of 0.61.

Only what a command that must start quickly may need; ``agent`` has the rest.
"""

NAME = "gemini"

#: What a project's folder may hold that runs programs once the folder is trusted.
PROJECT_FILES = (".gemini",)

#: It reads hooks only from its user's settings: they cannot be set at launch.
NEEDS_INSTALLED_HOOKS = True

#: The runtimes in which it works without a terminal.
DRIVEN = ("acp",)
