"""Runtimes: they run sessions and report what happens to them."""
