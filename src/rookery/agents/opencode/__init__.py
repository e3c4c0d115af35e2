"""OpenCode, as of 1.18.

Only what a command that must start quickly may need; ``agent`` has the rest.
"""

NAME = "opencode"

#: What a project's folder may hold that runs programs once the folder is trusted.
PROJECT_FILES = (".opencode", "opencode.json", "opencode.jsonc")

#: The runtimes in which it works without a terminal.
DRIVEN = (NAME, "acp")
