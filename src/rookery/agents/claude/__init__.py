"""Claude Code, as of 2.1."""
