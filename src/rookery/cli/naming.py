"""Sessions by their names: people do not read ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rookery.client import Client

#: How a session is called where it did something.
_DOER = re.compile(r"\bsession ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")


def known_sessions(daemon: Client) -> Mapping[str, Mapping[str, Any]]:
    """Return what is known of each session, by its id."""
    return {each["id"]: each for each in daemon.get("sessions", all=True)["sessions"]}


def name_of(session: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """Name a session; one that was forgotten, or is not ours to see, by its id's beginning."""
    return str(known[session]["name"]) if session in known else session[:8]


def with_names(text: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """Name the sessions of which a text of ours tells that they did something."""
    return with_names_by(text, partial(name_of, known=known))


def with_names_by(text: str, name: Callable[[str], str]) -> str:
    """Do the same where names are found one by one."""
    return _DOER.sub(lambda found: name(found[1]), text)
