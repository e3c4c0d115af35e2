"""Write the paths and queries of requests to the daemon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote, urlencode

from rookery.model.errors import BadInput


def path_of(segments: tuple[str, ...]) -> str:
    if not all(each.strip() for each in segments):
        raise BadInput("a name or an id must not be empty.")
    with _utf8_only():
        return "/v1/" + "/".join(quote(each, safe="") for each in segments)


def query_string(query: Mapping[str, object]) -> str:
    """Return a query string; a tuple is written as a repeated parameter."""
    several = {
        name: value if isinstance(value, tuple) else (value,) for name, value in query.items()
    }
    with _utf8_only():
        return urlencode(
            [(name, _query_value(each)) for name, values in several.items() for each in values]
        )


@contextmanager
def _utf8_only() -> Iterator[None]:
    """Raise ``BadInput`` for an argument of the command line that is not UTF-8."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise BadInput(f"{error.object!r} is not valid UTF-8 text.") from error


def _query_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
