"""The answers of the daemon, as far as its clients read them.

A field that is not listed here is ignored, and a listed field that is missing has its default:
the client and the daemon may be of different versions. Times are ISO 8601 texts. The daemon's
own types are not shared, because they would load the whole daemon; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct, structs

from rookery.model.errors import Unreadable

JsonObject: TypeAlias = dict[str, object]

A = TypeVar("A", bound="DaemonAnswer")


class DaemonAnswer(Struct, frozen=True, dict=True):
    """An answer, or a part of one, that also keeps the JSON it was read from."""

    @property
    def json(self) -> JsonObject:
        """Return what the daemon sent, with the fields that this version does not know."""
        return cast("JsonObject", self.__dict__["json"])

    def with_changes(self, **changes: object) -> Self:
        """Return a copy in which some fields differ, also in its JSON."""
        changed = structs.replace(self, **changes)
        changed.__dict__["json"] = {**self.json, **changes}
        return changed


def read(kind: type[A], json: object) -> A:
    """Read an answer. Raises ``Unreadable`` if it is not of this kind."""
    try:
        answer = msgspec.convert(json, kind)
    except msgspec.ValidationError as error:
        raise Unreadable(f"({error})") from error
    assert isinstance(json, dict)  # noqa: S101 - nothing else converts to a Struct
    answer.__dict__["json"] = json
    for name in kind.__struct_fields__:
        _keep_json(getattr(answer, name), json.get(name))
    return answer


def _keep_json(value: object, json: object) -> None:
    """Keep the JSON of the parts of an answer as well."""
    if isinstance(value, DaemonAnswer):
        value.__dict__["json"] = json
    elif isinstance(value, tuple) and value and isinstance(value[0], DaemonAnswer):
        for each, part in zip(value, cast("Sequence[object]", json), strict=True):
            _keep_json(each, part)
