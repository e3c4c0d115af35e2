"""The commands that show the configuration and set up the user's shell."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress

import click
from click.shell_completion import get_completion_class

from rookery.cli.options import as_json, context_client, examples, home
from rookery.cli.render import reply
from rookery.cli.report import warn_of_changed_config
from rookery.model.errors import RookeryError

#: Names of variables whose values are not shown.
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)

_BARE = re.compile(r"[A-Za-z0-9_-]+")

#: The file that each shell reads when it starts.
_START_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/config.fish"}


@click.command(epilog=examples("rookery config", "rookery config check", "rookery config path"))
@click.argument("what", type=click.Choice(["show", "path", "check"]), default="show")
@as_json
def config(*, what: str, as_json: bool) -> None:
    """Show the configuration, the path of its file, or check it."""
    file = home().settings
    if what == "path":
        reply({"file": str(file)}, str(file), as_json=as_json)
        return
    from rookery.config import check_agents, load  # noqa: PLC0415 - loads slowly

    settings = load(file)
    if what == "check":
        check_agents(settings)
        right = (
            f"{file} is valid." if file.exists() else f"There is no {file}; the defaults apply."
        )
        reply({"file": str(file), "exists": file.exists()}, right, as_json=as_json)
        _say_what_the_daemon_uses()
        return
    shown = masked(settings.model_dump(mode="json"))
    reply(shown, "\n".join(flat(shown)), as_json=as_json)
    _say_what_the_daemon_uses()


def _say_what_the_daemon_uses() -> None:
    """Print a note if the running daemon has read another version of the file."""
    with suppress(RookeryError):  # without a daemon there is nothing to say
        warn_of_changed_config(context_client(click.get_current_context()))


def masked(settings: Mapping[str, object]) -> dict[str, object]:
    """Hide the values of all variables of profiles, and of others that may be secrets."""
    return {name: _masked(name, value) for name, value in settings.items()}


def _masked(name: str, value: object) -> object:
    if not isinstance(value, dict):
        return value
    if name == "profiles":
        return {each: _without_values(profile) for each, profile in value.items()}
    if name == "environment":
        return {each: "(set)" if _SECRET.search(each) else word for each, word in value.items()}
    return masked(value)


def _without_values(profile: object) -> object:
    """Hide the values of all variables of a profile: they choose accounts and keys."""
    if not isinstance(profile, dict):
        return profile
    return {**profile, "environment": dict.fromkeys(profile.get("environment", ()), "(set)")}


def flat(settings: Mapping[str, object], prefix: str = "") -> list[str]:
    """Return settings as lines of TOML."""
    lines: list[str] = []
    for name, value in settings.items():
        key = prefix + (name if _BARE.fullmatch(name) else json.dumps(name))
        if isinstance(value, dict):
            lines += flat(value, f"{key}.")
        else:
            # For the types that can be configured, JSON is also valid TOML.
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    return lines


@click.command(
    epilog=examples(
        "rookery completion bash >> ~/.bashrc",
        "rookery completion fish > ~/.config/fish/completions/rookery.fish",
    )
)
@click.argument("shell", type=click.Choice([*_START_FILES]))
def completion(shell: str) -> None:
    """Print a completion script for your shell; its first line says where to put it."""
    complete = get_completion_class(shell)
    assert complete is not None  # noqa: S101 - click knows the shells that may be given
    root = click.get_current_context().find_root().command
    click.echo(f"# rookery completion {shell} >> {_START_FILES[shell]}")
    click.echo(complete(root, {}, "rookery", "_ROOKERY_COMPLETE").source())
