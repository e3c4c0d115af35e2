"""The output of a session as one stream of numbered blocks.

The pages in the folder ``snapshots`` are compared exactly. After a wanted change, write them
again with ``ROOKERY_WRITE_SNAPSHOTS=1 pytest tests/unit/cli/test_block_output.py`` and read
the difference.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rookery.client.blocks import BlockInfo
from rookery.presentation.block_lines import LineStyle, lines_of
from rookery.presentation.cells import cells
from rookery.presentation.texts import without_escapes
from tests.support.cli import Scripted, made, typed

pytestmark = [pytest.mark.spec("I5"), pytest.mark.spec("G4")]

SNAPSHOTS = Path(__file__).with_name("snapshots")

DIFF = """\
--- a/src/login.py
+++ b/src/login.py
@@ -1,3 +1,3 @@
 def wait():
-    port = 80
+    port = free_port()  # the test server of another run may have taken the usual port
"""


def block(kind: str, text: str = "", **more: object) -> dict[str, Any]:
    return {"kind": kind, "text": text, "at": "2026-11-18T12:00:00+00:00", **more}


def an_hour() -> list[dict[str, Any]]:
    """Return all kinds of blocks, with long texts, wide characters and escapes."""
    colours = "\n".join(
        f"\x1b[32mok\x1b[0m {number} test_login[{number}]" for number in range(9)
    )
    command = (
        "pytest tests/login --maxfail 1 -q && git add -A && git commit -m 'Find a free port'"
    )
    steps = [
        ["Find why the login test fails", "completed"],
        ["Let it wait for a port that is free, and only for that one", "in_progress"],
        ["Run all tests", "pending"],
    ]
    told = [
        block("prompt", "The login test fails now and then.\nFind out why, 言葉 included."),
        block("thought", "It may be a race. " * 12),
        block("tool-call", command, tool="Bash", call_id="c1", data={"input": {}}),
        block("tool-result", f"{colours}\n10 %\r50 %\r100 %\n", tool="Bash", call_id="c1"),
        block("tool-call", "/home/anna/work/api/src/login.py", tool="Read"),
        block("tool-result", tool="Read"),
        block("tool-call", "npm run build", tool="Bash"),
        block("tool-result", "sh: npm: not found", tool="Bash", failed=True),
        block("diff", DIFF, data={"path": "src/login.py"}),
        block("plan", data={"steps": steps}),
        block("text", "The port was taken by another run.\n\n- It now asks for a free one.\n"),
        block("usage", data={"input_tokens": 48_200, "output_tokens": 912, "cost": 153_400}),
        block("text", "API error 529: overloaded", failed=True),
        block("usage", data={"input_tokens": 7, "output_tokens": 0, "cost": None}),
    ]
    return [{"number": number, **each} for number, each in enumerate(told, 95)]


def page(*blocks: dict[str, Any], count: int | None = None, **session: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    last = blocks[-1]["number"] if blocks else 0
    known = made("api", ended_at=None, **session)
    count = last if count is None else count
    return {"session": known, "blocks": [*blocks], "up_to": last, "count": count}


def check(name: str, text: str) -> None:
    file = SNAPSHOTS / f"{name}.txt"
    if "ROOKERY_WRITE_SNAPSHOTS" in os.environ:
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
@pytest.mark.parametrize("colour", ["never", "always"])
def test_blocks_look_as_they_did(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    columns: int,
    colour: str,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    client = Scripted(sessions=page(*an_hour()))

    typed(monkeypatch, client, "output", "api", "--blocks", "--color", colour)

    shown = capsys.readouterr().out
    assert max(cells(without_escapes(line)) for line in shown.splitlines()) <= columns
    check(f"blocks-{columns}-{'colour' if colour == 'always' else 'plain'}", shown)


def test_all_of_it_is_shown_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    typed(
        monkeypatch, Scripted(sessions=page(*an_hour())), "output", "api", "--blocks", "--full"
    )

    check("blocks-full-80", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("kinds", "seen"),
    [
        (("usage",), []),
        (("text", "usage"), ["2026-11-18T12:00:02"]),
        (("text", "usage", "prompt"), ["2026-11-18T12:00:03"]),
    ],
)
def test_answers_count_as_seen_only_if_a_text_was_shown(
    monkeypatch: pytest.MonkeyPatch, kinds: tuple[str, ...], seen: list[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    blocks = [
        {"number": number, **block(kind), "at": f"2026-11-18T12:00:0{number}"}
        for number, kind in enumerate(kinds, 1)
    ]
    client = Scripted(sessions=page(*blocks))

    typed(monkeypatch, client, "output", "api", "--blocks", "--last", "1")

    assert [given["until"] for path, given in client.asked if path[-1] == "seen"] == seen


def test_the_end_of_a_session_is_seen_with_its_last_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    ended = "2026-11-18T13:00:00"
    text, usage = ({"number": 1, **block("text", "Hi")}, {"number": 2, **block("usage")})
    pages = [page(text, count=2), {}, page(usage, count=2), {}]
    for each in (pages[0], pages[2]):
        each["session"]["ended_at"] = ended
    client = Scripted(sessions=pages)

    typed(monkeypatch, client, "output", "api", "--blocks")

    seen = [given["until"] for path, given in client.asked if path[-1] == "seen"]
    assert seen == [text["at"], ended]


def test_lines_that_no_terminal_shows_are_not_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "word " * 100

    typed(
        monkeypatch,
        Scripted(sessions=page({"number": 1, **block("text", text)})),
        *("output", "api", "--blocks"),
    )

    assert capsys.readouterr().out == f"  1  {text.rstrip()}\n"


@pytest.mark.spec("K2")
@pytest.mark.parametrize("is_full", [True, False])
@pytest.mark.parametrize(
    "kind", ["prompt", "text", "thought", "tool-call", "tool-result", "diff", "plan", "odd"]
)
def test_no_block_controls_the_terminal(kind: str, *, is_full: bool) -> None:
    evil = "a\x1b[2Jb\x1b]0;title\x07c\x9b31md\x1b\\e\x1bP1;2q\x07\x08\u202e\u200bf"
    told = BlockInfo(
        kind=kind, text=evil, tool=evil, data={"path": evil, "steps": [[evil, evil]]}
    )

    lines = lines_of(told, 80, is_full=is_full)

    assert lines
    assert not {*"".join(line.text for line in lines)} & {*"\x1b\x07\x08\x9b\u202e\u200b"}
    assert "[2J" not in "".join(line.text for line in lines)


@pytest.mark.spec("K2")
def test_the_path_of_a_diff_is_one_line() -> None:
    told = BlockInfo(kind="diff", data={"path": "a\n  9  ✓ allowed"})

    assert [each.text for each in lines_of(told, 80)] == ["± a   9  ✓ allowed"]


@pytest.mark.spec("K2")
def test_an_unfinished_escape_hides_no_text() -> None:
    assert without_escapes("a\x1b]0;what follows\nstays") == "a0;what follows\nstays"
    assert without_escapes("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07") == (
        "red link"
    )


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"steps": "none"}, ["Plan"]),
        ({"steps": [["one", "done"], "two", [3, 4]]}, ["Plan", "  ○ one"]),
        ({"dropped_characters": 90_000}, ["Plan"]),
    ],
)
def test_a_plan_of_another_shape_is_still_shown(
    data: dict[str, object], shown: list[str]
) -> None:
    lines = lines_of(BlockInfo(kind="plan", data=data), 80)

    assert [line.text for line in lines] == shown


def test_one_line_more_is_shown_rather_than_counted() -> None:
    def shown(number: int) -> list[str]:
        told = BlockInfo(kind="tool-result", text="\n".join("abcdefghij"[:number]))
        return [line.text.strip() for line in lines_of(told, 80)]

    assert shown(7) == [*"abcdefg"]
    assert shown(8) == [*"abcdef", "… 2 more lines"]


def test_a_failed_result_without_a_text_says_so() -> None:
    assert lines_of(BlockInfo(kind="tool-result", failed=True), 80) == [
        (" ✗ failed", LineStyle.FAILURE)
    ]


def texts(*words: str, start: int = 1) -> list[dict[str, Any]]:
    return [{"number": each, **block("text", word)} for each, word in enumerate(words, start)]


def test_following_prints_each_block_once_until_the_session_is_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    over = made("api", ended_at="2026-11-18T12:00:09+00:00", status="completed")
    pages = [
        page(*texts("a", "b"), count=3),
        page(*texts("c", start=3)),
        {**page(), "up_to": 3, "count": 3},
        page(*texts("d", start=4)),
        {**page(), "session": over, "up_to": 4, "count": 4},
    ]
    client = Scripted(sessions=pages)

    typed(monkeypatch, client, "output", "api", "--blocks", "-f", "--after", "0")

    assert capsys.readouterr().out.split() == [*"1a2b3c4d"]
    asked = [(given["after"], "timeout" in given) for _, given in client.asked]
    assert asked == [(0, False), (2, False), (3, True), (3, True), (4, True)]


def test_json_has_one_block_per_line_while_it_is_followed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    over = made("api", ended_at="2026-11-18T12:00:09+00:00", status="completed")
    last = {**page(*texts("b\x9b", start=2)), "session": over}
    client = Scripted(sessions=[page(*texts("a")), last])

    typed(monkeypatch, client, "output", "api", "--blocks", "-f", "--json")

    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines()]
    assert [(line["number"], line["text"]) for line in lines] == [(1, "a"), (2, "b\x9b")]
    assert "\x9b" not in printed


def test_json_has_all_pages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Scripted(sessions=[page(*texts("a"), count=2), page(*texts("b", start=2))])

    typed(monkeypatch, client, "output", "api", "--blocks", "--after", "0", "--json")

    told = json.loads(capsys.readouterr().out)
    assert ([each["number"] for each in told["blocks"]], told["count"]) == ([1, 2], 2)


@pytest.mark.spec("H3")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_what_was_missed_is_reported_as_shown(
    monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    client = Scripted(sessions=page(*texts("a", "b")))

    typed(monkeypatch, client, "output", "api", "--blocks", "--missed", *form)

    (_, first), (path, marked) = client.asked
    assert first["channel"] == "terminal"
    assert (path[-2:], marked) == (("blocks", "shown"), {"channel": "terminal", "seen": 2})


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--after", "3"), "--after and --missed are for blocks; add --blocks."),
        (("--missed",), "--after and --missed are for blocks; add --blocks."),
        (("--blocks", "--whole"), "--tools and --whole are for turns"),
        (("--blocks", "--missed", "--after", "3"), "Use either --after or --missed."),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    error: str,
) -> None:
    assert typed(monkeypatch, Scripted(), "output", "api", *words) == 2
    assert error in capsys.readouterr().err


@pytest.mark.parametrize(("count", "said"), [(0, "no output yet"), (7, "nothing new")])
def test_a_session_without_blocks_to_print_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], count: int, said: str
) -> None:
    empty = {**page(count=count), "up_to": count}

    typed(monkeypatch, Scripted(sessions=empty), "output", "api", "--blocks", "--after", "7")

    assert capsys.readouterr().err == f"api has {said}.\n"


@pytest.mark.parametrize(
    ("blocks", "shown"),
    [
        (texts("Reading."), "  1  Reading."),
        ([], "api has no terminal, and has answered nothing yet."),
    ],
)
def test_without_turns_and_terminal_the_last_blocks_are_shown(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    blocks: list[dict[str, Any]],
    shown: str,
) -> None:
    driven = made("api", runtime="sdk", continues=None)
    turns = {"session": driven, "turns": [], "unheard": [], "count": 0}
    client = Scripted(sessions=[turns, {**page(*blocks), "session": driven}])

    typed(monkeypatch, client, "output", "api")

    assert capsys.readouterr().out.rstrip("\n") == shown
