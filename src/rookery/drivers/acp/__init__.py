"""Drives any agent by the Agent Client Protocol."""
