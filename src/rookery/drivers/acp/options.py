"""What the ACP driver is told about its agent, besides the command line. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

#: What Rookery does for an agent that asks for it: read and write files, run commands.
Service: TypeAlias = Literal["read", "write", "terminal"]

ALL_SERVICES: tuple[Service, ...] = ("read", "write", "terminal")


class FolderTrust(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What to do in a folder that the user has not accepted: over ACP no agent asks."""

    check: str  #: ``module:function`` that finds out whether the user has
    refusal: str = ""  #: why the agent is not started there; empty if it is
    meta: dict[str, Any] = {}  #: ``_meta`` there, instead of the usual one
    mode: str = ""  #: the permission mode there if none is chosen
    notice: str = ""  #: what the user is told


class AcpOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    resumes: str = ""  #: the conversation to continue
    forks: str = ""  #: the conversation to begin a branch of
    mode: str = ""  #: the agent's own name of the permission mode; empty for its default
    modes: dict[str, str] = {}  #: Rookery's name of each of the agent's modes
    model: str = ""  #: empty for its default, or if the command line chooses it
    tools: tuple[str, ...] = ()  #: the command of Rookery's MCP server
    badge: str = ""  #: what that server presents to Rookery
    unasked: tuple[str, ...] = ()  #: patterns of the tools that are allowed without asking
    #: ``module:function`` that names the agent's tools (a ``NameTool``); empty: by kind.
    dialect: str = ""
    services: tuple[Service, ...] = ALL_SERVICES
    meta: dict[str, Any] = {}  #: ``_meta`` of the requests that open a session
    trust: FolderTrust | None = None  #: none: the agent itself heeds what the user has accepted
    earlier_cost: int = 0  #: micro-dollars that the conversation had cost before
    #: The path in the ``_meta`` of the session's information, and the value there, by which the
    #: agent says that its turn failed; empty if it does so as the protocol has it.
    failure_sign: tuple[str, ...] = ()
    #: Whether questions are offered to be asked as forms.
    forms: bool = True
    #: The end of the name of the field of a form that takes free text beside a choice.
    other_suffix: str = ""
    sign_in: str = ""  #: what to do if the agent is not signed in


def as_json(options: AcpOptions) -> Mapping[str, Any]:
    """Return options as the daemon passes them on."""
    found: Mapping[str, Any] = msgspec.to_builtins(options)
    return found


def read_options(options: Mapping[str, Any]) -> AcpOptions:
    return msgspec.convert(options, AcpOptions)
