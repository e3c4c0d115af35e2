"""Sessions by their names: people do not read ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from rookery.client import Client

#: Sessions that are asked for at once: their ids have to fit into a request's first line.
PAGE = 500

#: How a session is called where it did something.
_DOER = re.compile(r"\bsession ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")


def known_sessions(
    daemon: Client, ids: Iterable[str], texts: Iterable[str] = ()
) -> dict[str, Mapping[str, Any]]:
    """Return what is known of some sessions, and of those that ``texts`` name, by their ids."""
    named = (found for text in texts for found in _DOER.findall(text))
    wanted = sorted({*filter(None, ids), *named})
    pages = (wanted[at : at + PAGE] for at in range(0, len(wanted), PAGE))
    found = (daemon.get("sessions", ids=tuple(page))["sessions"] for page in pages)
    return {each["id"]: each for page in found for each in page}


def name_of(session: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """Name a session; one that was forgotten, or is not ours to see, by its id's beginning."""
    return str(known[session]["name"]) if session in known else session[:8]


def with_names(text: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """Name the sessions of which a text of ours tells that they did something."""
    return with_names_by(text, partial(name_of, known=known))


def with_names_by(text: str, name: Callable[[str], str]) -> str:
    """Do the same where names are found one by one."""
    return _DOER.sub(lambda found: name(found[1]), text)
