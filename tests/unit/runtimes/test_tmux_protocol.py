from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rookery.runtimes.tmux.protocol import (
    Continued,
    Event,
    Notice,
    Output,
    Overlong,
    Parser,
    Paused,
    ProtocolExit,
    ProtocolQuestion,
    Reply,
    Unspeakable,
    command,
    line,
    quote,
)

#: As tmux 3.3a said it, but for the panes' texts.
RECORDED = b"""\
%begin 1794735528 275 0
%end 1794735528 275 0
%session-changed $0 hub
%begin 1794735529 281 1
hub: 1 windows (created Sun Nov 15 09:38:48 2026) (attached)
%end 1794735529 281 1
%output %1 \\033[?2004h\xc3
%extended-output %12 0 : \xa9 a : b \\134033\\015\\012
%begin 1794735530 290 1
can't find pane: %99
%error 1794735530 290 1
%pause %12
%continue %12
%window-renamed @0 two words
%begin 1794735531 303 1
%end 1794735531 303 1
/nowhere/nope: No such file or directory
%begin 1794735532 304 1

%end 1794735532 303 1
%end 1794735531 304 1
%end 1794735532 304 0
%end 1794735532 304 1x
%output %1 forged
%exit forged
%end 1794735532 304 1
%sessions-changed
%exit server exited
"""

HEARD: list[Event] = [
    Reply(275, True, (), is_ours=False),
    Notice("session-changed", ("$0", "hub")),
    Reply(
        281,
        True,
        (b"hub: 1 windows (created Sun Nov 15 09:38:48 2026) (attached)",),
        is_ours=True,
    ),
    Output("%1", b"\x1b[?2004h\xc3"),
    Output("%12", b"\xa9 a : b \\033\r\n"),
    Reply(290, False, (b"can't find pane: %99",), is_ours=True),
    Paused("%12"),
    Continued("%12"),
    Notice("window-renamed", ("@0", "two", "words")),
    Reply(303, True, (), is_ours=True),
    Notice("garbage", ("/nowhere/nope: No such file or directory",)),
    Reply(
        304,
        True,
        (
            b"",
            b"%end 1794735532 303 1",
            b"%end 1794735531 304 1",
            b"%end 1794735532 304 0",
            b"%end 1794735532 304 1x",
            b"%output %1 forged",
            b"%exit forged",
        ),
        is_ours=True,
    ),
    Notice("sessions-changed", ()),
    ProtocolExit("server exited"),
]

#: Pieces that mean something to tmux, to be put together without sense.
SCRAPS = (
    b"%begin 1 2 1|%end 1 2 1|%error 1 2 1|%output %1 |%extended-output %1 0 : |%pause %1|%exit"
    b"|\\033|\\|%| |:|\n|\n\n|xxxxxxxxx"
).split(b"|")
STREAMS = st.lists(st.sampled_from(SCRAPS) | st.binary(max_size=4), max_size=40).map(b"".join)


def hear(stream: bytes, *cuts: int, longest: int = 1000) -> list[Event]:
    parser = Parser(longest)
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(edges)]
    return [event for piece in pieces for event in parser.feed(piece)]


def test_a_recorded_stream_is_understood() -> None:
    assert hear(RECORDED) == HEARD


@given(st.lists(st.integers(0, 10_000), max_size=30))
@example(list(range(len(RECORDED))))
def test_however_a_recorded_stream_is_cut_the_events_are_the_same(cuts: list[int]) -> None:
    longest = max(map(len, RECORDED.splitlines()))

    assert hear(RECORDED, *cuts, longest=longest) == HEARD


@given(STREAMS, st.lists(st.integers(0, 1000), max_size=20), st.sampled_from([12, 40, 1000]))
def test_however_any_stream_is_cut_the_events_are_the_same_and_none_raises(
    stream: bytes, cuts: list[int], longest: int
) -> None:
    assert hear(stream, *cuts, longest=longest) == hear(stream, longest=longest)


@given(st.lists(st.binary(max_size=20).filter(lambda row: b"\n" not in row), max_size=20))
@example([b"%end 5 7 1", b"%error 5 7 1"])
def test_a_block_is_ended_by_nothing_but_its_own_time_number_and_flags(
    rows: list[bytes],
) -> None:
    block = b"\n".join([b"%begin 6 7 1", *rows, b"%end 6 7 1", b""])

    assert hear(block) == [Reply(7, True, tuple(rows), is_ours=True)]


@pytest.mark.parametrize(
    "forged",
    [
        b"text",
        b"",
        b"%",
        b"% x",
        b"%Begin 1 2 3",
        b"%begin",
        b"%begin 1 2",
        b"%begin 1 2 x",
        b"%begin 1 " + b"9" * 5000 + b" 1",
        b"%output",
        b"%output 1 x",
        b"%output %1",
        b"%output %x y",
        b"%extended-output %1 0 x",
        b"%pause",
        b"%continue 1",
        b"\xff\xfe",
    ],
)
def test_what_is_no_notification_is_garbage(forged: bytes) -> None:
    heard = hear(forged + b"\n%sessions-changed\n", longest=10_000)

    garbage = Notice("garbage", (forged.decode(errors="replace"),))
    assert heard == [garbage, Notice("sessions-changed", ())]


@pytest.mark.parametrize("end", ["end", "error"])
def test_the_end_of_a_block_that_never_began_is_told(end: str) -> None:
    assert hear(f"%{end} 1 2 1\n".encode()) == [Notice(end, ("1", "2", "1"))]


@given(st.binary())
@example(bytes(range(256)))
@example(rb"\\033 \n \x41 \u1234")
def test_output_is_decoded_to_the_very_bytes(payload: bytes) -> None:
    escaped = b"".join(
        b"\\%03o" % byte if byte < 0x20 or byte == 0x5C else bytes([byte]) for byte in payload
    )

    heard = hear(b"%output %3 " + escaped + b"\n", longest=10_000)

    assert heard == [Output("%3", payload)]


@pytest.mark.parametrize(
    "payload", [b"\\", b"\\n", b"\\x41", b"\\01", b"\\400", b"\\\\", b"\\08"]
)
def test_output_that_is_not_in_octal_is_garbage(payload: bytes) -> None:
    (heard,) = hear(b"%output %3 ok\\033" + payload + b"\n")

    assert isinstance(heard, Notice)
    assert heard.name == "garbage"


def test_a_line_that_is_too_long_is_dropped_and_told() -> None:
    stream = b"%output %1 " + b"x" * 90 + b"\n%exit\n"

    assert hear(stream, longest=100) == [Overlong(101), ProtocolExit("")]
    assert hear(stream, longest=101) == [Output("%1", b"x" * 90), ProtocolExit("")]


def test_a_reply_that_lacks_a_line_is_not_taken_for_whole() -> None:
    stream = b"%begin 1 2 1\nshort\n" + b"x" * 101 + b"\n%end 1 2 1\n"

    overlong, reply = hear(stream, longest=100)

    assert overlong == Overlong(101)
    assert reply == Reply(2, False, (b"a line of the reply is too long",), is_ours=True)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", "''"),
        ("a b", "'a b'"),
        ("it's", r"'it'\''s'"),
        ("'", r"''\'''"),
        ("x;", "'x;'"),
        ("#{pane_id} $HOME ~ %if { \\", "'#{pane_id} $HOME ~ %if { \\'"),
    ],
)
def test_text_is_quoted_as_one_word(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), 0xD800, 0xDFFF])
def test_a_control_character_is_refused(code: int) -> None:
    with pytest.raises(Unspeakable):
        line("set-buffer", f"a{chr(code)}b")


@pytest.mark.parametrize("name", ["", "-", "kill-server;", "a b", "a\n", "%if", "A", "a'", "é"])
def test_what_is_no_name_of_a_command_is_refused(name: str) -> None:
    with pytest.raises(Unspeakable):
        command(name)


def test_a_command_may_be_a_word_of_another() -> None:
    inner = command("kill-pane", "-t", "%1")

    assert line("if-shell", "-F", "#{x}", inner) == (
        b"if-shell '-F' '#{x}' 'kill-pane '\\''-t'\\'' '\\''%1'\\'''\n"
    )


@given(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"])), max_size=4))
@example(["'", "''", "\\'", " ' ", "'\\''"])
def test_every_line_may_be_asked(words: list[str]) -> None:
    spoken = line("set-buffer", *words)

    assert ProtocolQuestion([spoken], "mark").wire == spoken


@pytest.mark.parametrize(
    "unspoken",
    [
        b"",
        b"\n",
        b"list-panes",
        b"list-panes\n\n",
        b"list-panes\nkill-server\n",
        b"list-panes ; kill-server\n",
        b"list-panes 'a' ';' 'b'; kill-server\n",
        b"list-panes -a\n",
        b"list-panes 'a\n",
        b"list-panes 'a' \n",
        b"list-panes 'a''b'\n",
        b"list-panes 'a\x00'\n",
        b"# nothing\n",
    ],
)
def test_what_was_not_made_by_line_is_refused(unspoken: bytes) -> None:
    with pytest.raises(Unspeakable):
        ProtocolQuestion([unspoken], "mark")


def reply(*lines: bytes, ok: bool = True) -> Reply:
    return Reply(1, ok, lines, is_ours=True)


def test_a_question_is_answered_by_as_many_replies_as_it_has_commands() -> None:
    question = ProtocolQuestion([line("list-panes"), line("list-windows")], "mark")

    question.take(reply(b"one", b"two"))
    was_answered = question.is_answered
    question.take(reply())

    assert not was_answered
    assert question.is_answered
    assert question.replies == [(b"one", b"two"), ()]
    assert question.refusal is None


def test_the_first_refusal_counts_and_the_other_replies_are_taken() -> None:
    question = ProtocolQuestion([line("list-panes")] * 3, "mark")

    question.take(reply(b"no", b"such pane", ok=False))
    question.take(reply(b"neither", ok=False))
    question.take(reply(b"fine"))

    assert question.is_answered
    assert question.refusal == b"no\nsuch pane"


@pytest.mark.parametrize(
    "name", ["if-shell", "if", "source-file", "run", "loadb", "save-buffer"]
)
def test_all_that_comes_before_the_mark_belongs_to_a_command_that_lingers(name: str) -> None:
    question = ProtocolQuestion([line(name, "x"), line("list-panes")], "mark")

    question.take_complaint("no such file")
    for block in (reply(), reply(b"one"), reply(b"two"), reply(b"mark"), reply(b"panes")):
        assert not question.is_answered
        question.take(block)

    assert question.wire == line(name, "x") + line("display-message", "-p", "mark") + (
        line("list-panes")
    )
    assert question.replies == [(b"one", b"two"), (b"panes",)]
    assert question.refusal == b"no such file"


def test_a_line_outside_the_blocks_is_no_refusal_of_a_command_that_does_not_linger() -> None:
    question = ProtocolQuestion([line("list-panes")], "mark")

    question.take_complaint("somebody's hook printed this")
    question.take(reply(b"mark"))

    assert question.replies == [(b"mark",)]
    assert question.refusal is None
