"""The notices that ``rookery follow`` prints about sessions in the foreground."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from rookery.client.decoding import JsonObject
from rookery.client.turns import TurnInfo


class FollowNotice(Struct, frozen=True, tag_field="kind"):
    """Something to show; programs distinguish notices by ``kind``."""

    @property
    def json(self) -> JsonObject:
        fields: JsonObject = msgspec.to_builtins(self)
        return fields


class NothingNotice(FollowNotice, frozen=True, tag="nothing"):
    """No session is in the foreground yet."""


class SessionNotice(FollowNotice, frozen=True, tag="session"):
    """A notice about one session."""

    session: str
    name: str


class ForegroundNotice(SessionNotice, frozen=True, tag="foreground"):
    """The session came to the foreground."""

    missed: int  #: turns that it missed, which are shown next
    omitted: int  #: older missed turns that are not shown


class StateNotice(SessionNotice, frozen=True, tag="state"):
    state: str


class BackgroundNotice(SessionNotice, frozen=True, tag="background"):
    """Another command or an agent put the session into the background."""

    at: str
    by: str


class EndedNotice(SessionNotice, frozen=True, tag="ended"):
    at: str
    status: str
    reason: str
    ended_by: str


class PromptNotice(SessionNotice, frozen=True, tag="prompt"):
    at: str
    prompt: str


class ToolNotice(SessionNotice, frozen=True, tag="tool"):
    at: str
    tool: str
    argument: str = ""


class DeniedNotice(SessionNotice, frozen=True, tag="denied"):
    """A tool call was denied and did not run; usually a ``ToolNotice`` came before."""

    at: str
    tool: str
    by: str  #: who or what denied it
    argument: str = ""
    rule: str = ""


class AsksNotice(SessionNotice, frozen=True, tag="asks"):
    at: str
    activity: str
    message: str
    options: list[str]
    answer: str  #: the commands that answer


class WordsNotice(SessionNotice, frozen=True, tag="words"):
    """A text in the middle of a turn, or an answer that came after the end of its turn."""

    at: str
    words: str


class TurnNotice(SessionNotice, frozen=True, tag="turn"):
    at: str
    turn: TurnInfo
    is_begun: bool  #: whether its prompt was already shown
    is_same: bool  #: whether its answer is that of the turn before

    @property
    def json(self) -> JsonObject:
        return {**super().json, "turn": self.turn.json}
