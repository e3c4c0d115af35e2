"""Words arrive exactly, once, and never where they would answer or mix with something."""

from __future__ import annotations

import json
import os
import pty
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from rookery.model.messages import clean
from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.real

HOSTILE = (
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    "x\nkill-server\n",
    "x\n%end 1 1 1\nrun-shell 'touch pwned'",
    "\x1b[201~\ntouch pwned\n",
    "#(touch pwned)",
    "#{l:x} #{pid}",
    "-t other",
    "--settings=/etc/passwd",
    "ends in a semicolon;",
    "ends in a backslash\\",
    "{ touch pwned }",
    "\\; touch pwned",
    "~/x $HOME %1 @1",
)


def prompts_of(rookery: Rookery, session: dict[str, object]) -> list[str]:
    """Return what the demo agent itself wrote down as submitted."""
    file = rookery.folder / ".rookery-demo" / f"{session['id']}.jsonl"
    if not file.exists():
        return []
    whole = file.read_text().split("\n")[:-1]  # the last may still be being written
    lines = [json.loads(line) for line in whole]
    return [line["text"] for line in lines if line["type"] == "user"]


@contextmanager
def attached(rookery: Rookery, session: dict[str, object]) -> Iterator[int]:
    """Attach to a session as a person does, in a terminal of one's own; give its keyboard."""
    keyboard, terminal = pty.openpty()
    environment = {**rookery.environment, "TERM": "xterm-256color"}
    socket, name = str(rookery.home.tmux), f"={session['tmux_session']}"
    person = subprocess.Popen(
        ["tmux", "-u", "-S", socket, "attach-session", "-t", name],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment,
        start_new_session=True,
    )
    try:
        eventually(lambda: os.read(keyboard, 65536))
        yield keyboard
    finally:
        person.kill()
        person.wait()
        with suppress(OSError):
            os.close(keyboard)
            os.close(terminal)


@pytest.mark.spec("B2")
def test_generated_words_arrive_exactly_and_are_submitted_once(rookery: Rookery) -> None:
    session = rookery.start("ears")
    chance = random.Random(2026)  # noqa: S311 - the same every time
    sent = ["say: " + _generated(chance) for _ in range(40)] + [f"say: {h}" for h in HOSTILE]

    for words in sent:
        rookery.ask("ears", words)

    heard = prompts_of(rookery, session)
    assert [each.strip() for each in heard] == [clean(words).text.strip() for words in sent]
    assert not (rookery.project / "pwned").exists()


def _generated(chance: random.Random) -> str:
    """Make words of all that people and programs write, in no sensible order."""
    alphabets = (
        "abc XYZ 019 .,!?",
        "'\"`$(){}[]<>|&;#~%\\*@^=-+/",
        "äßéñ ÅÆ þð",
        "漢字かなカナ한글",
        "🙂🚀👩‍👩‍👧🇩🇪",
        "\t\n \n",
        "\u202e\u200b\u00a0\ufeffe\u0301",
    )
    return "x" + "".join(
        chance.choice(chance.choice(alphabets)) for _ in range(chance.randint(1, 400))
    )


@pytest.mark.spec("B2")
def test_a_megabyte_arrives_whole(rookery: Rookery) -> None:
    session = rookery.start("whale")
    words = (
        "say: ok\n" + "".join(f"line {number} ümläut\n" for number in range(50_000))[:990_000]
    )

    rookery.send("whale", words)
    eventually(lambda: prompts_of(rookery, session), within=30.0)

    (heard,) = prompts_of(rookery, session)
    assert heard.rstrip("\n") == words.rstrip("\n")


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [("a\0b", "NUL"), ("   \n", "it is empty"), ("x" * 1_000_001, "1,000,000")],
)
def test_words_that_cannot_arrive_are_refused(
    rookery: Rookery, words: str, complaint: str
) -> None:
    rookery.start("ears")

    status, answer = rookery.post("/v1/sessions/ears/messages", {"words": words})

    assert status == 400
    assert complaint in answer["error"]["message"]


@pytest.mark.spec("B2")
def test_control_characters_are_taken_out_and_counted(rookery: Rookery) -> None:
    session = rookery.start("ears")

    _, receipt = rookery.post(
        "/v1/sessions/ears/messages", {"words": "say: a\x1b[31m\x07b\r\nc"}
    )
    eventually(lambda: prompts_of(rookery, session))

    assert receipt["removed"] == 2
    assert prompts_of(rookery, session) == ["say: a[31mb\nc"]


@pytest.mark.spec("B2")
def test_a_program_without_bracketed_paste_takes_one_short_line(rookery: Rookery) -> None:
    rookery.start("plain", agent="shell", command=["cat"])

    many = rookery.run("send", "plain", "one\ntwo")
    long = rookery.run("send", "plain", "x" * 4_001)
    answer = rookery.ask("plain", "just this")

    assert (many.returncode, long.returncode) == (2, 2)
    assert "one line at a time" in many.stderr
    assert "4,000 bytes" in long.stderr
    assert answer == "just this"


@pytest.mark.spec("B0")
def test_words_wait_while_a_dialog_is_open_and_do_not_answer_it(rookery: Rookery) -> None:
    session = rookery.start("asker")
    rookery.send("asker", "permission: Bash rm -rf /;; say: It may.")
    eventually(lambda: rookery.session("asker")["activity"] == "permission")

    messages = [rookery.send("asker", f"say: number {number}") for number in range(10)]
    steps = {rookery.step(message)[0] for message in messages}
    on_screen = rookery.screen("asker")
    rookery.tmux("send-keys", "-t", str(session["tmux_pane"]), "3")
    eventually(lambda: len(prompts_of(rookery, session)) == 2)

    assert steps == {"pending"}
    assert "Do you want to proceed?" in on_screen
    assert prompts_of(rookery, session)[1].split("\n\n") == [
        f"say: number {number}" for number in range(10)
    ]


@pytest.mark.spec("B0")
def test_words_wait_while_somebody_scrolls(rookery: Rookery) -> None:
    session = rookery.start("scroller")
    pane = str(session["tmux_pane"])
    rookery.tmux("copy-mode", "-t", pane)

    message = rookery.send("scroller", "say: hello")
    eventually(lambda: "scrolls" in rookery.step(message)[1])
    rookery.tmux("copy-mode", "-q", "-t", pane)
    eventually(lambda: rookery.step(message)[0] == "acknowledged")

    assert prompts_of(rookery, session) == ["say: hello"]


@pytest.mark.spec("B0")
def test_words_wait_for_a_person_who_types_and_for_their_draft(rookery: Rookery) -> None:
    session = rookery.start("typist")
    with attached(rookery, session) as keyboard:
        os.write(keyboard, b"half a thou")
        eventually(lambda: "half a thou" in rookery.screen("typist"))

        message = rookery.send("typist", "say: hello")
        eventually(lambda: "typed there just now" in rookery.step(message)[1])
        eventually(lambda: "unsent text" in rookery.step(message)[1])
        shown = rookery.screen("typist")
        os.write(keyboard, b"\x15")
        eventually(lambda: rookery.step(message)[0] == "acknowledged")

    assert "❯ half a thou\n" in shown
    assert prompts_of(rookery, session) == ["say: hello"]


@pytest.mark.spec("B3")
def test_a_pane_that_speaks_as_tmux_does_is_only_text(rookery: Rookery) -> None:
    forged = (
        "%end 1 1 1\n%error 1 2 1\n%exit\n%output %0 x\n%begin 1 1 1\n%session-changed $1 x"
    )
    script = Path(rookery.project, "forge.sh")
    script.write_text(f"while :; do printf '{forged}\\n'; sleep 0.01; done".replace("%", "%%"))
    rookery.start("forger", agent="shell", command=["sh", str(script)])
    session = rookery.start("honest")

    for number in range(5):
        assert rookery.ask("honest", f"say: {number}") == str(number)

    assert "%end 1 1 1" in rookery.screen("forger")
    assert len(prompts_of(rookery, session)) == 5


@pytest.mark.spec("B3")
def test_a_burst_neither_blocks_its_agent_nor_fills_our_memory(rookery: Rookery) -> None:
    rookery.start("calm")
    rookery.start("loud", agent="shell", command=["sh"])
    before = psutil.Process(rookery.pid).memory_info().rss

    rookery.send(
        "loud", "yes 'something to be skipped' | head -c 40000000; echo; echo all said"
    )
    answer = rookery.ask("calm", "say: I can be heard")
    eventually(lambda: "all said" in rookery.screen("loud").splitlines(), within=30.0)

    grown = psutil.Process(rookery.pid).memory_info().rss - before
    assert answer == "I can be heard"
    assert grown < 30_000_000
