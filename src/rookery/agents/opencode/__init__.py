"""OpenCode, as of 1.18."""
