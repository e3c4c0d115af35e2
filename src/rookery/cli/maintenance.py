"""The commands that keep Rookery well: counting, checking, tidying, configuring."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from rookery.cli.exit_codes import NOT_RUNNING
from rookery.cli.render import count, is_colourful, local, remark, say, show_json
from rookery.cli.root import as_json, client, home, rookery
from rookery.cli.versions import skew
from rookery.model.errors import NotRunning

#: Variables of whose values nothing is shown.
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@rookery.command()
@as_json
def stats(*, as_json: bool) -> None:
    """Count what there was."""
    found = client().get("stats")
    if as_json:
        show_json(found)
        return
    average = found["average_seconds"]
    launched, turns = count(found["launched"], "session"), count(found["turns"], "turn")
    others = f", {found['found']} found" if found["found"] else ""
    say(f"{launched} launched{others}, {found['live']} live, {turns}.")
    if average is not None:
        took = f"{_span(found['total_seconds'])}, {_span(average)} on average"
        say(f"Those that are over took {took}.")
    for title, name in (
        ("By status", "by_status"),
        ("By agent", "by_agent"),
        ("By day", "by_day"),
    ):
        counted = "  ".join(f"{word} {number}" for word, number in found[name].items())
        say(f"{title}: {counted or 'nothing yet'}")
    _show_usage(found)


def _show_usage(found: Mapping[str, Any]) -> None:
    """Say what was used, as far as agents report it."""
    if dearest := found["most_expensive"]:
        say(f"Tokens: {found['input_tokens']:,} in, {found['output_tokens']:,} out")
        for title, name in (("agent", "tokens_by_agent"), ("day", "tokens_by_day")):
            used = (f"{word} {number:,}" for word, number in found[name].items())
            say(f"Tokens by {title}: {'  '.join(used)}")
        say(f"Most expensive: {dearest['name']}, {dearest['tokens']:,} tokens")
    if found["cost"] is not None:
        say(f"Cost: {_dollars(found['cost'])}")
        for title, name in (("agent", "cost_by_agent"), ("day", "cost_by_day")):
            costs = (f"{word} {_dollars(cost)}" for word, cost in found[name].items())
            say(f"Cost by {title}: {'  '.join(costs)}")


def _dollars(cost: int) -> str:
    return f"${cost / 1_000_000:,.2f}"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


@rookery.command()
@click.option("--environment", is_flag=True, help="Also show what agents run in.")
@click.option("--deep", is_flag=True, help="Read all of the database; a large one takes long.")
@as_json
def doctor(*, environment: bool, deep: bool, as_json: bool) -> None:
    """Look for trouble, and say what to do about it; without a daemon, where it can."""
    try:
        found = client().get("doctor")
        if other := skew(client().get("status")["version"]):
            version = {"name": "version", "ok": False, "detail": other}
            checks = [*found["checks"], {**version, "advice": "", "items": []}]
            found = {**found, "ok": False, "checks": checks}
        code = 0 if found["ok"] else 1
    except NotRunning:
        found, code = _examined_here(), NOT_RUNNING
    if deep:
        found = _examined_deeply(found)
        code = code or (0 if found["ok"] else 1)
    if as_json:
        show_json(found)
    else:
        for check in found["checks"]:
            _show_check(check)
        if environment:
            say("\n".join(f"  {name}={value}" for name, value in found["environment"].items()))
    sys.exit(code)


def _examined_here() -> Mapping[str, Any]:
    # Only here: what it needs would slow every other command down.
    check_agents = importlib.import_module("rookery.daemon").check_agents
    checks = importlib.import_module("rookery.doctor").examine_alone(home(), check_agents)
    return {"ok": False, "checks": [asdict(each) for each in checks], "environment": {}}


def _examined_deeply(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read the whole database, in place of the check that is quick."""
    click.echo("Reading all of the database …", err=True)
    deep = importlib.import_module("rookery.doctor").check_deeply(home())
    checks = [asdict(deep) if each["name"] == deep.name else each for each in found["checks"]]
    return {**found, "ok": found["ok"] and deep.ok is not False, "checks": checks}


_MARKS = {True: ("ok  ", "green"), False: ("look", "yellow"), None: ("–   ", None)}


def _show_check(check: Mapping[str, Any]) -> None:
    mark, colour = _MARKS[check["ok"]]
    click.secho(mark, fg=colour if is_colourful() else None, nl=False)
    say(f"  {check['name']:14} {check['detail']}")
    for line in (*check["items"], check["advice"]):
        if line:
            say(f"      {line}")


@rookery.command()
@click.option("--days", type=click.FloatRange(0), help="Older than this; else as configured.")
@as_json
def prune(*, days: float | None, as_json: bool) -> None:
    """Forget what is old, now."""
    found = client().post("prune", days=days)
    if as_json:
        show_json(found)
    else:
        say(f"{found['rows']} rows forgotten.")


@rookery.command()
@click.argument("what", type=click.Choice(["show", "path", "check"]), default="show")
@as_json
def config(*, what: str, as_json: bool) -> None:
    """Show what is configured, where the file is, or whether it is right."""
    file = home().settings
    if what == "path":
        _answer(str(file), {"file": str(file)}, as_json=as_json)
        return
    # Only here: what reads it would slow every other command down.
    settings = importlib.import_module("rookery.config").load(file)
    if what == "check":
        importlib.import_module("rookery.daemon").check_agents(settings)
        right = f"{file} is right." if file.exists() else f"There is no {file}: defaults hold."
        _answer(right, {"file": str(file), "exists": file.exists()}, as_json=as_json)
        return
    shown = masked(settings.model_dump(mode="json"))
    _answer("\n".join(flat(shown)), shown, as_json=as_json)


def _answer(text: str, value: object, *, as_json: bool) -> None:
    if as_json:
        show_json(value)
    else:
        say(text)


def masked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Hide the values of variables that sound like secrets."""
    return {
        name: {each: _mask(each, word) for each, word in value.items()}
        if name == "environment"
        else masked(value)
        if isinstance(value, dict)
        else value
        for name, value in settings.items()
    }


def _mask(name: str, value: str) -> str:
    return "(set)" if _SECRET.search(name) else value


def flat(settings: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Write settings as lines of TOML."""
    lines: list[str] = []
    for name, value in settings.items():
        key = prefix + (name if _BARE.fullmatch(name) else json.dumps(name))
        if isinstance(value, dict):
            lines += flat(value, f"{key}.")
        else:
            # Of what can be set, JSON is TOML, too.
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    return lines


@rookery.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes your shell complete rookery's commands; see its head for how."""
    complete = importlib.import_module("click.shell_completion").get_completion_class(shell)
    where = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/config.fish"}[
        shell
    ]
    click.echo(f"# rookery completion {shell} >> {where}")
    click.echo(complete(rookery, {}, "rookery", "_ROOKERY_COMPLETE").source())


@rookery.group()
def token() -> None:
    """Tokens for programs that cannot use the daemon's socket."""


@token.command("mint")
@click.option("--scope", type=click.Choice(["owner", "reader"]), default="reader")
@as_json
def mint(*, scope: str, as_json: bool) -> None:
    """Make a token; its secret is shown this once."""
    made = client().post("tokens", scope=scope)
    if as_json:
        show_json(made)
    else:
        say(made["secret"])
        remark(f"That is {scope} token {made['token']['id']}; it is not shown again.")


@token.command("ls")
@as_json
def list_tokens(*, as_json: bool) -> None:
    """List the valid tokens."""
    found = client().get("tokens")
    if as_json:
        show_json(found)
        return
    for each in found["tokens"]:
        made = local(each["created_at"])
        say(f"{each['id']}  {each['scope']:8}  {made}  {each['minted_by']}")


@token.command("revoke")
@as_json
@click.argument("token_id")
def revoke(*, token_id: str, as_json: bool) -> None:
    """Take a token back; whoever follows events with it is cut off."""
    client().post("tokens", token_id, "revoke")
    _answer(f"Revoked {token_id}.", {"revoked": token_id}, as_json=as_json)
