"""The pieces of a session's output, whatever its agent and runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

#: The number of characters of a text that are stored.
MAX_TEXT_CHARACTERS = 64_000


class BlockKind(StrEnum):
    PROMPT = "prompt"
    TEXT = "text"
    THOUGHT = "thought"
    TOOL_CALL = "tool-call"
    TOOL_RESULT = "tool-result"
    DIFF = "diff"
    PLAN = "plan"
    USAGE = "usage"


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a session's output."""

    kind: BlockKind
    #: What is shown: the prompt, the text, the most informative argument of a call (such as its
    #: command), the result of a tool, the diff in the unified format.
    text: str = ""
    tool: str = ""  #: of a call or result
    call_id: str = ""  #: the agent's own id of the call, if it reports one
    #: The rest: the ``input`` of a call, the ``steps`` of a plan (pairs of text and state), the
    #: ``path`` of a diff, ``input_tokens``, ``output_tokens`` and ``cost`` of a usage.
    data: Mapping[str, Any] = field(default_factory=dict)
    failed: bool = False  #: of a result: the call failed; of a text: it says why a turn failed


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlock(Block):
    """A block in the sequence of its session."""

    number: int  #: from 1 in each session, without gaps; never used again
    at: datetime
