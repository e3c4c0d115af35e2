"""Whoever pretends to be another session moves nobody, and decides nothing for anybody."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from rookery.agents.demo import EVENTS
from rookery.agents.shared.claude_style_hooks import hook_settings
from rookery.hook_setup import programs
from tests.support.real.forged import FORGED, listed
from tests.support.real.hook_storms import call_door
from tests.support.real.http import badge_of
from tests.support.real.outsiders import Outsider, outsider
from tests.support.real.own_tmux import OwnTmux
from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.real


#: Its victims may do all, and nobody else may.
#: All that the victims do is allowed; by their folders those that Rookery did not start.
RULES = """
[[allow]]
session = "badged"
[[allow]]
project = "/x/known"
[[allow]]
project = "{folder}"
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """Three victims: one that we started, one that a hook told of, one in somebody's pane."""

    rookery: Rookery
    known: Outsider
    server: str
    pane: str

    def victims(self) -> list[dict[str, Any]]:
        return [self.rookery.session(name) for name in ("badged", "known", "seen")]

    def record(self) -> list[object]:
        """Return all that is known of the victims, and all that was written of them."""
        found: list[object] = []
        with self.rookery.database() as db:
            for victim in self.victims():
                for table in ("entries", "turns", "requests", "audit", "evidence"):
                    query = f"select * from {table} where session = ?"  # noqa: S608 - our own
                    found += db.execute(query, (victim["id"],)).fetchall()
        return [*self.victims(), *found]


@pytest.fixture
def scene(cold: Rookery, tmp_path: Path) -> Iterator[Scene]:
    own = OwnTmux(tmp_path)
    with ExitStack() as closing:
        closing.callback(own.clear_away)
        cold.configure(own.settings)
        cold.up()
        cold.home.rules.write_text(RULES.format(folder=tmp_path))
        cold.json("mode", "remote")
        cold.start("badged")
        cold.start("other")
        known = closing.enter_context(outsider(cold))
        known.tell({"session_id": "n-known", "cwd": "/x/known", **FORGED[0]})
        pane = own.demo(tmp_path)
        eventually(lambda: len(listed(cold)) == 4)
        found = listed(cold)[-1]
        cold.client.post("sessions", found["id"], "name", name="seen")
        yield Scene(cold, known, str(own.socket), pane)


def forge(
    say: Callable[[Mapping[str, object]], str], scene: Scene, *, agents: tuple[str, ...]
) -> list[str]:
    """Speak for each victim of these agents; return what was answered."""
    return [
        say({"session_id": victim["native_id"], "cwd": victim["project_path"], **event})
        for victim in scene.victims()
        if victim["agent"] in agents
        for event in FORGED
    ]


def lies(scene: Scene) -> list[tuple[str, str, str]]:
    """Say which badges, panes and servers somebody could claim to have who has none."""
    rookery = scene.rookery
    worn, pane = badge_of(rookery, "other"), str(rookery.session("badged")["tmux_pane"])
    return [
        ("-", "-", "-"),
        ("made-up", "-", "-"),
        (worn, "-", "-"),
        ("-", pane, str(rookery.home.tmux)),
        ("-", scene.pane, scene.server),
        (worn, pane, str(rookery.home.tmux)),
    ]


def raw(scene: Scene, agent: str, *words: str) -> Callable[[Mapping[str, object]], str]:
    """Speak at the door itself, with these words for a badge, a pane and a server."""
    badge, pane, server = words

    def say(payload: Mapping[str, object]) -> str:
        body = json.dumps(payload).encode()
        first = f"{uuid4()} {agent} {len(body)} {badge} {pane} 1 {server}\n"
        return call_door(scene.rookery.home.hook_door, first.encode() + body).decode()

    return say


@pytest.mark.spec("C4", "D3")
def test_no_badge_and_no_pane_that_is_said_makes_one_another_session(scene: Scene) -> None:
    before = scene.record()

    said = [
        answer
        for agent in ("demo", "claude")
        for words in lies(scene)
        for answer in forge(raw(scene, agent, *words), scene, agents=(agent,))
    ]

    assert set(said) == {"taken\n"}
    assert scene.record() == before


@pytest.mark.spec("C4", "D3")
def test_who_lies_about_all_but_its_native_id_is_somebody_else(scene: Scene) -> None:
    before, other = scene.record(), scene.rookery.session("other")

    for number, words in enumerate(lies(scene)):
        say = raw(scene, "demo", *words)
        said = [
            say({"session_id": f"n-{number}", "cwd": "/x/badged", **each}) for each in FORGED
        ]

        assert set(said) == {"taken\n", "wait \n"}

    assert scene.record() == before
    assert scene.rookery.session("other") == other
    found = scene.rookery.client.get("sessions", all=True)["sessions"]
    strangers = [each for each in found if each["runtime"] == "headless"]
    assert len(strangers) > len(lies(scene))  # each is one of its own, beside the known one
    decided = {each["session"] for each in scene.rookery.json("audit")["decisions"]}
    assert decided <= {each["id"] for each in strangers if each["name"] != "known"}


@pytest.mark.spec("C4", "D3")
def test_no_process_is_another_because_it_is_called_so(scene: Scene) -> None:
    before = scene.record()

    for called, *words in (
        ["claude"],
        ["codex"],
        ["sh", "app-server"],
        ["claude", "app-server"],
    ):
        with outsider(scene.rookery, *words, called=called) as forger:
            said = forge(forger.tell, scene, agents=("claude",))

        assert set(said) == {""}
        assert scene.record() == before
    assert "allow" in scene.known.tell({"session_id": "n-known", "cwd": "/", **FORGED[5]})


@pytest.mark.spec("B6", "C4")
def test_an_agent_in_somebodys_own_pane_speaks_for_itself(
    cold: Rookery, tmp_path: Path
) -> None:
    own, settings = OwnTmux(tmp_path), tmp_path / "hooks.json"
    command = programs.hook_command(cold.home, "demo")
    settings.write_text(hook_settings(command, EVENTS))
    cold.configure(own.settings)
    cold.up()
    try:
        pane = own.demo(tmp_path, "--settings", str(settings))
        eventually(lambda: [each["runtime"] for each in listed(cold)] == ["observed"])

        own.type(pane, "say: It is me.")

        (session,) = listed(cold)
        eventually(lambda: answers(cold, session["id"]) == ["It is me."])
    finally:
        own.clear_away()


def answers(rookery: Rookery, session: str) -> list[str]:
    turns = rookery.client.get("sessions", session, "turns")["turns"]
    return [turn["answer"] for turn in turns]


@pytest.mark.spec("C4")
def test_nobody_is_codex_shared_server_because_a_word_says_so(rookery: Rookery) -> None:
    told = {"session_id": "n-codex", "cwd": "/x/codex"}
    with outsider(rookery, agent="codex", called="codex") as codex:
        codex.tell({**told, "hook_event_name": "SessionStart"})
        codex.tell({**told, "hook_event_name": "UserPromptSubmit", "prompt": "Begin."})
        before = rookery.session("n-codex")

        with outsider(rookery, "app-server", agent="codex", called="sh") as forger:
            forger.tell({**told, "hook_event_name": "Stop", "last_assistant_message": "No."})
        after = rookery.session("n-codex")
        codex.tell({**told, "hook_event_name": "Stop", "last_assistant_message": "Done."})

    assert after == before
    assert answers(rookery, "n-codex") == ["Done."]
