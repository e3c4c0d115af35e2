"""A tool call as an ACP agent describes it, and its name and input for the user's rules. Pure.

The protocol has no tool names: it has a title for people and one of ten kinds. Each agent's
dialect turns that into the name and the input that the same agent reports in a terminal, so
that one rule applies to both. The functions here are for agents without such a dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rookery.model.folders import paths_in
from rookery.model.rules import PATH_FIELDS

#: The name of a call about which the agent says neither a name nor a kind.
OTHER = "other"

#: The kinds of calls that run a command and that change files.
EXECUTE, EDIT = "execute", "edit"

#: The kind of calls that read files.
READ = "read"

#: The requests by which an agent lets its client read and change a file and run a command.
READ_FILE, WRITE_FILE = "fs/read_text_file", "fs/write_text_file"
RUN_COMMAND = "terminal/create"


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
    files: tuple[str, ...] = ()  #: that the input shows in another way than in a path field


NameTool: TypeAlias = Callable[[AcpCall], NamedCall]


def by_kind(call: AcpCall) -> NamedCall:
    """Name a call by its kind, for an agent about which nothing more is known."""
    tool = call.method or call.kind or OTHER
    shown = dict(call.input) or ({"title": call.title} if call.title else {})
    return NamedCall(tool, _with_paths(_with_changes(shown, call), call))


def _with_changes(shown: Mapping[str, Any], call: AcpCall) -> Mapping[str, Any]:
    """Return an input that has all changes of a call: an answer is for these only."""
    if not call.diffs:
        return shown
    if len(call.diffs) == 1 and shown.get("content", call.diffs[0].new) == call.diffs[0].new:
        return {**shown, "content": call.diffs[0].new}
    name = "changes"
    while name in shown:  # it must hide no field of the agent
        name = f"{name}_"
    return {**shown, name: [{"path": each.path, "content": each.new} for each in call.diffs]}


def _with_paths(shown: Mapping[str, Any], call: AcpCall) -> Mapping[str, Any]:
    """Return an input that names all files of a call: rules see nothing else of it."""
    named = [path for name in PATH_FIELDS for path in paths_in(shown.get(name))]
    files = dict.fromkeys((*(each.path for each in call.diffs), *call.paths))
    if not (missing := [path for path in files if path not in named]):
        return shown
    paths = [*paths_in(shown.get("path")), *missing]
    return {**shown, "path": paths[0] if len(paths) == 1 else paths}
