"""Operations that allow a tool call always: they add a rule and answer the request."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from sqlite3 import Connection

from pydantic import Field

from rookery.model.errors import CommandRefused, RequestClosed
from rookery.model.permissions import Call, Outcome, Request, Verdict
from rookery.model.rules import PATH_FIELDS, Circumstances, Rule
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import Params
from rookery.operations.permissions import find_request
from rookery.operations.request_answers import require_reach, target_of
from rookery.permissions import same_dialog
from rookery.permissions.always_rules import (
    RuleWish,
    as_toml,
    make_rule,
    offer,
    require_expressible,
)
from rookery.permissions.path_resolver import PathResolver
from rookery.permissions.rule_additions import add_rule
from rookery.store import requests, session_families, sessions


class AlwaysParams(Params):
    permission: str = Field(
        description="the id of a request, or the session that asks for it alone"
    )
    pattern: str = Field(
        "",
        max_length=2_000,
        description="the tool's name, a blank and a glob for the command or path; without,"
        " this exact call",
    )
    everywhere: bool = Field(False, description="in all projects, not only in the session's")


@dataclass(frozen=True, slots=True)
class RulePreview:
    request: Request
    rule: str  #: the lines for the rules file
    file: str
    pattern: str  #: a pattern for calls like this one; empty if none is offered


@dataclass(frozen=True, slots=True)
class AlwaysAllowed:
    request: Request
    rule: str  #: the lines in the rules file
    file: str
    is_new: bool  #: else the file had the same rule already


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request with its call, and the session that makes it."""

    request: Request
    call: Call
    circumstances: Circumstances

    def rule(self, params: AlwaysParams) -> Rule:
        name = f"always {self.request.id}"
        wish = RuleWish(name, params.pattern, everywhere=params.everywhere)
        return make_rule(self.call, self.circumstances, wish)


async def preview_rule(context: Context, caller: Caller, params: AlwaysParams) -> RulePreview:
    """Show the rule that would allow the call of a request always."""
    asked = await _asked(context, caller, params)
    rule = as_toml(asked.rule(params))
    return RulePreview(asked.request, rule, str(context.home.rules), offer(asked.call))


async def allow_always(context: Context, caller: Caller, params: AlwaysParams) -> AlwaysAllowed:
    """Add a rule that allows the call of a request, then allow the request.

    If the daemon dies in between, the rule is there and the request is open.
    """
    asked = await _asked(context, caller, params)
    rules_file = context.permissions.rules_file
    await rules_file.refresh(context.database, context.journal.clock)
    if rules_file.problem:
        raise CommandRefused(f"The rule was not added. {rules_file.problem}")
    wished = asked.rule(params)
    added = add_rule(rules_file.path, wished)
    await rules_file.refresh(context.database, context.journal.clock)

    def write(db: Connection) -> AlwaysAllowed:
        verdict = Verdict(Outcome.ALLOWED, caller.name)
        with suppress(RequestClosed):  # it was answered meanwhile; the rule is there
            context.permissions.answer(db, asked.request, verdict)
            same_dialog.note_seen(db, asked.request)
        now = requests.get(db, asked.request.id)
        return AlwaysAllowed(now, as_toml(added), str(rules_file.path), added is wished)

    return await once(context, caller, AlwaysAllowed, write)


async def _asked(context: Context, caller: Caller, params: AlwaysParams) -> _Asked:
    """Read a request and resolve the paths of its call. Raises ``CommandRefused``."""

    def read(db: Connection) -> tuple[Request, Circumstances, str]:
        request = find_request(context, db, caller, params.permission)
        require_reach(target_of(context, db, request))
        session = sessions.get(db, request.session)
        circumstances = session_families.circumstances(db, session)
        return request, circumstances, request.made_in or session.project_path

    request, circumstances, folder = await context.database.read(read)
    if request.outcome is not Outcome.OPEN:
        raise RequestClosed(f"{request.outcome} by {request.answered_by}. No rule was added.")
    require_expressible(request, params.pattern)
    call, paths = Call(request.tool, request.input, folder=folder), PathResolver()
    call = await paths.resolve_folders(call, folder=folder)
    call = await paths.resolve(call, folder=folder, fields=PATH_FIELDS)
    return _Asked(request, call, circumstances)
