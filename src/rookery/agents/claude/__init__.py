"""Claude Code, as of 2.1.

This module has only what is needed by commands that must start quickly; ``agent`` has the rest.
"""

NAME = "claude"

#: Files and folders of a project that can run programs once the project is trusted.
PROJECT_FILES = (".claude", ".mcp.json")

#: The environment variable that Claude Code sets for the programs that it runs.
OWN_VARIABLE = "CLAUDECODE"

#: The key of Rookery's configuration that lists more of Claude Code's settings folders.
FOLDERS_KEY = "claude_config_dirs"

#: The first part of the names of methods by which other tools ask for sessions, and the field
#: of their results that has the agent's own id.
RPC_PREFIX, RPC_SESSION_ID = "claude-code", "claudeSessionId"

#: The Python package through which Claude Code is driven; an extra installs it.
SDK_PACKAGE = "claude_agent_sdk"

#: The runtimes in which it works without a terminal.
DRIVEN = ("sdk", "acp")
