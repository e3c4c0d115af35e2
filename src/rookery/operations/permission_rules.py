"""Operations on permissions as a whole: test the rules, set the mode, read the audit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from sqlite3 import Connection
from typing import Annotated, Any

from pydantic import Field

from rookery.agents.names import DEFAULT
from rookery.model.folders import named_folders
from rookery.model.permissions import Call
from rookery.model.rules import Circumstances, Decision, decide, path_fields
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import Nothing, Params
from rookery.permissions.path_resolver import PathResolver
from rookery.store import audit as stored_audit
from rookery.store import flags, session_families, session_lookup
from rookery.store.audit import Decided
from rookery.store.flags import Mode


class TestParams(Params):
    tool: str
    input: dict[str, Any] = Field(default_factory=dict)
    agent: str = DEFAULT
    project: str = ""
    session: str = ""
    folder: str = Field("", description="that the call is made in; without, the project's")


class ModeParams(Params):
    mode: Mode


class AuditParams(Params):
    session: str = Field("", description="of this one only")
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100


@dataclass(frozen=True, slots=True)
class Tested:
    decision: Decision
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class InMode:
    mode: Mode


@dataclass(frozen=True, slots=True)
class Audit:
    decisions: list[Decided]


#: The reason that is given for a call that no rule matches.
NO_RULE = "No rule matches: the agent's own permission mode decides whether it asks."


async def test_rules(context: Context, caller: Caller, params: TestParams) -> Tested:
    """Show which rule would decide about a call."""
    rules_file = context.permissions.rules_file
    await rules_file.refresh(context.database, context.journal.clock)
    fields = path_fields(rules_file.rules)
    call = Call(params.tool, params.input, folder=params.folder or params.project)
    paths = PathResolver()
    if params.folder or named_folders(params.input):
        call = await paths.resolve_folders(call, folder=call.folder)
    call = await paths.resolve(call, folder=call.folder, fields=fields)
    where = await context.database.read(partial(_circumstances, params=params))
    rule = decide(rules_file.rules, call, where)
    if rule is None:
        return Tested("ask", "", NO_RULE)
    return Tested(rule.decision, rule.name, rule.reason)


def _circumstances(db: Connection, params: TestParams) -> Circumstances:
    """Return the circumstances of a tested call, with a live session's ancestors."""
    where = Circumstances(params.agent, params.project, params.session)
    session = session_lookup.called(db, params.session)
    if session is None:
        return where
    circumstances = session_families.circumstances(db, session)
    return replace(where, ancestors=circumstances.ancestors, is_named=circumstances.is_named)


async def show_mode(context: Context, caller: Caller, params: Nothing) -> InMode:
    """Show who asks for permissions: each agent in its terminal, or Rookery."""
    return InMode(await context.database.read(flags.mode))


async def set_mode(context: Context, caller: Caller, params: ModeParams) -> InMode:
    """Let each agent ask in its own terminal (local), or Rookery (remote)."""

    def write(db: Connection) -> InMode:
        flags.set_mode(db, params.mode)
        return InMode(params.mode)

    return await once(context, caller, InMode, write)


async def audit(context: Context, caller: Caller, params: AuditParams) -> Audit:
    """List the decisions about tool calls: by whom or what, about what, when."""

    def read(db: Connection) -> Audit:
        session = session_lookup.resolve(db, params.session).id if params.session else None
        return Audit(stored_audit.decided(db, limit=params.limit, session=session))

    return await context.database.read(read)
