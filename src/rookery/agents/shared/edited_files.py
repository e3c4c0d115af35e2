"""Find the files that a tool call has changed. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: The maximum number of files that are taken from one patch.
MAX_FILES = 100

#: A line of a patch that names a file, in the format of ``apply_patch``.
_IN_PATCH = re.compile(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE
)

_PATCH_BEGINS = "*** Begin Patch"


def edited_files(tool_input: Mapping[str, Any], field: str) -> tuple[str, ...]:
    """Return the files that one field of a call names: a path, or a patch with several."""
    value = tool_input.get(field)
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        return ()
    return files_in_patch(value) if _PATCH_BEGINS in value else (value,)


def files_in_patch(patch: str) -> tuple[str, ...]:
    """Return the files that a patch names, each once."""
    return tuple(dict.fromkeys(_IN_PATCH.findall(patch)))[:MAX_FILES]
