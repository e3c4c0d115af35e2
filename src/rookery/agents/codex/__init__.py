"""Codex CLI, as of 0.166."""
