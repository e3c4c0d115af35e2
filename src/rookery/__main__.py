"""Lets ``python -m rookery`` be the program."""

from __future__ import annotations

from rookery.cli import main

main()
