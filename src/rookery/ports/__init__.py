"""Interfaces to the outside world, without implementations."""
