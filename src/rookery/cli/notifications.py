"""The commands for notifications: what was sent, which channels work, and muted sessions."""

from __future__ import annotations

import sys
from functools import partial

import click

from rookery.cli.completion import of_session, session_names
from rookery.cli.exit_codes import FAILED
from rookery.cli.options import as_json, examples, pass_client, read_span
from rookery.cli.render import ago, local, reply, say, say_hint, say_line, short
from rookery.cli.tables import Layout, line_of, width_here
from rookery.client import Client
from rookery.client.notifications import (
    ChannelInfo,
    MutedInfo,
    MutedListInfo,
    NotificationInfo,
    NotificationsInfo,
    NotificationTrial,
    list_muted,
    list_notifications,
    mute_session,
    try_notification,
    unmute_session,
)
from rookery.presentation.texts import one_line

KINDS = (
    "needs-you",
    "finished",
    "failed",
    "limit",
    "overlap",
    "long-turn",
    "ended",
    "started",
)

_TABLE = Layout(
    titles=("AGO", "CHANNEL", "KIND", "SESSION", "STATE", "TEXT"),
    spared=("CHANNEL", "AGO"),
    shrinking=("SESSION", "TEXT"),
    last_resort="STATE",
)


@click.group(epilog=examples("rookery notify test", "rookery notify ls"))
def notify() -> None:
    """Show and test the notifications that tell you what sessions need.

    They are off until you turn on a channel in the configuration: see `rookery notify test`.
    """


@notify.command(epilog=examples("rookery notify ls", "rookery notify ls -n 100 --json"))
@click.option("-n", "--last", type=click.IntRange(1, 1_000), default=20, show_default=True)
@as_json
@pass_client
def ls(daemon: Client, *, last: int, as_json: bool) -> None:
    """List the last notifications, newest first, and what became of each."""
    found = list_notifications(daemon, last=last)
    reply(found, partial(_show_notifications, found), as_json=as_json)


def _show_notifications(found: NotificationsInfo) -> None:
    # A reminder is listed once it is due; before, it would only repeat the row above it.
    told = [
        each for each in found.notifications if not each.is_reminder or each.state != "waiting"
    ]
    if not told:
        say("No notifications yet. See which channels are on with:  rookery notify test")
        return
    rows = [_row(each) for each in told]
    widths = _TABLE.fit(rows, width_here())
    for row in (_TABLE.head, *rows):
        say_line(line_of(row, widths))


def _row(each: NotificationInfo) -> dict[str, str]:
    why = f"({one_line(each.reason)}) " if each.reason else ""
    return {
        "AGO": ago(each.at),
        "CHANNEL": each.channel,
        "KIND": "reminder" if each.is_reminder else each.kind,
        "SESSION": one_line(each.name),
        "STATE": each.state,
        "TEXT": f"{why}{one_line(each.text)}",
    }


@notify.command(
    epilog=examples(
        "rookery notify test",
        "rookery notify test --send",
        "rookery notify test api --kind failed",
    )
)
@click.option("--kind", type=click.Choice(KINDS), default=KINDS[0], show_default=True)
@click.option("--send", is_flag=True, help="Send it, by each channel that can.")
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
@pass_client
def test(daemon: Client, *, name: str, kind: str, send: bool, as_json: bool) -> None:
    """Show where a notification would go, and why or why not.

    It is about the session NAME, or about an example. With --send, the exit code is 1 if no
    channel has sent it.
    """
    found = try_notification(daemon, name, kind=kind, send=send)
    reply(found, partial(_show_trial, found, name), as_json=as_json)
    if send and not any(each.sent for each in found.channels):
        sys.exit(FAILED)


def _show_trial(found: NotificationTrial, name: str) -> None:
    if found.quiet:
        say(f"No notification about {name} would be sent now: {found.quiet}.")
    title, *body = [found.title, *found.body.splitlines()]
    say(f"A notification of the kind {found.kind}:")
    for line in (title, *body):
        say(f"    {short(line)}")
    for channel in found.channels:
        say(f"{channel.channel:<8} {_outcome(channel)}")
    line = "on: `rookery attach` shows how many sessions wait" if found.status_line else "off"
    say(f"{'tmux':<8} {line}")
    if not all(each.enabled for each in found.channels):
        say(f"The configuration is {short(found.configuration)}; changes take effect after:")
        say_hint("    rookery down; rookery up -d")
    if found.reminder_minutes:
        say(f"A reminder of an open request follows after {found.reminder_minutes:g} min.")


def _outcome(channel: ChannelInfo) -> str:
    if not channel.enabled:
        lines = "".join(f"\n{'':<13}{each}" for each in channel.switch.splitlines())
        return f"off; to turn it on, add to the configuration:{lines}"
    if channel.sent:
        return "sent"
    kinds = ", ".join(channel.kinds) or "nothing"
    if channel.hindrance:
        return f"on, but not this one: {channel.hindrance.rstrip('.')} (it carries {kinds})"
    return f"on, would get it (it carries {kinds})"


@click.command(epilog=examples("rookery mute api", "rookery mute api --for 1h", "rookery mute"))
@click.option(
    "--for",
    "seconds",
    metavar="TIME",
    callback=read_span,
    help="For how long: 90s, 30m, 2h, 1d. Default: until it is unmuted.",
)
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
@pass_client
def mute(daemon: Client, *, name: str, seconds: float | None, as_json: bool) -> None:
    """Send no notifications about a session; without NAME, list the muted sessions."""
    if not name:
        listed = list_muted(daemon)
        reply(listed, partial(_show_muted, listed), as_json=as_json)
        return
    found = mute_session(daemon, name, seconds=seconds)
    back = f"Undo it with:  rookery unmute {found.name}"
    reply(found, f"{found.name} is muted{_until(found)}. {back}", as_json=as_json)


def _show_muted(found: MutedListInfo) -> None:
    for each in found.sessions:
        say_line(f"{each.name} is muted{_until(each)}.")
    if not found.sessions:
        say("No session is muted.")


def _until(muted: MutedInfo) -> str:
    return f" until {local(muted.until)}" if muted.until else ""


@click.command(epilog=examples("rookery unmute api"))
@as_json
@of_session
@pass_client
def unmute(daemon: Client, *, name: str, as_json: bool) -> None:
    """Send notifications about a session again."""
    found = unmute_session(daemon, name)
    reply(found, f"{found.name} is not muted any more.", as_json=as_json)
