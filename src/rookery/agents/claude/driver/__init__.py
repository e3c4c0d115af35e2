"""Drives Claude Code with the Claude Agent SDK."""
