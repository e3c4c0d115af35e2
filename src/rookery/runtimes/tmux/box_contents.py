"""Compare what an input box shows with the messages that were typed into it."""

from __future__ import annotations

from rookery.model.messages import Parcel
from rookery.model.screens import View
from rookery.model.text_rewriting import essence
from rookery.runtimes.tmux.captures import PaneSnapshot
from rookery.runtimes.tmux.panes import Pane


def shows_turn(view: View | None, parcel: Parcel) -> bool:
    """Return whether a screen without the text in the box shows that it was accepted.

    A dialog of a program that is starting also covers the box; it asks no permission.
    """
    if view is None or view.dialog is None:
        return view is not None and view.is_working
    return parcel.is_command or view.dialog.kind == "permission"


def is_doubled(view: View | None, parcel: Parcel, around: PaneSnapshot) -> bool:
    """Return whether the box shows both pastes of a message that seemed to be discarded."""
    if view is None or not view.box or around.pastes == 1 or around.pasted != parcel.receipt:
        return False
    is_placeholder = view.box.startswith("[") and not _unwrapped(parcel.words).startswith("[")
    if is_placeholder:
        return view.box.count("[") > 1
    return _unwrapped(view.box) == _unwrapped(parcel.words) * 2


def is_left_over(pane: Pane, parcel: Parcel, around: PaneSnapshot, view: View) -> bool:
    """Return whether the box holds a message from Rookery that no person has changed since."""
    if around.pasted != parcel.receipt:
        return False
    shown, ours = _unwrapped(view.box or ""), _unwrapped(parcel.words)
    if shown == ours or (view.is_cut and ours.endswith(shown)):
        return True
    if is_doubled(view, parcel, around):
        return True
    # A placeholder, such as for a long paste, may represent another text by now.
    is_untouched = around.typed_at <= parcel.since.timestamp()
    return is_untouched and pane.agent.input.holds(view.box or "", parcel.words)


def _unwrapped(words: str) -> str:
    """Return text in a form that does not depend on the width of the box."""
    return "".join(essence(words).split())
