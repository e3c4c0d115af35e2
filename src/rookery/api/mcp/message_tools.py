"""Tools for messages, commands, relays, notifications and permission requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from rookery.api.mcp.context import OnComputer, OnSession, ToolContext
from rookery.api.mcp.views import NOT_TOLD, TALK, TOLD, WAITS_ALREADY
from rookery.coordination.relays import MAX_MEMBERS
from rookery.model.errors import BadInput
from rookery.model.facts import SessionId
from rookery.model.messages import Message
from rookery.model.permissions import Request
from rookery.model.relays import Relay
from rookery.model.sessions import Session
from rookery.operations.operation import Params
from rookery.operations.relays import RelayList


class SendArguments(OnSession):
    message: str = Field(description="what to say; it is told who says it")
    direct: bool = Field(
        False,
        description="let the two of you talk: its answers come to you, and yours go to it",
    )
    interrupt: bool = Field(False, description="stop the turn that it is in first")
    close_link: bool = Field(
        False, description="end your talk with it after this; the message may be empty"
    )
    answer_to: str = Field(
        "",
        description="the id of a question that you were told of: the message answers it, by an"
        " option's name or number, or in free text",
    )


class CommandArguments(OnSession):
    command: str = Field(description="its name with the slash, such as /compact")
    arguments: str = Field("", description="what follows on the same line")


class StopParams(OnSession):
    caller_session_id: str = Field("", description="who is told no more; without, you")


class ParticipantArguments(Params):
    session_id: str
    name: str = Field("", description="what the others call it", max_length=60)


class RelayArguments(OnComputer):
    participants: Annotated[
        tuple[ParticipantArguments, ...],
        Field(min_length=1, max_length=MAX_MEMBERS, description="you are one of them anyway"),
    ]
    max_hops: Annotated[int, Field(ge=1, le=1_000)] | None = Field(
        None, description="relayed answers in a row before it falls silent"
    )


class RelayIdArguments(OnComputer):
    relay_id: str


class RelaysArguments(OnComputer):
    session_id: str = Field("", description="only those that this session is in")
    include_closed: bool = False


class AnswerArguments(OnComputer):
    permission: str = Field(description="the id of a request, or the session that asks")
    decision: Literal["allow", "deny", "answer"]
    for_session: bool = Field(False, description="allow the same for the rest of the session")
    reason: str = Field("", description="why not; the agent reads it", max_length=10_000)
    answers: tuple[str, ...] = Field((), description="to a question: one for each asked")
    own_words: bool = Field(
        False, description="the answers are words, none is the number of an option"
    )


@dataclass(frozen=True, slots=True)
class Sent:
    session_id: SessionId
    message_id: int | None  #: none if no message was sent
    listening: bool  #: the caller waits for it from now on; false if it did so already
    advice: str


async def send_message(context: ToolContext, params: SendArguments) -> Sent:
    """Give a session words. It gets them once it is idle, after what waits for it already.

    You are told here when the turn that took them has finished, or when it needs input or has
    ended. So end your turn: do not poll, do not sleep. With direct=true the two of you talk
    instead: each answer of the one is sent to the other, until close_link=true ends it.
    With answer_to the message answers that question at once, instead of waiting behind it; but
    not what a session that started you asks.
    """
    if params.answer_to:
        return await _answer_to(context, params)
    session: Session = await context.ask("show", session=params.session_id)
    if params.close_link:
        return await _close_link(context, params, session)
    if params.interrupt and session.is_asking:
        # A message waits behind a dialog; only the interrupt may close one.
        await context.ask("interrupt", session=session.id)
    sent: Message = await context.ask(
        "send",
        session=session.id,
        words=params.message,
        direct=params.direct,
        listen=True,
        interrupt=params.interrupt and not session.is_asking,
    )
    return _sent(context, sent, TALK if params.direct else TOLD)


async def _answer_to(context: ToolContext, params: SendArguments) -> Sent:
    """Answer a question of a session that the caller may not be allowed to read."""
    request: Request = await context.ask(
        "answer_question",
        permission=params.answer_to,
        session=params.session_id,
        words=params.message,
    )
    return Sent(
        request.session, None, listening=False, advice="It has your answer, and goes on."
    )


def _sent(context: ToolContext, sent: Message, advice: str) -> Sent:
    """Return a sent message with advice on whether the caller is notified of its outcome."""
    is_recorded = context.own is not None and context.own != sent.recipient
    if is_recorded and advice == TOLD and not sent.listening:
        advice = WAITS_ALREADY
    return Sent(sent.recipient, sent.id, sent.listening, advice if is_recorded else NOT_TOLD)


async def _close_link(context: ToolContext, params: SendArguments, session: Session) -> Sent:
    """Send the last message, then close the relays that have only these two members."""
    if context.own is None or params.direct:
        raise BadInput("close_link closes a link that direct=true opened.")
    listed: RelayList = await context.ask("relays", session=session.id)
    pair = {context.own, session.id}
    of_pair = [each for each in listed.relays if {m.session for m in each.present} == pair]
    message = None
    if params.message:
        sent: Message = await context.ask("send", session=session.id, words=params.message)
        message = sent.id
    for relay in of_pair:
        await context.under_part(relay.id).ask("relay_close", relay=relay.id)
    advice = "It is closed." if of_pair else "There was no talk to close."
    return Sent(session.id, message, listening=False, advice=advice)


async def run_agent_command(context: ToolContext, params: CommandArguments) -> Sent:
    """Give a slash command to the program of a session that you started, such as /compact.

    It is typed as it is, once the session is idle; you are told as after send_message. You may
    give /clear, /compact, /context, /cost, /review and what your person has added to these.
    """
    line = f"{params.command} {params.arguments}".strip()
    sent: Message = await context.ask(
        "command", session=params.session_id, command=line, listen=True
    )
    return _sent(context, sent, TOLD)


async def create_relay(context: ToolContext, params: RelayArguments) -> Relay:
    """Let sessions talk with one another and with you: what one answers reaches every other.

    Answers come as [name] (number) and then the words. It falls silent by itself after some
    relayed answers in a row; close_relay ends it. Do not poll it: end your turn.
    """
    members = [{"session": each.session_id, "name": each.name} for each in params.participants]
    if context.own is not None and context.own not in await _ids(context, params):
        members.insert(0, {"session": str(context.own), "name": ""})
    relay: Relay = await context.ask("relay", members=members, max_hops=params.max_hops)
    return relay


async def _ids(context: ToolContext, params: RelayArguments) -> set[SessionId]:
    found: list[Session] = [
        await context.ask("show", session=each.session_id) for each in params.participants
    ]
    return {each.id for each in found}
