"""What the commands for agents together say, and what they ask."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from rookery.cli.blocked import BlockedNotices
from rookery.cli.daemon_waits import WaitGoal, WaitPlan, gathered, goes_on
from rookery.cli.options import examples
from rookery.cli.render import local
from rookery.cli.root import rookery
from rookery.client.messages import MessageInfo
from rookery.model.errors import Answered, BadInput
from rookery.presentation.deliveries import HELD, delivery_text
from tests.support.cli import Scripted, made, session, typed

#: Long enough ago that a slow machine tells the same time.
THEN = (datetime.now(UTC) - timedelta(minutes=150)).isoformat()
EVIL = "\x1b]0;owned\x07\x1b[2Jred"

#: What a message waits for, as the daemon tells it.
OCCUPIED = "Nothing was typed, because it scrolls."

#: The id of a session that is called otherwise.
PLANNER = "0f8a3c1e-58d4-4b5e-9a53-0c8de7d2a111"
STRANGER = "7b1d2c3e-58d4-4b5e-9a53-0c8de7d2a222"


def sessions(*names: str) -> dict[str, object]:
    return {"sessions": [made(name) for name in names]}


def letter(**more: object) -> dict[str, object]:
    author = f"session {PLANNER}"
    usual = {"message": 7, "session": "worker", "author": author, "words": "Hello"}
    return {**usual, "step": "pending", "waits_for": "", "written_at": THEN, **more}


@pytest.fixture
def daemon() -> Scripted:
    known = [made("anna"), made("worker"), made("planner", id=PLANNER)]
    return Scripted(sessions={"sessions": known})


@pytest.mark.spec("E1", "I5")
def test_who_waits_for_whom_is_told_in_sentences(
    daemon: Scripted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = {"caller": "anna", "target": "worker", "until": "stop", "is_lasting": False}
    more = {**one, "target": "forgotten-long-ago", "until": "end", "is_lasting": True}
    daemon.answers["listeners"] = {
        "listeners": [
            {**one, "wait": None, "since": THEN},
            {**more, "wait": None, "since": THEN},
        ],
        "waits": [],
    }

    typed(monkeypatch, daemon, "listen")

    assert capsys.readouterr().out.splitlines() == [
        "anna waits for worker to stop; since 2h",
        "anna waits for forgotte to end again and again; since 2h",
    ]


@pytest.mark.spec("E7", "I5")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "once all 3 are there"),
        ({"needed": 1}, "once any of 3 is there"),
        ({"needed": 2, "there": 1}, "once 2 of 3 are there (1 so far)"),
        ({"needed": 1, "of": 1, "deadline": THEN}, f"at {local(THEN)} at the latest"),
        ({"deadline": THEN}, f"once all 3 are there or at {local(THEN)} at the latest"),
    ],
    ids=["all", "any", "some", "a deadline", "all or a deadline"],
)
def test_of_one_that_waits_for_several_it_is_said_when_it_is_told(
    daemon: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    known: dict[str, object],
    said: str,
) -> None:
    one = {"caller": "anna", "target": "worker", "until": "any", "is_lasting": False}
    wait = {"id": 3, "needed": 3, "of": 3, "there": 0, "deadline": None, **known}
    daemon.answers["listeners"] = {
        "listeners": [{**one, "wait": 3, "since": THEN}],
        "waits": [wait],
    }

    typed(monkeypatch, daemon, "listen")

    what = "to stop, to need input or to end"
    told = capsys.readouterr().out
    assert told == f"anna waits for worker {what}, told {said}; since 2h\n"


@pytest.mark.spec("E7", "I5")
@pytest.mark.parametrize(
    ("words", "needed"),
    [([], "each"), (["--all"], "all"), (["--any"], "any"), (["--count", "2"], 2)],
)
def test_how_many_are_enough_is_asked_for(
    daemon: Scripted, monkeypatch: pytest.MonkeyPatch, words: list[str], needed: object
) -> None:
    daemon.answers["listeners"] = {
        "listeners": [{"target": "worker", "listening": True, "reason": ""}]
    }

    typed(monkeypatch, daemon, "listen", "worker", "other", "--for", "anna", *words)

    path, asked = daemon.asked[0]
    assert path == ("listeners",)
    assert (asked["targets"], asked["caller"], asked["needed"]) == (
        ("worker", "other"),
        "anna",
        needed,
    )


@pytest.mark.spec("E1", "I5")
def test_waiting_for_nothing_new_is_a_failure_that_says_why(
    daemon: Scripted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.answers["listeners"] = {
        "listeners": [{"target": "worker", "listening": False, "reason": "it is over"}]
    }

    assert typed(monkeypatch, daemon, "listen", "worker", "--for", "anna") == 1
    assert capsys.readouterr().out == "worker: it is over\n"


class Refusing(Scripted):
    """A client whose daemon refuses what it is asked, and says what is missing."""

    def __init__(self, **details: str) -> None:
        super().__init__()
        self.details = details

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        raise Answered("bad-input", "Refused.", **self.details)


@pytest.mark.spec("E1", "I5")
@pytest.mark.parametrize("words", [["worker"], ["worker", "--stop"]])
@pytest.mark.parametrize(
    ("details", "said"),
    [
        (
            {"missing": "caller"},
            "You are not a session: name the one to notify:  --for SESSION",
        ),
        ({}, "Refused."),
    ],
)
def test_a_person_is_told_how_to_name_the_session_that_waits(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    details: dict[str, str],
    said: str,
) -> None:
    assert typed(monkeypatch, Refusing(**details), "listen", *words) == 2
    assert capsys.readouterr().err == f"rookery: {said}\n"


@pytest.mark.spec("E5", "I5")
def test_of_one_that_is_over_a_person_is_told_no_ids(
    daemon: Scripted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    over = made("it", id=PLANNER, ended_at=THEN, status="failed", reason="exit 1; it said:\nx")
    daemon.answers["sessions"] = {"sessions": [over]}
    reason = f"Session {PLANNER} on here failed. Use rookery__get_session_data(...)"
    daemon.answers["listeners"] = {
        "listeners": [{"target": PLANNER, "listening": False, "reason": reason}]
    }

    assert typed(monkeypatch, daemon, "listen", "it", "--for", "anna") == 1
    assert capsys.readouterr().out == "it: it has failed: exit 1\n"


@pytest.mark.spec("I5")
def test_one_way_of_counting_is_enough() -> None:
    with pytest.raises(BadInput, match="--all, --any and --count"):
        WaitGoal(every=True, some=True, number=None).of(["a"], otherwise="all")


@pytest.mark.spec("I5")
def test_more_than_are_named_cannot_be_waited_for() -> None:
    enough = WaitGoal(every=False, some=False, number=3)

    with pytest.raises(BadInput, match="--count is 3, but only 2 sessions are named"):
        enough.of(["a", "b"], otherwise="all")
    assert enough.of(["a", "b", "c"], otherwise="all") == 3


@pytest.mark.spec("E6", "F4", "I5")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "waits, it is being delivered."),
        ({"waits_for": OCCUPIED, "obstacle": "it scrolls."}, "waits, it scrolls."),
        ({"session": "gone"}, "waits"),
        ({"step": "submitted"}, "it is being delivered"),
        ({"step": "unsure"}, "it may not have arrived."),
        ({"step": "failed", "waits_for": "It is over."}, "not delivered. It is over."),
    ],
)
def test_an_inbox_says_why_words_were_not_heard(
    daemon: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    known: dict[str, object],
    said: str,
) -> None:
    daemon.answers["inbox"] = {"letters": [letter(**known)], "holding": False}

    typed(monkeypatch, daemon, "inbox")

    head, words = capsys.readouterr().out.splitlines()
    assert head == f"7  to {known.get('session', 'worker')}, from planner, 2h ago: {said}"
    assert words == "    Hello"


@pytest.mark.spec("F4", "I5")
def test_an_inbox_says_that_words_are_held(
    daemon: Scripted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.answers["inbox"] = {"letters": [letter()], "holding": True}

    typed(monkeypatch, daemon, "inbox")

    above, head, _ = capsys.readouterr().out.splitlines()
    assert above == HELD
    assert head.endswith(": waits, deliveries are on hold.")


@pytest.mark.spec("F4", "I5")
def test_words_that_are_held_are_said_to_be() -> None:
    pending, submitted = (MessageInfo(id=7, step=each) for each in ("pending", "submitted"))

    assert delivery_text(pending, session("a"), held=True) == f"Queued (7). {HELD}"
    assert delivery_text(submitted, session("a"), held=True) == "Sent."


@pytest.mark.spec("F1", "I5")
@pytest.mark.parametrize(
    ("words", "path"),
    [
        ([], ("relays",)),
        (["--json"], ("relays",)),
        (["show", "r1", "--json"], ("relays", "r1")),
        (["close", "r1", "--json"], ("relays", "r1", "close")),
        (["join", "r1", "anna", "--json"], ("relays", "r1", "join")),
    ],
)
def test_a_relay_without_names_is_the_list_and_its_commands_are_its_own(
    daemon: Scripted, monkeypatch: pytest.MonkeyPatch, words: list[str], path: tuple[str, ...]
) -> None:
    daemon.answers["relays"] = {"relays": []}

    assert not typed(monkeypatch, daemon, "relay", *words)
    assert daemon.asked[0][0] == path


@pytest.mark.spec("F1", "I5")
@pytest.mark.parametrize(
    "words",
    [
        ["anna", "worker", "--as", "Ann", "--max-hops", "3", "--json"],
        ["--max-hops", "3", "--json", "--as", "Ann", "anna", "worker"],
        ["new", "anna", "worker", "--as", "Ann", "--max-hops", "3", "--json"],
    ],
)
def test_names_are_a_new_relay(
    daemon: Scripted, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    daemon.answers["relays"] = {}

    assert not typed(monkeypatch, daemon, "relay", *words)
    assert daemon.asked[0][1] == {
        "members": [{"session": "anna", "name": "Ann"}, {"session": "worker", "name": ""}],
        "max_hops": 3,
        "max_a_minute": None,
    }


@pytest.mark.spec("F1", "I5")
@pytest.mark.parametrize("words", [["anna"], ["anna", "bert", *(["--as", "x"] * 3)]])
def test_a_relay_that_cannot_be_is_refused_before_anybody_is_asked(
    daemon: Scripted, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    assert typed(monkeypatch, daemon, "relay", *words) == 2
    assert daemon.asked == []


@pytest.mark.spec("F4", "I5")
@pytest.mark.parametrize(("words", "path"), [(["ls"], "relays"), (["close", "r1"], "")])
def test_whoever_closed_a_relay_is_named(
    daemon: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    path: str,
) -> None:
    member = {"session": "anna", "name": "Ann", "left_at": THEN}
    closed = {"closed_at": THEN, "reason": f"closed by session {PLANNER}"}
    relay = {"id": "r1", "members": [member], **closed}
    daemon.answers["relays"] = {path: [relay]} if path else relay

    typed(monkeypatch, daemon, "relay", *words)

    told = capsys.readouterr().out
    assert "closed by planner" in told
    assert PLANNER not in told


@pytest.mark.spec("D4", "I5")
@pytest.mark.parametrize("words", [("permissions", "--all"), ("audit",)])
def test_whoever_decided_is_named(
    daemon: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    by = f"session {PLANNER}"
    asked = {"id": "r1", "session": "anna", "asked_at": THEN, "message": "May it?"}
    request = {**asked, "outcome": "allowed", "answered_by": by, "kind": "permission"}
    shown = {"input": {}, "missed": False, "deadline": None, "source": "hook", "questions": []}
    decided = {"at": THEN, "session": "anna", "by": by, "rule": "", "decision": "allowed"}
    decided["reason"] = "It is harmless."
    daemon.answers |= {
        "permissions": {
            "trouble": "",
            "on_timeout": "deny",
            "requests": [{**request, **shown}],
        },
        "audit": {"decisions": [{**decided, "tool": "Bash", "input": {}}]},
    }

    typed(monkeypatch, daemon, *words)

    told = capsys.readouterr().out
    assert "anna" in told
    assert "planner" in told
    assert PLANNER not in told


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("permissions", "--all"), ("anna", PLANNER)),
        (("audit",), ("anna", PLANNER)),
        (("listen",), ("anna", "worker")),
        (("listen", "worker", "--for", "anna"), ("worker",)),
        (("inbox",), (PLANNER, "worker")),
        (("relay", "ls"), (PLANNER,)),
        (("relay", "show", "r1"), ("anna", PLANNER)),
        (("relay", "close", "r1"), (PLANNER,)),
    ],
    ids=" ".join,
)
def test_a_command_asks_only_for_the_sessions_that_it_names(
    daemon: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    asked: tuple[str, ...],
) -> None:
    by = f"session {PLANNER}"
    request: dict[str, Any] = {
        "id": "r1",
        "session": "anna",
        "asked_at": THEN,
        "message": "May it?",
    }
    request |= {"outcome": "allowed", "answered_by": by, "kind": "permission", "input": {}}
    request |= {"missed": False, "deadline": None, "source": "hook", "questions": []}
    decided: dict[str, Any] = {
        "at": THEN,
        "session": "anna",
        "by": by,
        "rule": "",
        "decision": "allowed",
    }
    decided |= {"reason": "", "tool": "Bash", "input": {}}
    waits: dict[str, Any] = {
        "caller": "anna",
        "target": "worker",
        "until": "stop",
        "is_lasting": False,
    }
    waits |= {"wait": None, "since": THEN, "listening": True, "reason": ""}
    member: dict[str, Any] = {"session": "anna", "name": "Ann", "left_at": THEN, "number": 1}
    relay: dict[str, Any] = {
        "id": "r1",
        "members": [member],
        "closed_at": THEN,
        "reason": f"closed by {by}",
    }
    relay |= {"created_by": "person", "created_at": THEN, "stayed": ""}
    answers: dict[str, Any] = {
        "ls": {"relays": [relay]},
        "show": {"relay": relay, "said": []},
        "close": relay,
    }
    daemon.answers |= {
        "permissions": {"trouble": "", "on_timeout": "deny", "requests": [request]},
        "audit": {"decisions": [decided]},
        "listeners": {"listeners": [waits], "waits": []},
        "inbox": {"letters": [letter()], "holding": False},
        "relays": answers.get(words[1] if len(words) > 1 else ""),
    }

    typed(monkeypatch, daemon, *words)

    queries = [query for path, query in daemon.asked if path == ("sessions",)]
    assert queries == [{"ids": tuple(sorted(asked))}]


@pytest.mark.spec("F4", "I5")
@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("closed by person", "Relay r1 is closed by you.\n"),
        ("bert has ended", "Relay r1 is closed: bert has ended.\n"),
    ],
)
def test_it_is_said_once_that_a_relay_is_closed(
    daemon: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reason: str,
    said: str,
) -> None:
    daemon.answers["relays"] = {"id": "r1", "closed_at": THEN, "reason": reason}

    typed(monkeypatch, daemon, "relay", "close", "r1")

    assert capsys.readouterr().out == said


@pytest.mark.spec("F2", "I5", "K2")
def test_an_exchange_is_printed_with_who_has_not_got_it_and_why_it_stopped(
    daemon: Scripted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    member = {"since": 0, "left_at": None}
    relay = {
        "id": "r1",
        "created_at": THEN,
        "created_by": f"session {STRANGER}",
        "closed_at": None,
        "reason": "",
        "stayed": "8 relayed answers in a row",
        "limits": {"hops": 8},
        "members": [
            {**member, "session": "anna", "name": "Ann", "number": 1},
            {**member, "session": "worker", "name": "worker", "number": 2},
        ],
    }
    words = f"[Ann] (1):\n\nFirst\n{EVIL}"
    said = {"at": THEN, "session": "anna", "words": words, "missing": ["worker"]}
    daemon.answers["relays"] = {"relay": relay, "said": [said]}

    typed(monkeypatch, daemon, "relay", "show", "r1")

    told = capsys.readouterr().out
    assert f"By {STRANGER[:8]}, at " in told.splitlines()[0]
    assert told.splitlines()[1:3] == ["  1. Ann: anna", "  2. worker: worker"]
    assert "  [Ann] (1):\n    First\n    ]0;owned[2Jred\n" in told
    assert "    (worker has not received it yet)\n" in told
    assert told.endswith("The last answer went no further: 8 relayed answers in a row.\n")
    assert not set(told) & set("\x1b\x07")


@pytest.mark.spec("I5")
def test_a_shell_completes_the_commands_of_a_relay_and_the_names_for_a_new_one() -> None:
    daemon = Scripted(sessions=sessions("anna", "jo"), relays={"relays": [{"id": "4f2a"}]})
    shell = ShellComplete(rookery, {"obj": daemon}, "rookery", "_X")

    begun, second, known = (
        [each.value for each in shell.get_completions(["relay", *words], incomplete)]
        for words, incomplete in (([], "j"), (["anna"], "a"), (["show"], "4"))
    )

    assert (begun, second, known) == (["join", "jo"], ["anna"], ["4f2a"])


@pytest.mark.spec("E7", "I5")
def test_sessions_are_given_as_they_get_there_until_there_are_enough() -> None:
    a, b, c = (made(name) for name in "abc")
    daemon = Scripted(wait=[{"there": [b], "awaited": [a, c]}, {"there": [a], "awaited": [c]}])

    there = list(gathered(daemon, ["a", "b", "c"], WaitPlan(2, "stop", None)))

    assert [each.name for each in there] == ["b", "a"]
    assert [asked["sessions"] for _, asked in daemon.asked] == [("a", "b", "c"), ("a", "c")]


@pytest.mark.spec("E7", "I5")
def test_one_that_is_named_twice_is_waited_for_once() -> None:
    daemon = Scripted(wait=[{"there": [made("a")], "awaited": []}])

    there = list(gathered(daemon, ["a", "a"], WaitPlan(2, "stop", None)))

    assert len(there) == 1


def listed(
    *, holding: bool = False, why: str = "", obstacle: str = "", **known: object
) -> dict[str, object]:
    """Tell of two sessions; words wait for the first, and for another one."""
    one = made("worker", id=PLANNER, **known)
    kept = {
        each: {"messages": 1, "why": why, "obstacle": obstacle} for each in (PLANNER, "anna")
    }
    return {"sessions": [one, made("bert"), made("anna")], "kept": kept, "holding": holding}


@pytest.mark.spec("E6", "F4", "I5")
@pytest.mark.parametrize(
    ("found", "said"),
    [
        (listed(holding=True), f"{HELD}\n"),
        (
            listed(why=OCCUPIED, obstacle="it scrolls."),
            "Messages for worker wait: it scrolls.\n",
        ),
        # It needs its person, which ends the wait itself.
        (listed(activity="question", reason="Which?", why="it asks a question"), ""),
        (listed(activity="working"), ""),
        (listed(), ""),
    ],
)
@pytest.mark.parametrize("awaited", [(PLANNER,), ("worker", "bert")])
def test_whoever_waits_is_told_once_what_keeps_words(
    capsys: pytest.CaptureFixture[str],
    found: dict[str, object],
    said: str,
    awaited: tuple[str, ...],
) -> None:
    notices = BlockedNotices(Scripted(sessions=found))

    for _ in range(2):
        notices.tell(awaited)

    assert capsys.readouterr().err == said


class Slow(Scripted):
    """A client whose daemon does not say in time that a session is there."""

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        if path == ("wait",) and not self.asked:
            self.asked.append((path, query))
            raise Answered("still-working", "Not yet.")
        return super().get(*path, **query)


@pytest.mark.spec("E6", "E7", "I5")
def test_whoever_waits_for_several_is_told_what_keeps_words_for_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    there = {"there": [made("worker"), made("bert")], "awaited": []}
    daemon = Slow(wait=[there], sessions=listed(holding=True))
    names = ["worker", "bert"]

    list(gathered(daemon, names, WaitPlan(2, "stop", None)))

    assert capsys.readouterr().err == f"{HELD}\n"


@pytest.mark.spec("I5")
def test_of_several_it_is_said_that_they_go_on() -> None:
    assert goes_on("a").startswith("while this waited; a keeps working. Start it:  rookery up")
    assert goes_on("a", "b").endswith(
        "they keep working. Start it:  rookery up  then:  rookery ls"
    )


@pytest.mark.spec("I5")
def test_examples_stand_below_the_options_as_they_are_typed() -> None:
    command = click.Command("x", epilog=examples("rookery x a", "rookery x b"))

    shown = command.get_help(click.Context(command, info_name="x"))

    assert shown.endswith("  Examples:\n    rookery x a\n    rookery x b")
