"""Follow sessions in the foreground: first missed turns, then new events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, TypeVar

from rookery.cli.blocked import how_to_answer
from rookery.cli.daemon_waits import await_return
from rookery.cli.events import from_now_on
from rookery.cli.followed_session import FollowedSession
from rookery.cli.live_blocks import LiveBlocks
from rookery.cli.notices import (
    AsksNotice,
    BackgroundNotice,
    DeniedNotice,
    EndedNotice,
    FollowNotice,
    ForegroundNotice,
    NothingNotice,
    PromptNotice,
    StateNotice,
    ToolNotice,
    TurnNotice,
    WordsNotice,
)
from rookery.client import Client
from rookery.client.blocks import BlockInfo
from rookery.client.foreground import (
    ForegroundInfo,
    bring_to_foreground,
    list_foregrounds,
    look_at_foreground,
    mark_shown,
    put_into_background,
)
from rookery.client.permissions import RequestInfo, open_requests_of
from rookery.client.sessions import SessionInfo, show_session
from rookery.client.streams import EventFields, ShownEvent
from rookery.client.turns import TurnInfo
from rookery.model.errors import NotRunning

CHANNEL = "terminal"

#: The leading characters of prompts that are compared to recognise a prompt.
MAX_COMPARED_CHARACTERS = 1_000

T = TypeVar("T")

#: Shows a notice to the user.
Tell: TypeAlias = Callable[[FollowNotice], None]


@dataclass(frozen=True, slots=True)
class Follower:
    """Shows the session ``name``, or without a name all sessions in the foreground."""

    daemon: Client
    tell: Tell
    name: str
    fronts: dict[str, FollowedSession] = field(default_factory=dict)

    def follow(self) -> None:
        """Follow the named session until it ends or leaves the foreground; all, for ever."""
        for event in from_now_on(self.daemon, again=self._again):
            if event.kind == "snapshot":
                self._begin()
            else:
                self._handle(event)
            if self.name and not self.fronts:
                return

    @property
    def _again(self) -> str:
        # Use the current name: the session may have been renamed.
        names = [each.name for each in self.fronts.values()] if self.name else []
        return " ".join(["rookery follow", *(names or [self.name])]).strip()

    def _begin(self) -> None:
        """Show the sessions at each snapshot: at the start, and after a gap in the events."""
        if self.fronts:
            for front in [*self.fronts.values()]:
                self._bring(front.id, seen=front.seen, is_ours=front.is_ours)
        elif self.name:
            self._bring(self.name)
        else:
            foregrounds = self._retry(partial(list_foregrounds, self.daemon, channel=CHANNEL))
            for each in foregrounds.foregrounds:
                self._take_over(each.session)
            if not self.fronts:
                self.tell(NothingNotice())

    def _bring(self, session: str, *, seen: int | None = None, is_ours: bool = False) -> None:
        foreground = bring_to_foreground(self.daemon, session, channel=CHANNEL, seen=seen)
        self._show(foreground, is_ours=is_ours or foreground.is_new)

    def _take_over(self, session: str) -> None:
        """Follow a session that another command put into the foreground."""
        look = partial(look_at_foreground, self.daemon, session, channel=CHANNEL)
        foreground = self._retry(look)
        if foreground.is_there:
            self._show(foreground, is_ours=False)

    def _show(self, foreground: ForegroundInfo, *, is_ours: bool) -> None:
        """Show the missed turns of a session, then its state."""
        session = foreground.session
        front = FollowedSession(
            session.id, session.name, foreground.as_of, is_ours, foreground.seen
        )
        front.runtime = session.runtime
        self.fronts[front.id] = front
        missed, omitted = len(foreground.missed), foreground.omitted
        self.tell(ForegroundNotice(front.id, front.name, missed=missed, omitted=omitted))
        for turn in foreground.missed:
            self._show_turn(front, turn)
            self._mark_shown(front)
        for turn in foreground.running:
            self._show_prompt(front, turn.prompt, turn.started_at)
        if session.is_driven:
            began = foreground.running[0].started_at if foreground.running else ""
            front.blocks = LiveBlocks.since(self.daemon, front.id, began, self._retry)
            self._show_blocks(front, front.blocks.up_to_call(session.last_activity_at))
        if session.ended_at:
            self._drop(front, session)
            return
        if session.activity and session.is_asking:
            self._show_asked(front, session.activity, session.reason, session.since)
        self.tell(StateNotice(front.id, front.name, state=session.state))

    def _handle(self, event: ShownEvent) -> None:
        fact = event.fact
        front = self.fronts.get(fact.session)
        if event.kind == "foreground-entered":
            if front is None and not self.name and fact.channel == CHANNEL:
                self._take_over(fact.session)
        elif front is not None and event.seq > front.as_of:
            self._handle_session_event(front, event, fact)

    def _handle_session_event(
        self, front: FollowedSession, event: ShownEvent, fact: EventFields
    ) -> None:
        match event.kind:
            case "session-renamed":
                front.name = fact.name
            case "session-ended":
                self._catch_up(front, event.seq)
                self._drop(front, self._retry(partial(show_session, self.daemon, front.id)))
            case "foreground-left" if fact.channel == CHANNEL:
                del self.fronts[front.id]
                self.tell(BackgroundNotice(front.id, front.name, at=fact.at, by=fact.by))
            case _:
                self._handle_turn_event(front, event, fact)

    def _handle_turn_event(
        self, front: FollowedSession, event: ShownEvent, fact: EventFields
    ) -> None:
        match event.kind:
            case "turn-started":
                front.asked = ("", "")
                self._show_prompt(front, fact.prompt, fact.at)
            case "tool-called" | "call-decided":
                self._handle_call(front, event.kind, fact)
            case "input-asked":
                self._show_asked(front, fact.asks, fact.message, fact.at)
            case "input-settled":
                front.asked = ("", "")
            case "turn-ended":
                front.asked = ("", "")
                if front.blocks:
                    rest = front.blocks.up_to_end(fact.at, fact.last_words)
                    self._show_blocks(front, rest)
                self._catch_up(front, event.seq)
                self._amend(front, fact)

    def _show_blocks(self, front: FollowedSession, blocks: Sequence[BlockInfo]) -> None:
        for each in blocks:
            if each.kind == "tool-call":
                self._show_call(front, each.at, each.tool, each.text)
            else:
                self.tell(WordsNotice(front.id, front.name, at=each.at, words=each.text))

    def _handle_call(self, front: FollowedSession, kind: str, fact: EventFields) -> None:
        if kind == "tool-called" and front.blocks:
            self._show_blocks(front, front.blocks.up_to_call(fact.at))
        elif kind == "tool-called":
            self._show_call(front, fact.at, fact.tool, fact.argument)
        elif fact.decision == "deny":
            argument = front.calls.get(fact.tool, "")
            denied = (front.id, front.name, fact.at, fact.tool, fact.by)
            self.tell(DeniedNotice(*denied, argument=argument, rule=fact.rule))

    def _show_call(self, front: FollowedSession, at: str, tool: str, argument: str) -> None:
        front.calls[tool] = argument
        self.tell(ToolNotice(front.id, front.name, at, tool, argument))

    def _catch_up(self, front: FollowedSession, entry: int) -> None:
        """Show the turns that had ended by a journal entry; later turns arrive as events."""
        following = self._mark_shown(front)
        while following and following.number <= entry:
            self._show_turn(front, following)
            following = self._mark_shown(front)

    def _mark_shown(self, front: FollowedSession) -> TurnInfo | None:
        """Report to the daemon how far a session was shown. Returns the next ended turn."""
        mark = partial(mark_shown, self.daemon, front.id, channel=CHANNEL, seen=front.seen)
        return self._retry(mark).following

    def _amend(self, front: FollowedSession, fact: EventFields) -> None:
        """Show an answer that arrived a moment after its turn was recorded as over."""
        words, last = fact.last_words, front.last
        if words and last and not last.answer and last.how == "interrupted":
            front.last = last.with_changes(answer=words)
            self.tell(WordsNotice(front.id, front.name, at=fact.at, words=words))

    def _show_turn(self, front: FollowedSession, turn: TurnInfo) -> None:
        prompt = turn.prompt[:MAX_COMPARED_CHARACTERS]
        is_begun = prompt in front.prompts
        if is_begun:
            front.prompts.remove(prompt)
        # An agent that takes a second prompt during a turn stops once for both prompts.
        is_same = front.last is not None and (turn.ended_at, turn.answer) == (
            front.last.ended_at,
            front.last.answer,
        )
        at = turn.ended_at if is_begun else turn.started_at
        self.tell(
            TurnNotice(
                front.id, front.name, at=at or "", turn=turn, is_begun=is_begun, is_same=is_same
            )
        )
        front.seen, front.last = turn.number, turn

    def _show_prompt(self, front: FollowedSession, prompt: str, at: str) -> None:
        if prompt:
            front.prompts.append(prompt[:MAX_COMPARED_CHARACTERS])
            self.tell(PromptNotice(front.id, front.name, at=at, prompt=prompt))

    def _show_asked(self, front: FollowedSession, activity: str, message: str, at: str) -> None:
        if front.asked == (activity, message):
            return  # another source reports the same
        front.asked = (activity, message)
        requests = self._retry(partial(open_requests_of, self.daemon, front.id))
        asks_now = SessionInfo(
            name=front.name, activity=activity, reason=message, runtime=front.runtime
        )
        self.tell(
            AsksNotice(
                front.id,
                front.name,
                at=at,
                activity=activity,
                message=message,
                options=_options(requests, message) if activity == "question" else [],
                answer=how_to_answer(asks_now, requests),
            )
        )

    def _drop(self, front: FollowedSession, session: SessionInfo) -> None:
        """Report the end of a session, and put the session into the background."""
        del self.fronts[front.id]
        self.tell(
            EndedNotice(
                front.id,
                front.name,
                at=session.ended_at or "",
                status=session.status,
                reason=session.reason,
                ended_by=session.ended_by,
            )
        )
        back = partial(put_into_background, self.daemon, front.id, channel=CHANNEL)
        self._retry(partial(back, seen=front.seen))

    def put_back(self) -> list[FollowedSession]:
        """Put the sessions of this command into the background, and return them."""
        ours = [each for each in self.fronts.values() if each.is_ours]
        for front in ours:
            del self.fronts[front.id]
            put_into_background(self.daemon, front.id, channel=CHANNEL)
        return ours

    def _retry(self, ask: Callable[[], T]) -> T:
        """Send an idempotent request; if the daemon restarts, send it again."""
        while True:
            try:
                return ask()
            except NotRunning:
                start = f"Start it:  rookery up  then:  {self._again}"
                await_return(self.daemon, otherwise=f"while this followed. {start}")


def _options(requests: Sequence[RequestInfo], message: str) -> list[str]:
    """Return the options of the question; empty if there is not exactly one question."""
    matching = [each for each in requests if each.message == message] or requests
    questions = matching[0].questions if matching else ()
    return list(questions[0].options) if len(questions) == 1 else []
