"""The channel ``desktop``: notify-send, or osascript on macOS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from rookery.model.notifications import Notification, NotificationKind
from rookery.notifications.channels.command import find_program, run_program

#: Seconds for the desktop to accept a notification.
DESKTOP_TIMEOUT_S = 10.0

#: The programs that show notifications, the preferred one first.
PROGRAMS = ("notify-send", "osascript")

#: The texts are arguments of the script, never a part of it.
_SCRIPT = (
    "on run argv\n"
    "if (count of argv) > 2 then\n"
    "display notification (item 2 of argv) with title (item 1 of argv)"
    " sound name (item 3 of argv)\n"
    "else\n"
    "display notification (item 2 of argv) with title (item 1 of argv)\n"
    "end if\n"
    "end run"
)


#: The kinds after which the user need not do anything.
_ROUTINE = frozenset(
    {
        NotificationKind.FINISHED,
        NotificationKind.LONG_TURN,
        NotificationKind.ENDED,
        NotificationKind.STARTED,
    }
)


@dataclass(frozen=True, slots=True)
class DesktopNotifier:
    environment: Mapping[str, str]
    sounds: Mapping[NotificationKind, str]
    details: bool  #: whether the command, the question or the answer is shown
    name: str = "desktop"

    async def why_not(self) -> str:
        found = any(find_program(each, self.environment) for each in PROGRAMS)
        return "" if found else f"neither {' nor '.join(PROGRAMS)} was found"

    async def send(self, notification: Notification) -> None:
        argv = self._argv(notification)
        await run_program(argv, self.environment, timeout_s=DESKTOP_TIMEOUT_S)

    def _argv(self, notification: Notification) -> tuple[str, ...]:
        title, body = notification.title, notification.body(with_text=self.details)
        sound = self.sounds.get(notification.kind, "")
        first, second = PROGRAMS
        if not find_program(first, self.environment) and find_program(second, self.environment):
            # The prefix keeps the first text from beginning with a dash, like an option, and
            # names the sender, which macOS calls "Script Editor".
            given = (f"Rookery: {title}", body)
            return (second, "-e", _SCRIPT, *given, *([sound] if sound else []))
        urgency = "normal" if notification.kind in _ROUTINE else "critical"
        hint = [f"--hint=string:sound-name:{sound}"] if sound else []
        # Escaped, because notify-send passes the body on as markup.
        texts = ("--", title, escape(body, quote=False))
        return (first, "--app-name=Rookery", f"--urgency={urgency}", *hint, *texts)
