"""Read JSON strictly: as UTF-8, without repeated keys, and with finite numbers only."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Never

import anyio

from rookery.model.errors import BadInput

#: Larger bodies are read in a thread, so that other requests do not wait for it.
MAX_INLINE_BYTES = 64 * 1024


async def load(body: bytes) -> object:
    """Return the JSON value of a request's body. Raises ``BadInput``."""
    if len(body) <= MAX_INLINE_BYTES:
        return parse(body)
    return await anyio.to_thread.run_sync(parse, body)


def parse(body: bytes) -> object:
    """Return the value of a JSON text. Raises ``BadInput``."""
    try:
        return json.loads(
            body.decode(),
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise BadInput("the JSON is nested too deeply.") from None
    except ValueError as error:  # also text that is not UTF-8, and integers with many digits
        raise BadInput(f"this is not valid JSON: {error}"[:300]) from None


def _without_repeats(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Return an object. Two readers could differ on a key that comes twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        ((repeated, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise BadInput(f"the key {repeated[:80]!r} must not be given twice.")
    return found


def _refuse_constant(name: str) -> Never:
    raise BadInput(f"{name} is not a number of JSON.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BadInput(f"the number {text[:80]} is out of range.")
    return number
