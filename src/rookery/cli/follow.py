"""Follows sessions that are in the foreground: what was missed, then all as it comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rookery.cli.blocked import how_to_answer
from rookery.cli.events import Event, from_now_on
from rookery.cli.waiting import await_return
from rookery.client import Client
from rookery.model.errors import NotRunning

CHANNEL = "terminal"

#: Characters by which a prompt is known again.
ENOUGH = 1_000

#: Takes what there is to show: its ``kind``, whose it is, and what more there is to it.
Tell: TypeAlias = Callable[[Mapping[str, Any]], None]


@dataclass(slots=True)
class Front:
    """A session that is followed, and how far it was shown."""

    id: str
    name: str
    as_of: int  #: what happened up to this entry was told when it came
    is_ours: bool  #: this command has brought it
    seen: int  #: the number of the last turn that was shown
    last: Mapping[str, Any] = field(default_factory=dict)  #: that turn
    prompts: list[str] = field(default_factory=list)  #: shown, of turns that have not ended
    asked: str = ""


@dataclass(frozen=True, slots=True)
class Follower:
    """Shows one session, if it has a name; else all that are in front."""

    daemon: Client
    tell: Tell
    name: str
    fronts: dict[str, Front] = field(default_factory=dict)

    def follow(self) -> None:
        """Go on until the one session has ended, or is put into the background."""
        for event in from_now_on(self.daemon, again=self._again):
            if event.kind == "snapshot":
                self._begin()
            else:
                self._hear(event)
            if self.name and not self.fronts:
                return

    @property
    def _again(self) -> str:
        # By what it is called now: it may have got another name.
        called = [each.name for each in self.fronts.values()] if self.name else []
        return " ".join(["rookery fg", *(called or [self.name])]).strip()

    def _begin(self) -> None:
        """Show what is in front; after a stay so long that facts were forgotten, once more."""
        if self.fronts:
            for front in [*self.fronts.values()]:
                self._bring(front.id, seen=front.seen, is_ours=front.is_ours)
        elif self.name:
            self._bring(self.name)
        else:
            found = self._ask("foregrounds", channel=CHANNEL)["foregrounds"]
            for each in found:
                self._take_over(each["session"])
            if not self.fronts:
                self.tell({"kind": "nothing"})

    def _bring(self, session: str, *, seen: int | None = None, is_ours: bool = False) -> None:
        body = {"channel": CHANNEL, "seen": seen}
        found = self.daemon.post("sessions", session, "foreground", **body)
        self._show(found, is_ours=is_ours or found["is_new"])

    def _take_over(self, session: str) -> None:
        """Follow what somebody else has brought; unless they have put it back meanwhile."""
        found = self._insist(session, "foreground", brings=False)
        if found["is_there"]:
            self._show(found, is_ours=False)

    def _show(self, found: Mapping[str, Any], *, is_ours: bool) -> None:
        """Show where a session stands, after what was missed of it."""
        session = found["session"]
        who = (session["id"], session["name"])
        front = Front(*who, found["as_of"], is_ours, found["seen"])
        self.fronts[front.id] = front
        missed = len(found["missed"])
        self._tell(front, "foreground", missed=missed, omitted=found["omitted"])
        for turn in found["missed"]:
            self._show_turn(front, turn)
            self._insist(front.id, "shown", seen=front.seen)
        for turn in found["running"]:
            self._show_prompt(front, turn["prompt"], turn["started_at"])
        if session["ended_at"]:
            self._leave(front, session)
            return
        if session["activity"] in {"permission", "question"}:
            self._show_asked(front, session["activity"], session["reason"], session["since"])
        self._tell(front, "state", state=session["activity"] or session["status"])

    def _hear(self, event: Event) -> None:
        fields = json.loads(event.text)
        front = self.fronts.get(fields["session"])
        if event.kind == "foreground-entered":
            if front is None and not self.name and fields["channel"] == CHANNEL:
                self._take_over(fields["session"])
        elif front is not None and event.seq > front.as_of:
            self._hear_of(front, event, fields)

    def _hear_of(self, front: Front, event: Event, fields: Mapping[str, Any]) -> None:
        match event.kind:
            case "session-renamed":
                front.name = fields["name"]
            case "session-ended":
                self._catch_up(front, event.seq)
                self._leave(front, self._ask("sessions", front.id))
            case "foreground-left" if fields["channel"] == CHANNEL:
                del self.fronts[front.id]
                self._tell(front, "background", at=fields["at"], by=fields["by"])
            case _:
                self._hear_of_turn(front, event, fields)

    def _hear_of_turn(self, front: Front, event: Event, fields: Mapping[str, Any]) -> None:
        match event.kind:
            case "turn-started":
                front.asked = ""
                self._show_prompt(front, fields["prompt"], fields["at"])
            case "tool-called":
                self._tell(front, "tool", at=fields["at"], tool=fields["tool"])
            case "input-asked":
                self._show_asked(front, fields["asks"], fields["message"], fields["at"])
            case "input-settled":
                front.asked = ""
            case "turn-ended":
                front.asked = ""
                self._catch_up(front, event.seq)
                self._amend(front, fields)

    def _catch_up(self, front: Front, entry: int) -> None:
        """Show the turns that have ended by an entry; what came later is still to be heard."""
        shown = self._insist(front.id, "shown", seen=front.seen)
        while (turn := shown["following"]) and turn["number"] <= entry:
            self._show_turn(front, turn)
            shown = self._insist(front.id, "shown", seen=front.seen)

    def _amend(self, front: Front, fields: Mapping[str, Any]) -> None:
        """Show words that an agent told a moment after its turn was seen to be over."""
        words, last = fields["last_words"], front.last
        if words and last and not last["answer"] and last["how"] == "interrupted":
            front.last = {**last, "answer": words}
            self._tell(front, "words", at=fields["at"], words=words)

    def _show_turn(self, front: Front, turn: Mapping[str, Any]) -> None:
        prompt = turn["prompt"][:ENOUGH]
        is_begun = prompt in front.prompts
        if is_begun:
            front.prompts.remove(prompt)
        # An agent that took a second prompt into its turn has stopped once for both.
        ends = ("ended_at", "answer")
        is_same = bool(front.last) and all(turn[end] == front.last[end] for end in ends)
        at = turn["ended_at"] if is_begun else turn["started_at"]
        self._tell(front, "turn", at=at, turn=turn, is_begun=is_begun, is_same=is_same)
        front.seen, front.last = turn["number"], turn

    def _show_prompt(self, front: Front, prompt: str, at: str) -> None:
        if prompt:
            front.prompts.append(prompt[:ENOUGH])
            self._tell(front, "prompt", at=at, prompt=prompt)

    def _show_asked(self, front: Front, activity: str, message: str, at: str) -> None:
        if front.asked == f"{activity} {message}":
            return  # another source says the same
        front.asked = f"{activity} {message}"
        asked = self._asked(front)
        asks_now = {"name": front.name, "activity": activity, "reason": message}
        answer = how_to_answer(asks_now, asked)
        options = _options(asked, message) if activity == "question" else []
        asks = {"activity": activity, "message": message, "options": options, "answer": answer}
        self._tell(front, "asks", at=at, **asks)

    def _asked(self, front: Front) -> list[Mapping[str, Any]]:
        """Return what a session asks for now."""
        requests = self._ask("permissions")["requests"]
        is_its = (front.id, "open")
        return [each for each in requests if (each["session"], each["outcome"]) == is_its]

    def _leave(self, front: Front, session: Mapping[str, Any]) -> None:
        """Follow a session no more that is over: all of it was shown."""
        del self.fronts[front.id]
        over = {each: session.get(each, "") for each in ("status", "reason", "ended_by")}
        self._tell(front, "ended", at=session["ended_at"], **over)
        self._insist(front.id, "background", seen=front.seen)

    def put_back(self) -> list[Front]:
        """Put into the background what this command brought; returns that."""
        ours = [each for each in self.fronts.values() if each.is_ours]
        for front in ours:
            del self.fronts[front.id]
            self.daemon.post("sessions", front.id, "background", channel=CHANNEL)
        return ours

    def _ask(self, *path: str, **query: str) -> Mapping[str, Any]:
        """Ask something, if need be of the next daemon."""
        while True:
            try:
                found: Mapping[str, Any] = self.daemon.get(*path, timeout=0.0, **query)
            except NotRunning:
                self._await_return()
            else:
                return found

    def _insist(self, session: str, command: str, **body: object) -> Mapping[str, Any]:
        """Give a command that may be given twice, if need be to the next daemon."""
        while True:
            try:
                found: Mapping[str, Any] = self.daemon.post(
                    "sessions", session, command, channel=CHANNEL, **body
                )
            except NotRunning:
                self._await_return()
            else:
                return found

    def _await_return(self) -> None:
        start = f"Start it:  rookery up  then:  {self._again}"
        await_return(self.daemon, otherwise=f"while this followed. {start}")

    def _tell(self, front: Front, kind: str, **more: object) -> None:
        self.tell({"kind": kind, "session": front.id, "name": front.name, **more})


def _options(asked: Sequence[Mapping[str, Any]], message: str) -> list[str]:
    """Return what a person may choose from; nothing if that is not one list."""
    meant = [each for each in asked if each["message"] == message] or asked
    questions = meant[0]["questions"] if meant else []
    return list(questions[0]["options"]) if len(questions) == 1 else []
