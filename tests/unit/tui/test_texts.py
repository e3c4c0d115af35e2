from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest

from rookery.client.decoding import read
from rookery.client.listeners import ListenersInfo
from rookery.client.live_views import ConversationInfo
from rookery.client.permissions import RequestInfo
from rookery.client.relays import RelayInfo
from rookery.client.sessions import EvidenceInfo, ListedSession, PendingInfo
from rookery.presentation.cells import cells, cut, cut_left, fitted, wrapped
from rookery.tui import command_lines
from rookery.tui.answering import AnswerDraft
from rookery.tui.board import BoardSession
from rookery.tui.command_lines import NewSession
from rookery.tui.conversation_text import conversation_lines, last_answer
from rookery.tui.evidence_text import evidence_lines
from rookery.tui.graph_text import graph_lines
from rookery.tui.preview import ShownRequest, deadline_text
from rookery.tui.request_text import answer_keys, request_lines
from rookery.tui.row_text import columns, row_line
from rookery.tui.session_view import Extras, asked, details, what_it_does
from rookery.tui.styled import Span, fitting, text_of, width_of
from tests.support.cli import made

pytestmark = pytest.mark.spec("I7")

NOW = datetime(2026, 11, 1, 0, 5, tzinfo=UTC)

AT = "2026-11-01T00:00:00Z"


def session(name: str, **known: object) -> ListedSession:
    return read(ListedSession, made(name, **known))


def request(**known: object) -> RequestInfo:
    return read(RequestInfo, {"id": "r1", "kind": "permission", "tool": "Bash", **known})


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301a\u0300", 2, "e\u0301a\u0300"),  # accents occupy no cells
        ("hello", 0, ""),
    ],
)
def test_text_is_cut_to_cells(text: str, width: int, expected: str) -> None:
    assert cut(text, width) == expected
    assert cells(fitted(text, width)) == width


def test_a_path_keeps_its_end() -> None:
    assert cut_left("/code/shop/api", 9) == "…shop/api"


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 8, ["one two", "three"]),
        ("unbreakable", 4, ["unbr", "eaka", "ble"]),
        ("  - an item of a list", 12, ["  - an item", "  of a list"]),
        ("a\n\nb", 9, ["a", "", "b"]),
        ("\tx\x1b[31m", 9, ["    x[31m"]),
        ("", 3, [""]),
        ("\u3000" * 4 + "text", 8, ["", "\u3000\u3000text"]),  # spaces of two cells each
        (" 漢字", 2, ["", "漢", "字"]),
    ],
)
def test_text_is_wrapped_without_control_characters(
    text: str, width: int, lines: list[str]
) -> None:
    assert [*islice(wrapped(text, width), len(lines) + 1)] == lines


@pytest.mark.parametrize("width", [20, 40, 57, 80, 140])
def test_a_row_has_exactly_the_width_of_the_list(width: int) -> None:
    row = BoardSession(session("日本語-and-a-long-name-that-goes-on", title="x" * 300))

    line = row_line(row, columns([row], width), Extras(), NOW)

    assert width_of(line) == width


def test_a_request_that_was_not_answered_in_time_is_marked() -> None:
    it = session("a", last_answer="Done.", is_unread=True)

    assert what_it_does(it, Extras(), NOW) == "Done."  # its sign says that it is unread
    missed = Extras(pending={"a": PendingInfo(missed=1)})
    assert what_it_does(it, missed, NOW) == "missed · Done."


def test_a_hidden_session_is_marked_where_it_is_listed() -> None:
    it = session("a", last_answer="Done.", hidden=True)

    assert what_it_does(it, Extras(), NOW) == "hidden · Done."


def test_the_evidence_of_an_ended_session_is_what_it_last_reported() -> None:
    seen = {"source": "hook", "claim": "working", "at": AT, "detail": "SessionEnd"}

    def told(**known: object) -> str:
        evidence = {"session": made("a", **known), "evidence": [seen], "has_terminal": True}
        return text_of(evidence_lines(read(EvidenceInfo, evidence), NOW, 80))

    assert "Its last reports:" in told(status="failed", activity=None, ended_at=AT)
    assert "Its last reports:" not in told()


def test_a_session_that_changes_the_files_of_another_is_marked() -> None:
    it, note = session("a", title="Fix it"), "edits x.py, as does b"

    assert what_it_does(it, Extras(overlaps={"a": note}), NOW) == "overlap · Fix it"
    assert details(it, note) == f"demo · {note} · /repo"


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"input": {"command": "rm -rf build"}}, "Bash — rm -rf build"),
        ({"tool": "ExitPlanMode", "input": {"plan": "Read"}}, "its summary"),
        ({"tool": "dialog"}, "its summary"),
        ({"kind": "question", "tool": "AskUserQuestion"}, "its summary"),
    ],
)
def test_a_tool_call_is_named_with_its_tool_first(known: dict[str, object], text: str) -> None:
    assert asked(request(message="its summary", **known)) == text


def test_one_earlier_turn_is_in_the_singular() -> None:
    found = read(ConversationInfo, {"omitted": 1})

    assert text_of(conversation_lines(found, 40)) == "(1 earlier turn)"


def test_a_conversation_that_continues_another_says_how_to_see_that_one() -> None:
    found = read(ConversationInfo, {"session": made("api", continues="s-1")})

    assert text_of(conversation_lines(found, 99)) == (
        "It continues an earlier session. Show that, too:  rookery logs api --whole"
    )


def test_a_row_of_backticks_within_a_line_opens_no_block_of_code() -> None:
    turn = {"answer": "```x``` is\ntext", "started_at": AT, "ended_at": AT}
    found = read(ConversationInfo, {"turns": [turn]})

    assert text_of(conversation_lines(found, 40)) == "  ```x``` is\n  text"


def test_what_is_asked_is_shown_whole() -> None:
    tool_input = {"command": "make\nrm -rf build", "timeout": 5, "description": "Clean"}

    shown = text_of(request_lines(request(input=tool_input), 40))

    assert shown.split("\n") == [
        "Bash",
        "  make",
        "  rm -rf build",
        "  timeout: 5",
        "  description: Clean",
    ]


def test_a_plan_is_shown_whole() -> None:
    asked = request(tool="ExitPlanMode", input={"plan": "1. Read\n2. Write"})

    shown = text_of(request_lines(asked, 40))

    assert shown == "May it carry out its plan?\n1. Read\n2. Write"


def test_a_dialog_that_is_known_from_the_screen_shows_its_options() -> None:
    questions = [{"text": "Trust it?", "options": ["Yes", "No"]}]
    asked = request(tool="dialog", message="Trust it?", questions=questions, source="screen")

    shown = text_of(request_lines(asked, 40))

    assert shown == "Trust it?\n  1. Yes\n  2. No"
    assert [key for key, _ in answer_keys(asked)] == ["a", "A", "d", "1-2"]


def test_a_dialog_without_options_is_answered_in_its_terminal() -> None:
    questions = [{"text": "Press any key", "options": []}]
    asked = request(kind="question", tool="dialog", questions=questions, takes_text=False)

    assert answer_keys(asked) == [("enter", "answer it in its terminal")]


@pytest.mark.parametrize(
    ("known", "on_timeout", "note"),
    [
        ({}, "terminal", "its terminal takes over"),
        ({}, "deny", "it is denied"),
        ({"has_dialog": False}, "terminal", "it is denied"),
        ({"tool": "Stop"}, "terminal", "it may stop"),
    ],
)
def test_what_happens_at_the_deadline(
    known: dict[str, object], on_timeout: str, note: str
) -> None:
    asked = request(deadline="2026-11-01T00:09:05Z", **known)

    shown = ShownRequest(asked, session("a"), 1, on_timeout)
    assert deadline_text(shown, NOW) == f"{note} in 4m05s"


def test_answers_by_number_and_in_own_words() -> None:
    questions = [
        {"text": "Which?", "options": ["A", "B"]},
        {"text": "What else?", "options": ["x", "y", "z"], "takes_several": True},
    ]
    draft = AnswerDraft(request(questions=questions))
    draft.choose(2)
    draft.choose(9)  # there is none
    draft.move(1)
    for number in (3, 1, 2, 2):
        draft.choose(number)

    assert draft.is_complete
    assert draft.answers() == ["2", "1,3"]
    draft.move(-5)
    draft.write("  none of them ")
    assert draft.own_words
    assert draft.answers() == ["none of them", "x,z"]
    draft.choose(1)
    assert (draft.own_words, draft.answers()) == (False, ["1", "1,3"])


def test_several_options_of_one_question_are_answers_of_their_own() -> None:
    question = {"text": "Which?", "options": ["A", "B"], "takes_several": True}
    draft = AnswerDraft(request(questions=[question]))
    draft.choose(1)
    draft.choose(2)

    assert draft.answers() == ["1", "2"]


CONVERSATION = read(
    ConversationInfo,
    {
        "omitted": 3,
        "turns": [
            {
                "prompt": "Do it",
                "answer": "Done:\n```py\nx = 1\n```",
                "started_at": "2026-11-01T00:00:00Z",
                "ended_at": "2026-11-01T00:01:00Z",
            },
            {"prompt": "Again", "started_at": "2026-11-01T00:02:00Z"},
        ],
        "transcript": [
            {"at": "2026-11-01T00:00:30Z", "kind": "call", "text": "Bash\n make"},
            {"at": "2026-11-01T00:00:31+00:00", "kind": "result", "text": "built"},
        ],
    },
)


def test_a_conversation_is_in_the_order_of_time() -> None:
    shown = text_of(conversation_lines(CONVERSATION, 40))

    assert shown.split("\n") == [
        "(3 earlier turns)",
        "",
        "❯ Do it",
        "",
        "  ⚒ Bash make",
        "  │ built",
        "",
        "  Done:",
        "  x = 1",
        "",
        "❯ Again",
    ]
    assert last_answer(CONVERSATION).startswith("Done:")


@pytest.mark.parametrize(
    ("how", "answer", "shown"),
    [
        ("failed", "API error", "✗ API error"),
        ("interrupted", "", "  (interrupted; there is no answer)"),
        ("interrupted", "So", "  So\n\n  (interrupted; the answer is not\n  complete)"),
    ],
)
def test_a_turn_that_did_not_finish_says_so(how: str, answer: str, shown: str) -> None:
    at = "2026-11-01T00:00:00Z"
    turn = {"answer": answer, "how": how, "started_at": at, "ended_at": at}
    found = read(ConversationInfo, {"turns": [turn]})

    assert text_of(conversation_lines(found, 40)) == shown


def test_an_interruption_that_the_agent_has_recorded_is_shown_once() -> None:
    at = "2026-11-01T00:00:00Z"
    turn = {"how": "interrupted", "started_at": at, "ended_at": at}
    passage = {"at": at, "kind": "interruption", "text": "[Request interrupted]"}
    found = read(ConversationInfo, {"turns": [turn], "transcript": [passage]})

    assert text_of(conversation_lines(found, 40)) == "  (interrupted; there is no answer)"


def test_an_interruption_that_only_the_agent_has_recorded_is_shown() -> None:
    at = "2026-11-01T00:00:00Z"
    turn = {"how": "finished", "answer": "Done", "started_at": at, "ended_at": at}
    passage = {"at": at, "kind": "interruption", "text": "[Request interrupted]"}
    found = read(ConversationInfo, {"turns": [turn], "transcript": [passage]})

    assert text_of(conversation_lines(found, 40)) == "  (interrupted)\n\n  Done"


def test_waits_are_a_tree_and_a_ring_is_drawn_once() -> None:
    sessions = {name: session(name) for name in "abc"}
    pairs = [("a", "b"), ("a", "c"), ("c", "b"), ("b", "c")]
    listeners = {"listeners": [{"caller": one, "target": other} for one, other in pairs]}
    members = [{"session": "a"}, {"session": "b", "left_at": "2026-11-01T00:00:00Z"}]
    relays = [{"id": "relay-1", "members": members}, {"id": "old", "closed_at": "2026"}]

    shown = text_of(
        graph_lines(
            sessions, read(ListenersInfo, listeners), [read(RelayInfo, each) for each in relays]
        )
    )

    assert shown.split("\n") == [
        "Waits",
        "  a  ○ idle",
        "  ├─ waits for b  ○ idle",
        "  │  └─ waits for c  ○ idle",
        "  │     └─ waits for b  ○ idle",
        "  └─ waits for c  ○ idle",
        "",
        "Relays",
        "  relay relay-1",
        "  └─ a  ○ idle",
    ]


def test_the_details_leave_out_what_is_unknown() -> None:
    full = session(
        "a",
        agent="claude",
        model="opus",
        branch="main",
        input_tokens=900,
        output_tokens=99,
        cost_usd=0.5,
        tags=["team"],
        runtime="observed",
    )

    assert details(full) == "claude opus · observed · 999 tokens · $0.50 · /repo · main · #team"
    assert details(session("b")) == "demo · /repo"
    assert details(session("c", runtime="acp")) == "demo · driven (acp) · /repo"


def test_the_details_name_the_worktree_and_the_agent_once() -> None:
    workspace = {"path": "/state/shop-1/fix", "repository": "/code/shop/.git"}
    it = session("a", agent="claude", model="claude-opus-5", workspace=workspace, branch="fix")

    assert details(it) == "claude-opus-5 · /code/shop · fix · worktree /state/shop-1/fix"


@pytest.mark.parametrize(
    ("width", "expected"),
    [(9, "one  two "), (8, "one  two "), (7, "one  t…"), (5, "one …"), (4, "one…")],
)
def test_a_line_that_does_not_fit_ends_with_an_ellipsis(width: int, expected: str) -> None:
    cut_line = fitting((Span("one "), Span(" two ")), width)

    assert "".join(each.text for each in cut_line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (command_lines.allow("r1"), "rookery allow r1"),
        (command_lines.deny("r1", ""), "rookery deny r1"),
        (command_lines.deny("r1", "no way"), "rookery deny r1 --reason 'no way'"),
        (
            command_lines.answer("r1", ["a b"], own_words=True),
            "rookery answer r1 --text 'a b'",
        ),
        (command_lines.send(["a", "b"], "x"), "rookery send a x && rookery send b x"),
        (command_lines.end(["a", "b"]), "rookery end a && rookery end b"),
        (command_lines.fork("a", ""), "rookery fork a"),
        (command_lines.resume("a", "go"), "rookery resume a go"),
        (command_lines.mute("a", muted=False), "rookery unmute a"),
        (
            NewSession("demo", "/repo", "x", "Fix it", "").command_line,
            "rookery start --agent demo --project /repo --name x --worktree 'Fix it'",
        ),
        (
            NewSession("demo", ".", worktree="b1").command_line,
            "rookery start --agent demo --project . --worktree b1",
        ),
        (
            NewSession("shell", ".", prompt="ls -l 'a b'").command_line,
            "rookery start --agent shell --project . -- ls -l 'a b'",
        ),
    ],
)
def test_each_action_stands_for_a_command_line(line: str, expected: str) -> None:
    assert line == expected


def test_a_long_text_is_cut_in_a_command_line() -> None:
    assert len(command_lines.send(["a"], "x " * 500)) < 100


def test_a_denied_call_is_marked_in_the_conversation() -> None:
    passages = [
        {"at": "2026-11-01T00:00:00Z", "kind": "call", "text": "Bash ls"},
        {
            "at": "2026-11-01T00:00:01Z",
            "kind": "call",
            "text": "Bash rm",
            "denied_by": "rule",
            "rule": "no-rm",
        },
    ]
    found = read(ConversationInfo, {"session": made("a"), "transcript": passages})

    shown = text_of(conversation_lines(found, 40))

    assert shown.splitlines() == [
        *("  ⚒ Bash ls", "  ✗ Bash rm", "    (denied by the rule no-rm)")
    ]


def test_the_result_of_a_call_that_failed_is_marked() -> None:
    result = {
        "at": AT,
        "kind": "result",
        "text": "Exit code 2\nls: no such file",
        "failed": True,
    }
    called = {"at": AT, "kind": "call", "text": 'Bash {"command": "ls /x"}'}
    conversation = read(ConversationInfo, {"transcript": [called, result]})

    lines = text_of(conversation_lines(conversation, 60)).splitlines()

    assert lines == ["  ⚒ Bash — ls /x", "  ✗ Exit code 2", "  │ ls: no such file"]
