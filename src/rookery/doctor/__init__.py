"""Checks for problems, and suggests what to do about them."""
