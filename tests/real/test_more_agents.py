"""The real Gemini CLI and OpenCode, in real panes: all that is known is on their screens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.models.asides import Kind
from tests.models.server import ModelServer
from tests.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(300)]

PROGRAMS = Path(__file__).parents[1] / "agents" / "more" / "node_modules" / ".bin"

#: Seconds for a program that needs several to start, while others do so too.
SLOWLY = 90.0


@dataclass(frozen=True)
class Case:
    """What differs between the two."""

    agent: str
    model: str
    dialog: str  #: stands on the screen while it asks
    yes: str
    no: str


CASES = [
    Case("gemini", "gemini-2.5-flash", "Allow once", "enter", "escape"),
    Case("opencode", "fake/fake-model", "Permission required", "enter", "escape"),
]


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(params=CASES, ids=[case.agent for case in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    assert (PROGRAMS / found.agent).exists(), "make test-agents installs it"
    return found


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    gemini, opencode = cold.folder / "gemini", cold.folder / "opencode"
    seed_gemini(gemini, cold.project)
    seed_opencode(opencode, models.url)
    cold.configure(
        agent_settings(
            "gemini",
            {
                "HOME": str(gemini),
                "GEMINI_API_KEY": "x",
                "GOOGLE_GEMINI_BASE_URL": models.url,
                "GEMINI_CLI_NO_RELAUNCH": "true",
            },
        )
        + agent_settings(
            "opencode",
            {
                "HOME": str(opencode),
                "XDG_CONFIG_HOME": str(opencode / "config"),
                "XDG_DATA_HOME": str(opencode / "data"),
                "XDG_STATE_HOME": str(opencode / "state"),
                "XDG_CACHE_HOME": str(opencode / "cache"),
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            },
        )
    )
    cold.up()
    return cold


def agent_settings(agent: str, environment: Mapping[str, str]) -> str:
    lines = [f"[agents.{agent}]", f"command = [{json.dumps(str(PROGRAMS / agent))}]"]
    lines.append(f"[agents.{agent}.environment]")
    lines += [f"{name} = {json.dumps(value)}" for name, value in environment.items()]
    return "\n".join(lines) + "\n"


def seed_gemini(home: Path, project: Path) -> None:
    """Answer beforehand what Gemini CLI asks at its first start, for this folder only."""
    folder = home / ".gemini"
    folder.mkdir(parents=True)
    settings = {
        "security": {
            "auth": {"selectedType": "gemini-api-key"},
            "folderTrust": {"enabled": True},
        },
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "ide": {"enabled": False, "hasSeenNudge": True},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    trusted = {str(project.resolve()): "TRUST_FOLDER"}
    (folder / "trustedFolders.json").write_text(json.dumps(trusted))


def seed_opencode(home: Path, models: str) -> None:
    folder = home / "config" / "opencode"
    folder.mkdir(parents=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{models}/v1", "apiKey": "x"},
        "models": {
            "fake-model": {
                "name": "Fake",
                "tool_call": True,
                "limit": {"context": 200_000, "output": 8_000},
            }
        },
    }
    settings = {
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"fake": provider},
        "permission": {"bash": "ask", "edit": "ask"},
    }
    (folder / "opencode.json").write_text(json.dumps(settings))


def start(rookery: Rookery, case: Case, **more: object) -> dict[str, object]:
    """Start it and wait until it is up."""
    given = {"agent": case.agent, "name": "it", "model": case.model, **more}
    rookery.client.post("sessions", **{"project": str(rookery.project), **given})
    found: dict[str, object] = rookery.client.get(
        "sessions", "it", "wait", until="up", timeout=SLOWLY
    )
    return found


def heard(models: ModelServer) -> list[str]:
    """Return the prompts that the model was asked to answer, in their order."""
    plans = [record.plan for record in models.log]
    return [
        plan.prompt.text
        for plan in plans
        if plan and plan.kind is Kind.SCRIPT and plan.response == 0
    ]


def waits_at(models: ModelServer, gate: str) -> bool:
    return any(record.gate == gate for record in models.log)


def is_(rookery: Rookery, activity: str) -> bool:
    (listed,) = rookery.json("ls")["sessions"]
    return bool(listed["activity"] == activity)


@pytest.mark.spec("A1", "A3", "B2")
def test_an_agent_without_hooks_comes_up_hears_each_prompt_once_and_ends(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    started = start(rookery, case)
    sent = [f"say: answer {number}" for number in range(3)]
    sent.append("say: long\n" + "a line of a long paste\n" * 40 + "end")

    for words in sent:
        rookery.ask("it", words, timeout=SLOWLY)
    ended = rookery.json("end", "it")

    assert (started["status"], started["activity"]) == ("running", "idle")
    assert heard(models) == sent
    assert (ended["status"], ended["ended_by"]) == ("killed", "person")


@pytest.mark.spec("A2")
def test_its_screen_tells_that_it_works_and_that_it_is_done(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    start(rookery, case)

    for name in ("first", "second"):
        message = rookery.send("it", f"gate: {name};; say: it was {name}")
        eventually(partial(waits_at, models, name), within=SLOWLY)
        eventually(lambda: is_(rookery, "working"))
        models.open_gate(name)
        eventually(lambda: is_(rookery, "idle"))
        assert rookery.step(message)[0] == "acknowledged"

    turns = rookery.client.get("sessions", "it", "turns")["turns"]
    assert [turn["prompt"] for turn in turns if turn["prompt"]] == heard(models)


@pytest.mark.spec("B2")
def test_words_arrive_exactly_and_none_of_them_is_run(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    start(rookery, case)
    sent = [
        "!touch pwned",
        " !touch pwned",
        "say: ends in a backslash \\",
        "say: $(touch pwned) `touch pwned` '; touch pwned; '",
        "say: äöü 漢字 🙂 -- --settings=x ;",
        "/etc is no command here",
    ]

    for words in sent:
        rookery.ask("it", words, timeout=SLOWLY)

    assert [each.split() for each in heard(models)] == [each.split() for each in sent]
    assert not (rookery.project / "pwned").exists()


@pytest.mark.spec("A2", "B0", "B5")
def test_words_sent_while_it_asks_answer_nothing_and_arrive_once_after_it(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    start(rookery, case)
    asking = "bash: touch made;; say: allowed"

    rookery.send("it", asking)
    eventually(lambda: is_(rookery, "permission"), within=SLOWLY)
    messages = [rookery.send("it", f"say: number {number}") for number in range(3)]
    steps = {rookery.step(message)[0] for message in messages}
    on_screen, done_before = rookery.screen("it"), (rookery.project / "made").exists()
    pressed = rookery.run("keys", "it", case.yes)
    eventually(lambda: {rookery.step(each)[0] for each in messages} == {"acknowledged"})
    eventually(lambda: is_(rookery, "idle"))

    assert steps == {"pending"}
    assert case.dialog in on_screen
    assert not done_before
    assert pressed.returncode == 0
    assert (rookery.project / "made").exists()
    assert "\n\n".join(heard(models)).split("\n\n") == [
        asking,
        *(f"say: number {number}" for number in range(3)),
    ]


@pytest.mark.spec("A2")
def test_a_refusal_at_the_keyboard_ends_the_turn(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    start(rookery, case)

    rookery.send("it", "bash: touch made;; say: allowed")
    eventually(lambda: is_(rookery, "permission"), within=SLOWLY)
    rookery.run("keys", "it", case.no)
    eventually(lambda: is_(rookery, "idle"))
    rookery.ask("it", "say: and on", timeout=SLOWLY)

    assert not (rookery.project / "made").exists()
    assert heard(models)[-1] == "say: and on"


@pytest.mark.spec("A3")
def test_a_folder_that_gemini_does_not_trust_is_asked_about_and_nothing_is_typed(
    rookery: Rookery,
) -> None:
    stranger = rookery.folder / "stranger"
    stranger.mkdir()

    session = start(rookery, CASES[0], project=str(stranger), prompt="say: hello")
    asked = rookery.screen("it")

    assert session["activity"] == "question"
    assert "trust" in str(session["reason"])
    assert "say: hello" not in asked
