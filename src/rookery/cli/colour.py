"""Decide whether commands print colours: by their option, NO_COLOR or the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeVar

import click

C = TypeVar("C", bound=Callable[..., object])

#: ``auto`` prints colours to terminals, unless NO_COLOR is set.
_CHOICES = {"auto": None, "always": True, "never": False}


def _choose(context: click.Context, parameter: click.Parameter, choice: str) -> str:
    # click itself removes colours from what is not printed to a terminal, unless this is set.
    context.color = _CHOICES[choice]
    return choice


def colour_option(command: C) -> C:
    """Add the option ``--color`` to a command, whose function gets no parameter for it."""
    option = click.option(
        "--color",
        type=click.Choice([*_CHOICES]),
        default="auto",
        show_default=True,
        expose_value=False,
        callback=_choose,
        help="When to print colours.",
    )
    return option(command)


def is_colourful() -> bool:
    """Return whether the current command prints colours."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
