"""The program's root, and what every command begins with."""

from __future__ import annotations

import os

import click

from rookery import __version__
from rookery.client import Client
from rookery.home import Home, find_home

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")

#: Seconds to wait where nothing else is said.
DAY = 86_400.0


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="rookery %(version)s")
def rookery() -> None:
    """Run, track and connect AI coding-agent sessions. Begin with:  rookery up"""


def home() -> Home:
    return find_home(os.environ)


def client() -> Client:
    # Within a session, its badge says who asks: what it may do is less than the user may.
    return Client(home().door, os.environ.get("ROOKERY_BADGE", ""))
