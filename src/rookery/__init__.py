"""Rookery: runs, tracks and connects AI coding-agent sessions."""

__version__ = "0.1.0"
