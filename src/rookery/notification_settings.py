"""The part of the user's configuration about notifications, and its defaults."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rookery.model.notifications import DEFAULT_KINDS, NotificationKind


def _check_arguments(words: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in word for word in words):
        raise ValueError("no program can be given a NUL character")
    return words


class _NotificationSection(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ChannelSettings(_NotificationSection):
    """The settings of one channel. It is off unless its section says otherwise."""

    #: The line of its section that turns it on.
    SWITCH: ClassVar[str] = "enabled = true"

    enabled: bool = False
    kinds: tuple[NotificationKind, ...] = DEFAULT_KINDS

    @property
    def is_on(self) -> bool:
        return self.enabled


class CommandChannelSettings(ChannelSettings):
    """A program of the user that gets each notification as JSON on its standard input."""

    enabled: bool = True  #: run the program, if there is one
    #: The program and its arguments, for example `["/home/anna/bin/tell"]`. Off if empty.
    run: Annotated[tuple[str, ...], AfterValidator(_check_arguments)] = ()
    #: The kinds that it gets. There are also `long-turn`, `ended` and `started`.
    kinds: tuple[NotificationKind, ...] = DEFAULT_KINDS
    timeout_seconds: float = Field(10.0, gt=0, le=300)  #: seconds until it is stopped

    SWITCH: ClassVar[str] = 'run = ["PROGRAM"]'

    @property
    def is_on(self) -> bool:
        return self.enabled and bool(self.run)


class DesktopChannelSettings(ChannelSettings):
    """Notifications of the desktop: notify-send, or osascript on macOS."""

    enabled: bool = False  #: show notifications on the desktop
    #: The kinds that are shown. There are also `long-turn`, `ended` and `started`.
    kinds: tuple[NotificationKind, ...] = DEFAULT_KINDS
    #: Show the command, the question or the answer, too. Other users of the computer may see
    #: it in the list of processes for a moment.
    details: bool = True
    #: The sound of each kind: a name of the sound theme, on macOS of a file in
    #: `/System/Library/Sounds`. For example `{"needs-you" = "bell"}`.
    sounds: dict[NotificationKind, str] = Field(default_factory=dict)


class BellChannelSettings(ChannelSettings):
    """The bell of terminals that are attached to tmux, with a notification where they can."""

    enabled: bool = False  #: ring the bell of attached terminals
    #: The kinds for which it rings.
    kinds: tuple[NotificationKind, ...] = (
        NotificationKind.NEEDS_YOU,
        NotificationKind.FAILED,
        NotificationKind.LIMIT,
    )
    #: Also send the text, as OSC 9 and OSC 777, which many terminals show as a notification.
    text: bool = True


class NotificationSettings(_NotificationSection):
    """How a person is told about sessions. All channels are off by default."""

    #: Minutes until a request that is still open is told once more; 0 for never.
    reminder_minutes: float = Field(10.0, ge=0, le=10_000)
    #: Seconds to wait for more outcomes of the same kind, which are told together.
    batch_seconds: float = Field(2.0, ge=0, le=600)
    #: Seconds between two notifications that the same session waits for you; what comes
    #: meanwhile is told together.
    waiting_seconds: float = Field(5.0, ge=0, le=600)
    #: Minutes until a channel that carries the kind `long-turn` is told that a turn still runs.
    long_turn_minutes: float = Field(10.0, gt=0, le=10_000)
    #: Show in the status line of Rookery's own tmux how many sessions wait or failed.
    tmux: bool = True
    command: CommandChannelSettings = CommandChannelSettings()
    desktop: DesktopChannelSettings = DesktopChannelSettings()
    bell: BellChannelSettings = BellChannelSettings()

    @property
    def channels(self) -> dict[str, ChannelSettings]:
        """Return the settings of all channels, by name."""
        sections = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: each for name, each in sections if isinstance(each, ChannelSettings)}

    @property
    def kinds(self) -> dict[str, Collection[NotificationKind]]:
        """Return the kinds that each enabled channel carries."""
        return {name: each.kinds for name, each in self.channels.items() if each.is_on}
