"""Plays turns with one real program at its keyboard, and notes what is so, asking no Rookery.

What it knows, it knows from the keys that it presses, from the model behind the program, from
tmux and from the kernel. Between a cause and its first visible effect two words are true.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from time import monotonic

import psutil

from tests.support.prove.truth import Timeline
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.asides import Kind
from tests.support.scripted_model.log import Record
from tests.support.scripted_model.server import ModelServer

#: Seconds for a program that needs several to start, while another does so too.
SLOWLY = 90.0

#: Seconds after which a key that had no effect is pressed again.
AGAIN = 3.0

ESCALATED = json.dumps(
    {"cmd": "touch made", "sandbox_permissions": "require_escalated", "justification": "why"}
)
TASK = json.dumps(
    {
        "description": "a part of it",
        "subagent_type": "general-purpose",
        "prompt": "sleep: 1.2;; say: my part",
    }
)
QUESTION = json.dumps(
    {
        "questions": [
            {
                "question": "Which colour?",
                "header": "Colour",
                "multiSelect": False,
                "options": [
                    {"label": "Red", "description": "warm"},
                    {"label": "Blue", "description": "cold"},
                ],
            }
        ]
    }
)
PLAN = json.dumps({"plan": "1. Do it."})

#: How often each kind of turn comes in one hand of Claude's, of which most is known.
CLAUDE_HAND = {
    "plain": 2,
    "tool": 2,
    "yes": 2,
    "no": 2,
    "esc": 2,
    "crash": 1,
    "subagent": 2,
    "compact": 1,
    "command": 2,
    "early": 1,
    "queued": 1,
    "question": 1,
    "plan": 1,
}


@dataclass(frozen=True)
class Part:
    """What differs between the programs, in how one plays with them."""

    agent: str
    ready: str  #: stands on the screen once one can type
    dialog: str  #: stands on the screen while it asks
    tool: str  #: a call for which it asks nobody
    asking: str  #: a call for which it asks
    yes: str
    #: How often each kind of turn comes in one hand of twenty.
    hand: dict[str, int]
    model: str = ""
    #: What its screen says of the Escape key while it works, and then before each further one.
    escapes: tuple[str, ...] = ("esc to interrupt",)
    #: A turn that never ends. Claude gives a prompt back to which nothing was answered yet.
    endless: str = "say: begun;; hang:"


OTHERS = {"plain": 6, "tool": 4, "yes": 3, "no": 3, "esc": 3, "crash": 1}
PARTS = {
    "claude": Part(
        agent="claude",
        ready="for shortcuts",
        dialog="Do you want to proceed",
        tool="bash: sleep 0.4",
        asking="bash: touch made",
        yes="1",
        hand=CLAUDE_HAND,
    ),
    "codex": Part(
        agent="codex",
        ready="GPT-5.5",  # before that it says that it is loading
        dialog="Would you like to run",
        tool='tool: exec_command {"cmd": "sleep 0.4"}',
        asking=f"tool: exec_command {ESCALATED}",
        yes="y",
        hand={**OTHERS, "plain": 5, "compact": 1},
        endless="hang:",  # while it prints, it says nothing of Escape
    ),
    "gemini": Part(
        agent="gemini",
        ready="Type your message",
        dialog="Allow once",
        tool='tool: list_directory {"dir_path": "."}',
        asking="bash: touch made",
        yes="Enter",
        hand=OTHERS,
        model="gemini-2.5-flash",
        escapes=("(esc to cancel",),
    ),
    "opencode": Part(
        agent="opencode",
        ready="Ask anything",
        dialog="Permission required",
        tool='tool: glob {"pattern": "*"}',
        asking="bash: touch made",
        yes="Enter",
        hand=OTHERS,
        model="fake/fake-model",
        escapes=("esc interrupt", "esc again"),
    ),
}


@dataclass(slots=True)
class Player:
    rookery: Rookery
    models: ModelServer
    part: Part
    chance: random.Random
    timelines: dict[str, Timeline] = field(default_factory=dict)
    turns: int = 0
    answered: list[str] = field(default_factory=list)  #: marks that the model has said
    _name: str = ""
    _pane: str = ""
    _kind: str = "start"

    def play(self, hands: int) -> None:
        """Play so many hands of twenty turns."""
        self._begin()
        for _ in range(hands):
            deck = [kind for kind, often in self.part.hand.items() for _ in range(often)]
            self.chance.shuffle(deck)
            for self._kind in deck:
                self.turns += 1
                getattr(self, f"_{self._kind}")(f"turn-{self.turns:04}-{self.part.agent}")
                self._pause(0.4, 1.2)
        self._close()

    def compare_answers(self) -> tuple[int, list[str]]:
        """Return how many turns have an answer, and which have not the one to their prompt."""
        turns = [
            (name, turn)
            for name in self.timelines
            for turn in self.rookery.client.get("sessions", name, "turns", last=1_000)["turns"]
        ]
        asked = {mark: turn["answer"] for _, turn in turns for mark in _marks(turn["prompt"])}
        misplaced = [
            f"{mark} was answered {asked.get(mark, 'nowhere')!r}"
            for mark in self.answered
            if mark not in asked.get(mark, "")
        ]
        misplaced += [
            f"{name}: {turn['prompt']!r} was answered {turn['answer']!r}"
            for name, turn in turns
            if set(_marks(turn["answer"])) - set(_marks(turn["prompt"])) and turn["prompt"]
        ]
        return sum(bool(turn["answer"]) for _, turn in turns), misplaced

    def _plain(self, mark: str) -> None:
        self._type(f"{self._think()};; say: {mark}", mark)
        self._see_end(mark, 0)

    def _tool(self, mark: str) -> None:
        self._type(f"{self._think()};; {self.part.tool};; {self._think()};; say: {mark}", mark)
        self._see_end(mark, 1)

    def _yes(self, mark: str) -> None:
        self._ask(mark)
        self._answer(self.part.yes, then="working")
        self._see_end(mark, 1)

    def _no(self, mark: str) -> None:
        self._ask(mark)
        self._answer("Escape", then="idle")

    def _esc(self, mark: str) -> None:
        self._type(f"{self.part.endless};; say: {mark}", mark)
        self._shows(self.part.escapes[0])
        self._pause(0.3, 1.5)
        record = self._request(mark, 0)
        for words in self.part.escapes:
            self._shows(words)
            self._note("working", "idle")
            self._press("Escape")
        self.models.log.wait_for(lambda each: each is record and each.is_aborted, within=SLOWLY)
        self._note("idle")

    def _subagent(self, mark: str) -> None:
        """Let a part be done in the background: the turn goes on until its end was told."""
        known = set(self.models.log)
        self._type(f"{self._think()};; tool: Task {TASK};; say: {mark}", mark)
        self._wait_for_end(mark, 1)
        self.models.log.wait_for(
            lambda each: each not in known and _tells_of_task(each) and bool(each.ending),
            within=SLOWLY,
        )
        self._note("idle")

    def _command(self, mark: str) -> None:
        """Leave a command running: the turn is over; its end is reported in another one."""
        seconds = f"9{self.turns:04}"
        given = {"command": f"sleep {seconds}", "run_in_background": True, "description": "it"}
        self._type(f"{self._think()};; tool: Bash {json.dumps(given)};; say: {mark}", mark)
        self._see_end(mark, 1)
        self._pause(1.0, 2.0)
        known = set(self.models.log)
        self._note("idle", "working")
        for each in self._program().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if each.cmdline() == ["sleep", seconds]:
                    each.kill()
        self.models.log.wait_for(
            lambda each: each not in known and _tells_of_task(each) and bool(each.ending),
            within=SLOWLY,
        )
        self._note("idle")

    def _early(self, mark: str) -> None:
        """Interrupt a turn before anything was answered: its prompt is given back."""
        self._type(f"hang:;; say: {mark}", mark)
        self._shows(self.part.escapes[0])
        self._pause(0.3, 1.0)
        record = self._request(mark, 0)
        self._note("working", "idle")
        self._press("Escape")
        self.models.log.wait_for(lambda each: each is record and each.is_aborted, within=SLOWLY)
        self._note("idle")
        self._pause(0.5, 1.0)
        self._press_until("C-u", lambda: mark not in self._screen())

    def _queued(self, mark: str) -> None:
        """Type another prompt while a turn runs: it is answered after it."""
        first = f"first-{self.turns:04}"
        self._type(f"gate: {first};; say: {first}", first)
        self._write(f"{self._think()};; say: {mark}")
        self._press("Enter")
        self._pause(0.3, 1.0)
        self.models.open_gate(first)
        self.answered.append(first)
        self._see_end(mark, 0)

    def _question(self, mark: str) -> None:
        self._type(f"{self._think()};; tool: AskUserQuestion {QUESTION};; say: {mark}", mark)
        self._wait_for_end(mark, 0)
        self._note("working", "question")
        self._shows("Enter to select")
        self._note("question")
        self._pause(0.5, 2.0)
        self._note("question", "working")
        self._press_until("Enter", lambda: "Enter to select" not in self._screen())
        self._note("working")
        self._see_end(mark, 1)

    def _plan(self, mark: str) -> None:
        """Let it show a plan, and refuse it."""
        self._press_until("BTab", lambda: "plan mode on" in self._screen())
        self._type(f"{self._think()};; tool: ExitPlanMode {PLAN};; say: {mark}", mark)
        self._wait_for_end(mark, 0)
        self._note("working", "permission", "question")
        eventually(self._shows_plan, within=SLOWLY)
        self._note("permission", "question")  # whether a plan is the one or the other
        self._pause(0.5, 2.0)
        self._note("permission", "question", "idle")
        self._press_until("Escape", lambda: not self._shows_plan())
        self._note("idle")
        self._press_until("BTab", lambda: "plan mode on" not in self._screen())

    def _shows_plan(self) -> bool:
        return bool(_PLAN.search(self._screen()))

    def _compact(self, mark: str) -> None:
        self._plain(mark)  # without anything said there is nothing to compact
        self._pause(0.4, 1.2)
        known = set(self.models.log)

        def is_summary(record: Record) -> bool:
            return record not in known and bool(_SUMMARY.search(str(record.body)))

        self._write("/compact")
        self._note("idle", "working")
        self._press("Enter")
        record = self.models.log.wait_for(is_summary, within=SLOWLY)
        self._note("working")
        self.models.log.wait_for(lambda each: each is record and bool(each.ending))
        self._note("working", "idle")  # it tells hooks, and makes a new conversation
        eventually(lambda: self.part.escapes[0] not in self._screen(), within=SLOWLY)
        self._note("idle")

    def _crash(self, mark: str) -> None:
        self._type(f"{self.part.endless};; say: {mark}", mark)
        self._pause(0.3, 1.5)
        killed = self._program()
        family = [killed, *killed.children(recursive=True)]
        self._note("working", "over")
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        eventually(lambda: not any(map(_lives, family)))
        self._note("over")
        self._pause(1.5, 2.0)
        self._close()
        self._begin()

    def _program(self) -> psutil.Process:
        return psutil.Process(int(self._tmux("display", "-p", "-t", self._pane, "#{pane_pid}")))

    def _begin(self) -> None:
        """Start a new one, and wait until one can type."""
        self._name = f"{self.part.agent}-{len(self.timelines) + 1}"
        self._kind = "start"
        given = {"model": self.part.model} if self.part.model else {}
        self.rookery.client.post(
            "sessions",
            agent=self.part.agent,
            name=self._name,
            project=str(self.rookery.project),
            **given,
        )
        self.timelines[self._name] = Timeline()
        self._note("starting", "idle")
        eventually(self._has_pane, within=SLOWLY)
        self._shows(self.part.ready)
        self._note("idle")
        self._pause(1.0, 1.5)

    def _has_pane(self) -> bool:
        self._pane = str(self.rookery.session(self._name)["tmux_pane"] or "")
        return bool(self._pane)

    def _close(self) -> None:
        self.timelines[self._name].end = monotonic()

    def _type(self, words: str, mark: str) -> None:
        """Type a prompt; it works once its model is asked."""
        self._write(words)
        self._note("idle", "working")
        self._press_until("Enter", lambda: self._asked(mark, 0))
        self._note("working")

    def _write(self, words: str) -> None:
        """Type words without Enter, and wait until they stand there."""
        self._tmux("send-keys", "-t", self._pane, "-l", words)
        end = re.sub(r"\s", "", words)[-12:]
        eventually(lambda: end in re.sub(r"[\s│┃]", "", self._screen()), within=SLOWLY)

    def _ask(self, mark: str) -> None:
        """Let it ask for a permission, and look at it for a while."""
        self._type(
            f"{self._think()};; {self.part.asking};; {self._think()};; say: {mark}", mark
        )
        self._wait_for_end(mark, 0)
        self._note("working", "permission")
        self._shows(self.part.dialog)
        self._note("permission")
        self._pause(0.5, 2.0)

    def _answer(self, key: str, *, then: str) -> None:
        self._note("permission", then)
        self._press_until(key, lambda: self.part.dialog not in self._screen())
        self._note(then)

    def _see_end(self, mark: str, response: int) -> None:
        self._wait_for_end(mark, response)
        self.answered.append(mark)
        self._note("idle")

    def _wait_for_end(self, mark: str, response: int) -> None:
        self.models.log.wait_for(
            lambda record: _is(record, mark, response) and bool(record.ending), within=SLOWLY
        )

    def _request(self, mark: str, response: int) -> Record:
        return self.models.log.wait_for(lambda record: _is(record, mark, response))

    def _asked(self, mark: str, response: int) -> bool:
        return any(_is(record, mark, response) for record in self.models.log)

    def _press_until(self, key: str, has_worked: Callable[[], bool]) -> None:
        """Press a key; again only if it has had no effect for a while."""
        for _ in range(10):
            self._press(key)
            with suppress(AssertionError):
                eventually(has_worked, within=AGAIN)
                return
        raise AssertionError(f"{key} has no effect:\n{self._screen()}")

    def _press(self, key: str) -> None:
        self._tmux("send-keys", "-t", self._pane, key)

    def _shows(self, words: str) -> None:
        eventually(lambda: words in self._screen(), within=SLOWLY)

    def _screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", self._pane)

    def _tmux(self, *words: str) -> str:
        return self.rookery.tmux(*words)

    def _note(self, *words: str) -> None:
        self.timelines[self._name].note(self._kind, monotonic(), *words)

    def _think(self) -> str:
        return f"sleep: {self.chance.uniform(0.3, 1.5):.2f}"

    def _pause(self, least: float, most: float) -> None:
        """Look on for a while, as a person does: this is what is measured."""
        Event().wait(self.chance.uniform(least, most))


#: How Claude asks whether to go on with a plan, which may be empty.
_PLAN = re.compile(r"Exit plan mode\?|Would you like to proceed")

#: What a scripted answer says; also of a turn whose prompt waits behind another.
_MARK = re.compile(r"(?:turn|first)-[0-9]{4}(?:-[a-z]+)?")

#: How a program asks its model for a summary.
_SUMMARY = re.compile(r"CRITICAL: Respond with TEXT ONLY|CONTEXT CHECKPOINT COMPACTION")

#: Codex asks for a title with the same prompt, in a conversation of its own.
_ASIDE = '"thread_source":"thread_title"'


def _is(record: Record, mark: str, response: int) -> bool:
    plan = record.plan
    is_script = plan is not None and plan.kind is Kind.SCRIPT and plan.response == response
    is_aside = _ASIDE in record.headers.get("x-codex-turn-metadata", "")
    return is_script and mark in record.prompt and not is_aside


def _marks(text: str) -> list[str]:
    return _MARK.findall(text)


def _tells_of_task(record: Record) -> bool:
    return record.prompt.startswith("task notification")


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
