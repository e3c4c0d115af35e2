"""Tools that show a session to the user as it works, or stop that."""

from __future__ import annotations

from dataclasses import dataclass

from rookery.api.mcp.context import OnSession, ToolContext
from rookery.model.facts import SessionId
from rookery.operations.foreground import Background, Foreground

#: The advice after a session was put into the foreground.
IN_FRONT = (
    "What it says is shown where your person runs `rookery follow`; a later `rookery follow`"
    " prints what was missed. It gives you nothing to read: go on, or end your turn."
)


@dataclass(frozen=True, slots=True)
class BroughtForward:
    session_id: SessionId
    channel: str
    is_new: bool  #: false if it was in the foreground already
    missed: int  #: turns that the person has not been shown yet
    advice: str


@dataclass(frozen=True, slots=True)
class PutBackward:
    session_id: SessionId
    channel: str
    was_in_front: bool  #: false if there was nothing to do
    advice: str


async def foreground(context: ToolContext, params: OnSession) -> BroughtForward:
    """Show a session to your person as it goes on: its prompts, its tools, what it answers.

    Use it rarely: when your person asks to follow a session, or should see this very work as
    it comes. It is not for your own reading (that is get_session_data), and not for telling
    that something is done. Twice does nothing.
    """
    answer: Foreground = await context.ask("foreground", session=params.session_id, last=0)
    missed = answer.omitted + len(answer.missed)
    return BroughtForward(answer.session.id, answer.channel, answer.is_new, missed, IN_FRONT)


async def background(context: ToolContext, params: OnSession) -> PutBackward:
    """Show a session to your person no more; it goes on, and nothing of it is lost.

    Use it for a session that you brought with foreground, once it need not be followed any
    more. Twice does nothing.
    """
    answer: Background = await context.ask("background", session=params.session_id)
    advice = "It goes on unseen; your person sees what was missed with `rookery follow`."
    return PutBackward(answer.session, answer.channel, answer.was_in_front, advice)
