"""Build the channels of notifications that the configuration enables."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path

from rookery.config import Settings
from rookery.notifications.channels.bell import BellNotifier
from rookery.notifications.channels.command import CommandNotifier
from rookery.notifications.channels.desktop import DesktopNotifier
from rookery.notifications.dispatcher import NotificationTiming
from rookery.ports.notifier import Notifier


def make_notifiers(
    settings: Settings,
    environment: Mapping[str, str],
    *,
    terminals: Callable[[], Awaitable[Iterable[Path]]],
) -> tuple[Notifier, ...]:
    """Return the enabled channels. A new channel is a module and a line here.

    ``environment`` is for the programs of channels; ``terminals`` returns the attached ones.
    """
    wanted = settings.notifications
    program, *arguments = wanted.command.run or ("",)
    command = (os.path.expanduser(program), *arguments)  # noqa: PTH111 - may be a bare name
    available: tuple[Notifier, ...] = (
        CommandNotifier(
            command, environment, settings.computer, wanted.command.timeout_seconds
        ),
        DesktopNotifier(environment, wanted.desktop.sounds, wanted.desktop.details),
        BellNotifier(terminals, wanted.bell.text),
    )
    return tuple(each for each in available if each.name in wanted.kinds)


def notification_timing(settings: Settings) -> NotificationTiming:
    wanted = settings.notifications
    return NotificationTiming(
        batch=timedelta(seconds=wanted.batch_seconds),
        waiting=timedelta(seconds=wanted.waiting_seconds),
        reminder=timedelta(minutes=wanted.reminder_minutes),
        long_turn=timedelta(minutes=wanted.long_turn_minutes),
    )
