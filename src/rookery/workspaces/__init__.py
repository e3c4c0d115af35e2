"""Gives sessions git worktrees of their own, and lands and removes them without loss."""
