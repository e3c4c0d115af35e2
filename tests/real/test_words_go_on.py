"""Words reach the real Claude Code and Codex whatever stood in their boxes before."""

from __future__ import annotations

import pytest

from rookery.agents.claude.agent import CLAUDE
from rookery.model.errors import Answered
from rookery.model.messages import same_words
from tests.support.real.agent_cases import prompts
from tests.support.real.agents import configure
from tests.support.real.more_agents import waits_at
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

#: Words that Claude Code rewrites, each in a way of its own.
REWRITTEN = (
    "say: a\tb",
    "say: trailing blanks   ",
    "say: zero\u200bwidth, joined\u2060words, mark\ufeffed, soft\u00adhyphen",
    "say: a tag \U000e0041 here",
    "say: turned \u202eround\u202c and \u2066isolated\u2069, left\u200e right\u200f",
    "say: cafe\u0301 \u1112\u1161\u11ab",
    "say: one line\u2028another",
    "say: 👩\u200d👧 ❤\ufe0f \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
)


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    configure(cold, models.url)
    cold.up()
    return cold


def wedge(rookery: Rookery, models: ModelServer, gate: str, more: str = "") -> None:
    """Have Claude put a prompt back into its box: interrupted before its first output."""
    rookery.send("it", f"gate: {gate};; say: never{more}")
    eventually(lambda: waits_at(models, gate))
    # Claude may ask for a title with the same text, before its hook reports the prompt.
    eventually(lambda: rookery.session("it")["activity"] == "working")
    rookery.client.post("sessions", "it", "interrupt")


@pytest.mark.spec("B0", "B2")
@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("claude", "say: hi. In the editor press Enter to confirm"),
        ("claude", "say: hi\nEsc to cancel"),
        ("codex", "say: hi enter/tab insert · esc close"),
        ("codex", "say: hi\n\npress enter to confirm or esc to cancel"),
    ],
)
def test_words_that_look_like_a_part_of_a_dialog_are_submitted(
    rookery: Rookery, agent: str, words: str
) -> None:
    rookery.start("it", agent=agent)

    assert rookery.ask("it", words).startswith("hi")


@pytest.mark.spec("B2", "B5")
def test_after_an_early_interrupt_of_claude_the_next_words_are_answered(
    rookery: Rookery, models: ModelServer
) -> None:
    rookery.start("it", agent="claude")

    answers = []
    for number, more in enumerate(("", "\nand\nmore", "\n" + "a long line\n" * 70)):
        wedge(rookery, models, f"g{number}", more)
        # At once: it may not have put its prompt back yet.
        answers.append(rookery.ask("it", f"say: answer {number}"))

    assert answers == ["answer 0", "answer 1", "answer 2"]
    assert prompts(rookery, "it")[1::2] == ["say: answer 0", "say: answer 1", "say: answer 2"]


@pytest.mark.spec("B0")
def test_what_a_person_makes_of_an_interrupted_prompt_is_left_alone(
    rookery: Rookery, models: ModelServer
) -> None:
    pane = str(rookery.start("it", agent="claude")["tmux_pane"])
    wedge(rookery, models, "g")
    eventually(lambda: rookery.session("it")["activity"] == "idle")
    eventually(lambda: "gate: g;; say: never" in rookery.screen("it"))
    rookery.tmux("send-keys", "-t", pane, "-l", " mind")
    eventually(lambda: "never mind" in rookery.screen("it"))

    message = rookery.send("it", "say: later")
    eventually(lambda: "unsent text" in rookery.step(message)[1])

    assert "never mind" in rookery.screen("it")


@pytest.mark.spec("B2")
def test_a_command_that_codex_does_not_know_fails_with_its_reason(rookery: Rookery) -> None:
    rookery.start("it", agent="codex")

    refused = rookery.send("it", "/notacommand hello")
    answer = rookery.ask("it", "say: I follow")
    step, reason = rookery.step(refused)
    screen = rookery.screen("it")

    assert answer == "I follow"
    assert step == "failed"
    assert reason.startswith("codex refused it: Unrecognized command '/notacommand'")
    assert screen.count("Unrecognized command") == 1


@pytest.mark.spec("B2", "I2")
def test_the_first_words_to_claude_find_our_tools(rookery: Rookery) -> None:
    asked = "saw: mcp__rookery__start_session"
    project = str(rookery.project)

    rookery.client.post("sessions", agent="claude", name="it", project=project, prompt=asked)
    rookery.run("wait", "it", "--timeout", "60")
    (turn,) = rookery.client.get("sessions", "it", "turns")["turns"]
    events = rookery.run("events", "--no-follow").stdout

    assert turn["answer"].endswith(": yes")
    assert events.index("ToolsListed") < events.index("turn-started")


@pytest.mark.spec("B2", "K3")
def test_words_that_claude_rewrites_are_acknowledged_and_the_receipt_says_what_it_changed(
    rookery: Rookery,
) -> None:
    rookery.start("it", agent="claude")

    receipts = []
    for words in REWRITTEN:
        sent = rookery.client.post("sessions", "it", "messages", words=words)
        rookery.client.get("messages", str(sent["id"]), "answer", timeout=60)
        receipts.append(sent["changed"])
    found = prompts(rookery, "it")

    assert found == [CLAUDE.input.rewriting.rewritten(each) for each in REWRITTEN]
    assert all(map(same_words, found, REWRITTEN))
    assert receipts == [CLAUDE.input.rewriting.changes(each) for each in REWRITTEN]
    assert all(receipts[:-1])
    assert rookery.run("send", "it", "say: x\u200by").stdout.endswith(
        "Its program changes the text: 1 invisible character is removed.\n"
    )


@pytest.mark.spec("B0")
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_words_wait_while_the_history_is_searched_and_arrive_once(
    rookery: Rookery, agent: str
) -> None:
    pane = str(rookery.start("it", agent=agent)["tmux_pane"])
    rookery.tmux("send-keys", "-t", pane, "C-r")
    eventually(lambda: "search" in rookery.screen("it"))

    message = rookery.send("it", "say: w")
    eventually(lambda: "history" in rookery.step(message)[1])
    step, why = rookery.step(message)
    untouched = rookery.screen("it")
    rookery.tmux("send-keys", "-t", pane, "Escape")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")

    assert (step, why) == ("pending", "Nothing was typed, because its history search is open.")
    assert "say: w" not in untouched
    assert prompts(rookery, "it") == ["say: w"]


@pytest.mark.spec("B2")
def test_no_invisible_character_makes_claude_run_words_as_a_shell_command(
    rookery: Rookery,
) -> None:
    rookery.start("it", agent="claude")

    for unseen in ("\u2066", "\u202e", "\u200b", "\ufeff\u202a"):
        with pytest.raises(Answered, match="shell command"):
            rookery.client.post(
                "sessions", "it", "messages", words=f"{unseen}!touch {rookery.project}/made"
            )

    assert rookery.ask("it", "say: I follow") == "I follow"
    assert not (rookery.project / "made").exists()


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("agent", "unknown", "offered"), [("claude", "/co", "/copy"), ("codex", "/mod", "/model")]
)
def test_a_command_is_given_as_it_is_typed_and_never_as_what_is_offered_for_it(
    rookery: Rookery, agent: str, unknown: str, offered: str
) -> None:
    pane = str(rookery.start("it", agent=agent)["tmux_pane"])

    known = rookery.send("it", "/model")
    eventually(lambda: rookery.step(known)[0] == "acknowledged")
    eventually(lambda: "esc" in rookery.screen("it").lower())
    rookery.tmux("send-keys", "-t", pane, "Escape")
    refused = rookery.send("it", unknown)
    answer = rookery.ask("it", "say: I follow")

    assert answer == "I follow"
    reason = f"{agent} has no {unknown}; Enter would take {offered}."
    assert rookery.step(refused) == ("failed", reason)
