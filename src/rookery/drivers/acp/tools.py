"""A tool call as an ACP agent describes it, and its name and input for the user's rules. Pure.

The protocol has no tool names: it has a title for people and one of ten kinds. Each agent's
dialect turns that into the name and the input that the same agent reports in a terminal, so
that one rule applies to both. The functions here are for agents without such a dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

#: The name of a call about which the agent says neither a name nor a kind.
OTHER = "other"

#: The kinds of calls that run a command and that change files.
EXECUTE, EDIT = "execute", "edit"

#: The requests by which an agent lets its client change a file and run a command.
WRITE_FILE, RUN_COMMAND = "fs/write_text_file", "terminal/create"


@dataclass(frozen=True, slots=True)
class FileDiff:
    path: str
    old: str | None  #: ``None`` if the file is new
    new: str


@dataclass(frozen=True, slots=True)
class AcpCall:
    """All that the agent has said about one call so far."""

    call_id: str
    title: str = ""
    first_title: str = ""  #: as the call was announced: some agents name the tool there
    kind: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""  #: the text of its content, an explanation or a result
    output: object = None  #: its result as the tool returned it
    streamed: str = ""  #: the output of its command, as it came
    diffs: tuple[FileDiff, ...] = ()
    paths: tuple[str, ...] = ()  #: the files that it works on
    meta: Mapping[str, Any] = field(default_factory=dict)
    status: str = "pending"
    method: str = ""  #: the request that the agent makes of its client, if it is one


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A call in the words of the agent's own tools."""

    tool: str
    input: Mapping[str, Any]


NameTool: TypeAlias = Callable[[AcpCall], NamedCall]


def by_kind(call: AcpCall) -> NamedCall:
    """Name a call by its kind, for an agent about which nothing more is known."""
    tool = call.method or call.kind or OTHER
    if call.input:
        return NamedCall(tool, call.input)
    shown: dict[str, Any] = {"title": call.title} if call.title else {}
    if len(call.diffs) == 1:
        return NamedCall(
            tool, {**shown, "path": call.diffs[0].path, "content": call.diffs[0].new}
        )
    return NamedCall(tool, {**shown, "path": call.paths[0]} if call.paths else shown)
