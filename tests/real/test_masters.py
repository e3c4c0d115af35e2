"""Real agents start others, wait for them, and are told in their own panes."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

#: A tool call that the agent asks its person about.
ASKING = "bash: touch made;; say: allowed"

#: Words above which an agent is told what it waited for.
ENVELOPE = "[rookery] Rookery to {}: what you wait for"


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    configure(cold, models.url)
    settings = cold.home.settings
    # They are started by the test, and so are no family.
    settings.write_text('trust.sessions = "all"\n' + settings.read_text())
    cold.up()
    return cold


def call(tool: str, **arguments: Any) -> str:  # noqa: ANN401 - JSON
    """Write what has the scripted model call a tool of ours, and say what came of it."""
    return f"tool: rookery__{tool} {json.dumps(arguments)};; result:"


def start_worker(rookery: Rookery, agent: str, words: str, *, name: str = "worker") -> str:
    """Have the master start a worker. Returns the worker's id."""
    project = str(rookery.project)
    given = {"agent": agent, "project": project, "name": name, "message": words}
    words = call("start_session", computer="local", **given)
    answers: list[str] = []

    def has_started() -> bool:
        """Tell whether it could; Codex goes on while its tools are still being looked for."""
        answers.append(rookery.ask("master", words))
        return "unsupported call" not in answers[-1]

    eventually(has_started)
    assert '"listening":true' in answers[-1].replace(" ", "")
    return str(rookery.session(name)["id"])


def told(rookery: Rookery, name: str = "master") -> list[str]:
    """Return what a session was told by those who watch over what it waits for."""
    turns = rookery.json("output", name)["turns"]
    prompts = [turn["prompt"] for turn in turns if turn["ended_at"]]
    return [each for each in prompts if each.startswith(ENVELOPE.format(name))]


def is_recorded(rookery: Rookery, words: str, name: str = "master") -> bool:
    return any(words in each for each in told(rookery, name))


def finished(rookery: Rookery, worker: str, title: str) -> str:
    computer = rookery.session("worker")["computer"]
    return (
        f'Session {worker} on {computer} "{title}" finished its turn.'
        f" Use rookery__get_session_data(computer='{computer}', session_id='{worker}')"
    )


def last_answer(rookery: Rookery, name: str = "master") -> str:
    return str(rookery.json("output", name)["turns"][-1]["answer"])


def is_idle(rookery: Rookery, name: str) -> bool:
    return bool(rookery.session(name)["activity"] == "idle")


@pytest.mark.spec("E1", "E2", "E6", "I2")
@pytest.mark.parametrize(
    ("master", "worker"), [("claude", "claude"), ("codex", "claude"), ("claude", "codex")]
)
def test_a_master_is_woken_by_its_workers_stop_and_reads_what_it_said(
    rookery: Rookery, master: str, worker: str
) -> None:
    rookery.start("master", agent=master)

    found = start_worker(rookery, worker, "say: these are the worker's words")

    eventually(lambda: len(told(rookery)) == 1)
    words = finished(rookery, found, "say: these are the worker's words")
    assert told(rookery) == [f"{ENVELOPE.format('master')}\n{words}"]
    assert '"answer":"these are the worker\'s words"' in last_answer(rookery)
    assert rookery.session("worker")["parent"] == rookery.session("master")["id"]


@pytest.mark.spec("E2", "D2")
def test_a_master_hears_that_its_worker_asks_and_that_it_went_on(rookery: Rookery) -> None:
    rookery.start("master", agent="claude")
    worker = start_worker(rookery, "claude", ASKING)

    eventually(partial(is_recorded, rookery, f"Session {worker} on"))
    assert is_recorded(rookery, "needs input:")
    rookery.run("allow", "worker")
    eventually(partial(is_recorded, rookery, "finished its turn"))

    assert len(told(rookery)) == 2


@pytest.mark.spec("E2", "D2")
def test_a_master_hears_that_its_worker_was_refused(rookery: Rookery) -> None:
    rookery.start("master", agent="claude")
    start_worker(rookery, "claude", ASKING)
    eventually(partial(is_recorded, rookery, "needs input:"))

    rookery.run("deny", "worker", "--reason", "Not here.")

    # With a reason Claude goes on, and ends its turn by itself.
    eventually(lambda: len(told(rookery)) == 2)
    assert not (rookery.project / "made").exists()


@pytest.mark.spec("E2")
def test_a_master_hears_that_its_worker_was_interrupted(rookery: Rookery) -> None:
    rookery.start("master", agent="claude")
    start_worker(rookery, "claude", "gate: never")
    eventually(lambda: rookery.session("worker")["activity"] == "working")

    rookery.run("interrupt", "worker")

    eventually(partial(is_recorded, rookery, "was interrupted by a person."))
    assert len(told(rookery)) == 1


@pytest.mark.spec("A6", "E2")
@pytest.mark.parametrize(
    ("end", "how"),
    [
        (("kill-pane",), "tmux pane is gone."),
        (("send-signal",), "killed by SIGKILL"),
        (("end",), "killed: asked to end by person"),
    ],
    ids=["its pane vanished", "it was killed", "it was ended"],
)
def test_a_master_hears_how_its_worker_ended(
    rookery: Rookery, end: tuple[str], how: str
) -> None:
    rookery.start("master", agent="claude")
    start_worker(rookery, "claude", "gate: never")
    eventually(lambda: rookery.session("worker")["activity"] == "working")
    pane = str(rookery.session("worker")["tmux_pane"])

    match end:
        case ("kill-pane",):
            rookery.tmux("kill-pane", "-t", pane)
        case ("send-signal",):
            pid = rookery.tmux("display-message", "-p", "-t", pane, "#{pane_pid}").strip()
            rookery.tmux("run-shell", f"kill -9 {pid}")
        case _:
            rookery.run("end", "worker")

    eventually(lambda: len(told(rookery)) == 1)
    assert how in told(rookery)[0]


@pytest.mark.spec("E4", "E6", "A7")
@pytest.mark.parametrize("moment", ["before it is told", "while its worker works"])
def test_a_daemon_that_is_killed_in_between_changes_nothing(
    rookery: Rookery, models: ModelServer, moment: str
) -> None:
    rookery.start("master", agent="claude")
    start_worker(rookery, "claude", "gate: open;; say: at last")
    eventually(lambda: rookery.session("worker")["activity"] == "working")

    rookery.kill()
    if moment == "before it is told":
        models.open_gate("open")
    rookery.up()
    models.open_gate("open")

    eventually(partial(is_recorded, rookery, "finished its turn"))
    assert len(told(rookery)) == 1
    assert "at last" in last_answer(rookery)


@pytest.mark.spec("E1", "I2", "A7")
@pytest.mark.parametrize("moment", ["before it calls", "once it has called"])
def test_a_daemon_that_is_killed_while_a_master_calls_starts_one_worker(
    rookery: Rookery, models: ModelServer, moment: str
) -> None:
    rookery.start("master", agent="claude")
    given = {"agent": "claude", "project": str(rookery.project), "name": "worker"}
    calls = call("start_session", computer="local", message="say: at last", **given)
    rookery.send("master", f"gate: call;; {calls}")
    eventually(lambda: rookery.session("master")["activity"] == "working")

    if moment == "before it calls":
        rookery.kill()
        models.open_gate("call")
    else:
        models.open_gate("call")
        eventually(lambda: count_workers(rookery))
        rookery.kill()
    rookery.up()

    eventually(partial(is_recorded, rookery, "finished its turn"))
    assert count_workers(rookery) == len(told(rookery)) == 1
    assert "at last" in last_answer(rookery)


def count_workers(rookery: Rookery) -> int:
    with rookery.database() as db:
        query = "select count(*) from sessions where parent is not null"
        return int(db.execute(query).fetchone()[0])


@pytest.mark.spec("E6", "B0")
def test_a_master_that_is_busy_or_asks_is_told_once_afterwards(
    rookery: Rookery, models: ModelServer
) -> None:
    rookery.start("master", agent="claude")
    start_worker(rookery, "claude", "gate: worker;; say: done")
    rookery.send("master", ASKING)
    eventually(lambda: rookery.session("master")["activity"] == "permission")
    eventually(lambda: any(record.gate == "worker" for record in models.log))
    models.open_gate("worker")
    eventually(partial(is_idle, rookery, "worker"))
    early = told(rookery)

    rookery.run("allow", "master")

    eventually(partial(is_recorded, rookery, "finished its turn"))
    assert early == []
    assert len(told(rookery)) == 1
    assert (rookery.project / "made").exists()


@pytest.mark.spec("E7")
def test_a_message_to_a_busy_worker_is_answered_for_by_the_turn_that_took_it(
    rookery: Rookery, models: ModelServer
) -> None:
    rookery.start("master", agent="claude")
    rookery.start("worker", agent="claude")
    rookery.send("worker", "gate: first;; say: the person's")
    eventually(lambda: rookery.session("worker")["activity"] == "working")
    worker = rookery.session("worker")["id"]

    rookery.ask(
        "master",
        call("send_message", computer="local", session_id=worker, message="say: the master's"),
    )
    models.open_gate("first")

    eventually(partial(is_recorded, rookery, "finished its turn"))
    assert len(told(rookery)) == 1
    assert rookery.json("output", "worker")["turns"][-1]["answer"] == "the master's"
    assert "the master's" in last_answer(rookery)


@pytest.mark.spec("E1")
def test_four_masters_of_one_worker_are_each_told_once(rookery: Rookery) -> None:
    rookery.start("worker")
    names = ["claude", "codex", "one", "two"]
    for name in names:
        rookery.start(name, agent=name if name in {"claude", "codex"} else "demo")
        rookery.client.post("listeners", targets=["worker"], caller=name)

    rookery.send("worker", "say: done")

    for name in names:
        eventually(partial(is_recorded, rookery, "finished its turn", name))
    assert [len(told(rookery, name)) for name in names] == [1, 1, 1, 1]


@pytest.mark.spec("E6")
def test_one_master_of_twenty_is_told_of_all_in_few_words(rookery: Rookery) -> None:
    rookery.start("master", agent="claude")
    kinds = ["claude", "codex", *["demo"] * 18]
    names = [f"worker-{number}" for number in range(20)]
    for name, kind in zip(names, kinds, strict=True):
        rookery.start(name, agent=kind)
    rookery.client.post("listeners", targets=names, caller="master")

    for name in names:
        rookery.send(name, "say: done")

    def are_all_told() -> bool:
        text = "\n".join(told(rookery))
        return text.count("finished its turn") == len(names)

    eventually(are_all_told, within=90.0)
    text = "\n".join(told(rookery))
    ids = [rookery.session(name)["id"] for name in names]
    assert [text.count(f"Session {each} on") for each in ids] == [1] * 20
    assert len(told(rookery)) < 12


@pytest.mark.spec("E7")
def test_a_master_waits_for_all_of_several_and_is_told_once(rookery: Rookery) -> None:
    rookery.start("master", agent="claude")
    names = ["one", "two", "three"]
    for name in names:
        rookery.start(name)
    rookery.client.post("listeners", targets=names, caller="master", needed="all")

    for name in names:
        rookery.ask(name, "say: done")

    eventually(lambda: told(rookery))
    ((news),) = told(rookery)
    assert news.count("finished its turn") == 3


@pytest.mark.spec("I2")
def test_who_is_started_without_tools_has_none(rookery: Rookery) -> None:
    start = ("start", "--agent", "claude", "--project", str(rookery.project), "--wait")
    rookery.run(*start, "--name", "without", "--no-tools")
    rookery.run(*start, "--name", "with")

    answers = [rookery.ask(name, call("list_computers")) for name in ("without", "with")]

    assert "No such tool" in answers[0]
    assert '"computers":' in answers[1]


@pytest.mark.spec("E2", "D5")
@pytest.mark.parametrize("mode", ["local", "remote"])
def test_a_master_answers_its_workers_question_by_the_tool_that_it_is_told(
    rookery: Rookery, mode: str
) -> None:
    rookery.json("mode", mode)
    rookery.start("master", agent="claude")
    options = [
        {"label": "Red", "description": "warm"},
        {"label": "Blue", "description": "cold"},
    ]
    question = {"question": "Which colour?", "header": "Colour", "options": options}
    asking = {"questions": [{**question, "multiSelect": False}]}
    start_worker(rookery, "claude", f"tool: AskUserQuestion {json.dumps(asking)};; result:")

    eventually(partial(is_recorded, rookery, "needs input:"))
    eventually(partial(is_recorded, rookery, "finished its turn"))

    (asked,) = (each for each in told(rookery) if "needs input:" in each)
    assert "Which colour? (1. Red, 2. Blue) Use rookery__send_message(" in asked
    assert '"Which colour?"="Blue"' in last_answer(rookery, "worker")
    (kept,) = rookery.json("audit")["decisions"]
    assert (kept["decision"], kept["reason"]) == ("answered", "Blue")
    assert kept["by"].startswith("session ")
