"""Drives Codex through its app-server, and adds messages to its queue."""
