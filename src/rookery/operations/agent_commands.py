"""The operation that gives a command to an agent's own program, such as /compact."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from contextlib import suppress
from sqlite3 import Connection

from pydantic import Field

from rookery.model.errors import CommandRefused, Forbidden, RuntimeFailed, WordsRefused
from rookery.model.messages import Message, Step, Words, clean
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.operations.access import target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import OfSession
from rookery.operations.outcome_listeners import Link, link
from rookery.operations.sessions import require_alive
from rookery.permissions.project_files import require_own_command
from rookery.sessions import commands
from rookery.sessions.commands import MessageSender

#: A command of an agent's own program: one line that begins with its name.
_COMMAND = re.compile(r"/([A-Za-z][\w:.-]{0,63})( [^\r\n]*)?")

#: The commands that one agent may give another's program, besides the owner's list in
#: ``trust.commands``: they affect only the conversation.
ALLOWED = frozenset({"clear", "compact", "context", "cost", "review"})


class CommandParams(OfSession):
    command: str = Field(description="as one types it, such as '/compact'")
    listen: bool = Field(False, description="tell the session that asks when it is done")


async def command(context: Context, caller: Caller, params: CommandParams) -> Message:
    """Send a command such as /compact to an agent's program, once it is idle."""
    # A command may end or change the agent: the right to send it messages is not enough.
    session = await target(context, caller, params.session, Need.END)
    require_alive(session)
    words = _checked(context, caller, session, params.command)
    if caller.identity.session is not None:
        await require_own_command(session, words.text)
    with suppress(RuntimeFailed):  # not up yet: checked again when the text is typed
        context.runtime.check(session.id, words.text)

    def write(db: Connection) -> Message:
        speaker = MessageSender(caller.name, caller.identity.session, is_command=True)
        message = commands.send(
            db, context.journal, speaker=speaker, recipient=session.id, words=words
        )
        outcome_link = Link(session.id, message, direct=False, listen=params.listen)
        listening = link(db, context, caller, outcome_link)
        return Message(message, session.id, Step.PENDING, words.removed, listening=listening)

    return await once(context, caller, Message, write)


def _checked(context: Context, caller: Caller, session: Session, command: str) -> Words:
    """Return the command as cleaned text. Refuse all but a command that the caller may give."""
    if context.agents[session.agent].screen is None:
        raise CommandRefused(f"{session.agent} has no commands of its own; send it a message.")
    words = clean(command.strip())
    match = _COMMAND.fullmatch(words.text)
    if match is None:
        raise WordsRefused("a command is one line that begins with its name, such as /compact.")
    if caller.identity.session is not None:
        _require_allowed(match[1], ALLOWED.union(context.settings.trust.commands))
    return words


def _require_allowed(name: str, allowed: AbstractSet[str]) -> None:
    """Refuse a command that only a person may give. Raises ``Forbidden``."""
    if name not in allowed:
        names = ", ".join(f"/{each}" for each in sorted(allowed))
        raise Forbidden(f"only a person may use /{name}; a session may use: {names}.")
