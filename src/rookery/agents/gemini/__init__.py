"""Gemini CLI, as of 0.61."""
