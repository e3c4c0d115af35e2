"""Drives OpenCode through a server of its own."""
