"""What is shown of sessions in the foreground, by a daemon that tells what a test lets it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rookery.cli import notice_printer
from rookery.client import ConnectionLost
from rookery.model.errors import NotRunning
from tests.support.cli import FakeClient, made, typed

pytestmark = pytest.mark.spec("H3", "I5")

AT = "2026-01-02T03:04:05+00:00"
LATER = "2026-01-02T03:04:06+00:00"
EVIL = "\x1b]0;owned\x07\x1b[2Jred\nbuilder  03:04:05"


def turn(number: int, prompt: str, answer: str, **more: object) -> dict[str, Any]:
    usual = {"number": number, "prompt": prompt, "answer": answer, "how": "finished"}
    return {**usual, "started_at": AT, "ended_at": f"{AT}#{number}", **more}


class Daemon(FakeClient):
    """Tells its events, then its user presses Ctrl-C; turns that ended are in ``ended``."""

    def __init__(self, badge: str = "") -> None:
        super().__init__(badge)
        self.events: list[tuple[int, str, dict[str, Any]]] = [(0, "snapshot", {})]
        self.ended: list[dict[str, Any]] = []
        self.session = {**made("builder"), "id": "b", "activity": "idle", "ended_at": None}
        self.now: dict[str, Any] = {}  #: what became of it since it came to the front
        self.front: dict[str, Any] = {"is_there": True, "is_new": True, "missed": []}
        self.front |= {"running": [], "omitted": 0, "as_of": 10, "seen": 0}
        self.in_front: list[str] = []
        self.options: list[str] = []  #: of what is asked
        self.posted: list[tuple[str, dict[str, Any]]] = []
        self.losses = 0  #: answers that do not arrive
        self.blocks: list[dict[str, Any]] = []
        self.is_leaving = False  #: it is gone once something is to be put back

    def tell(self, seq: int, event: str, **fields: object) -> None:
        self.events.append((seq, event, {"session": "b", "at": AT, **fields}))

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        if path == ("foregrounds",):
            return {"foregrounds": [{"session": each} for each in self.in_front]}
        if path == ("permissions",):
            is_open = {"id": "r1", "outcome": "open", "message": "Which?"}
            asked = {**is_open, "session": "b", "questions": [{"options": self.options}]}
            return {"requests": [{**is_open, "session": "c", "questions": []}, asked]}
        if path[-1] == "blocks":
            given: dict[str, Any] = query
            return self._find_blocks(**given)
        return {**self.session, **self.now}

    def _find_blocks(
        self, *, after: int = 0, kinds: tuple[str, ...] = (), last: int | None = None
    ) -> dict[str, Any]:
        of_kinds = [each for each in self.blocks if each["kind"] in kinds]
        found = [each for each in of_kinds if each["number"] > after]
        count = len(self.blocks)
        # Two at a time, if not the last are wanted: a client has to ask again.
        page = found if last else found[:2]
        up_to = page[-1]["number"] if len(page) < len(found) else count
        return {"session": self.session, "blocks": page, "up_to": up_to, "count": count}

    def say(self, *told: tuple[str, str], at: str = AT) -> None:
        """Add blocks of these kinds and texts to the output of the session."""
        for kind, text in told:
            number = len(self.blocks) + 1
            block = {"number": number, "kind": kind, "text": text, "tool": "Bash", "at": at}
            self.blocks.append(block)

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        what = path[-1]
        self.posted.append((what, body))
        if what == "shown":
            if self.losses:
                self.losses -= 1
                raise ConnectionLost
            after = [each for each in self.ended if each["number"] > int(str(body["seen"]))]
            return {"following": after[0] if after else None}
        if what == "foreground":
            return {**self.front, "session": self.session}
        if self.is_leaving:
            raise NotRunning
        return {"session": path[1], "channel": "terminal", "was_in_front": True}

    def lines(self, *path: str, **query: object) -> Iterator[str]:
        for seq, kind, fields in self.events:
            yield from (f"id: {seq}", f"event: {kind}", f"data: {json.dumps(fields)}")
        raise KeyboardInterrupt

    @property
    def put_back(self) -> int:
        return sum(what == "background" for what, _ in self.posted)

    @property
    def seen(self) -> list[object]:
        return [body["seen"] for what, body in self.posted if what == "shown"]


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Daemon:
    scripted = Daemon()
    monkeypatch.setattr(notice_printer, "local", lambda at: at[11:19])
    return scripted


class Shell:
    """Where somebody types, and reads."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        daemon: Daemon,
    ) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self._daemon = daemon
        self.raw = self.err = ""

    def type(self, *words: str) -> object:
        """Run a command to its end; return its exit code."""
        code = typed(self._monkeypatch, self._daemon, *words)
        self.raw, self.err = self._capsys.readouterr()
        return code

    @property
    def out(self) -> list[str]:
        """The lines that say something."""
        return [line for line in self.raw.splitlines() if line]


@pytest.fixture
def shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], daemon: Daemon
) -> Shell:
    monkeypatch.delenv("COLUMNS", raising=False)  # texts would be wrapped to its width
    return Shell(monkeypatch, capsys, daemon)


def test_what_was_missed_comes_first_and_each_turn_is_said_to_be_shown(
    daemon: Daemon, shell: Shell
) -> None:
    daemon.front |= {"missed": [turn(3, "a", "A"), turn(5, "b", "B")], "omitted": 12}

    shell.type("fg", "builder")
    lines = shell.out

    assert lines == [
        "(12 earlier turns:  rookery output builder)",
        *("builder  03:04:05", "❯ a", "  A"),
        *("builder  03:04:05", "❯ b", "  B"),
    ]
    assert daemon.seen == [3, 5]


def test_then_it_goes_on_as_it_comes(daemon: Daemon, shell: Shell) -> None:
    daemon.tell(11, "turn-started", prompt="build\n it")
    daemon.tell(12, "tool-called", tool="Bash")
    daemon.tell(13, "input-asked", asks="permission", message="May it use Bash? rm")
    daemon.tell(14, "input-asked", asks="permission", message="May it use Bash? rm")
    daemon.tell(15, "turn-ended", last_words="Built.", how="finished")
    daemon.ended = [turn(11, "build\n it", "Built.")]

    shell.type("fg", "builder")
    lines = shell.out

    assert lines == [
        *("builder  03:04:05", "❯ build it", "🔧 Bash"),
        "builder waits for you: May it use Bash? rm",
        # What it asks for now is something else already.
        (
            "  rookery permissions  |  rookery allow ID  |  rookery deny ID"
            "  |  rookery attach builder"
        ),
        "  Built.",
    ]
    assert daemon.seen == [0, 11]


def test_what_happened_before_it_came_to_the_front_is_not_told_twice(
    daemon: Daemon, shell: Shell
) -> None:
    daemon.tell(8, "turn-started", prompt="a")
    daemon.tell(9, "turn-ended", last_words="A", how="finished")
    daemon.tell(10, "foreground-left", channel="terminal", by="person")
    daemon.front |= {"missed": [turn(8, "a", "A")], "running": [turn(9, "b", "")]}

    shell.type("fg", "builder")
    lines = shell.out

    assert lines == [*("builder  03:04:05", "❯ a", "  A"), *("builder  03:04:05", "❯ b")]


def test_a_turn_that_ended_meanwhile_waits_until_its_beginning_was_told(
    daemon: Daemon, shell: Shell
) -> None:
    daemon.ended = [turn(11, "a", "A"), turn(13, "b", "B")]
    for number, words in ((11, "a"), (13, "b")):
        daemon.tell(number, "turn-started", prompt=words)
        daemon.tell(number + 1, "turn-ended", last_words=words.upper(), how="finished")

    shell.type("fg", "builder")
    lines = shell.out

    assert [line[2:] for line in lines if line[0] in "❯ "] == ["a", "A", "b", "B"]


def test_two_prompts_of_one_turn_are_answered_once(daemon: Daemon, shell: Shell) -> None:
    both = {"ended_at": LATER}
    daemon.front |= {"missed": [turn(3, "a", "A", **both), turn(4, "b", "A", **both)]}
    daemon.ended = [turn(11, "c", "C", **both), turn(12, "d", "C", **both)]
    daemon.tell(11, "turn-started", prompt="c")
    daemon.tell(12, "turn-started", prompt="d")
    daemon.tell(13, "turn-ended", last_words="C", how="finished")

    shell.type("fg", "builder")
    lines = shell.out

    assert lines[:3] == ["builder  03:04:05", "❯ a", "  A"]
    assert lines[3:6] == [
        "builder  03:04:05",
        "❯ b",
        "  (answered together with the previous one)",
    ]
    assert [line for line in lines[6:] if not line.startswith("builder")] == [
        *("❯ c", "❯ d", "  C"),
    ]
    assert daemon.seen[-1] == 12


def test_words_that_come_a_moment_after_the_end_are_shown_once(
    daemon: Daemon, shell: Shell
) -> None:
    daemon.ended = [turn(11, "a", "", how="interrupted")]
    daemon.tell(11, "turn-started", prompt="a")
    daemon.tell(12, "turn-ended", last_words="", how="interrupted")
    daemon.tell(13, "turn-ended", last_words="So far.", how="finished")
    daemon.tell(14, "turn-ended", last_words="So far.", how="finished")

    shell.type("fg", "builder")
    lines = shell.out

    assert lines.count("  (interrupted; there is no answer)") == 1
    assert lines.count("  So far.") == 1


def test_an_interrupted_turn_is_marked_below_what_it_said(daemon: Daemon, shell: Shell) -> None:
    daemon.ended = [turn(11, "a", "So far.", how="interrupted")]
    daemon.tell(11, "turn-started", prompt="a")
    daemon.tell(12, "turn-ended", last_words="So far.", how="interrupted")

    shell.type("fg", "builder")

    marked = ["  So far.", "  (interrupted; the answer is not complete)"]
    assert [line for line in shell.out if line.startswith("  ")] == marked


def test_a_call_that_is_denied_is_marked(daemon: Daemon, shell: Shell) -> None:
    daemon.tell(11, "turn-started", prompt="a")
    daemon.tell(12, "tool-called", tool="Bash", argument="rm -rf /")
    daemon.tell(13, "call-decided", tool="Bash", decision="deny", by="person")
    daemon.tell(14, "tool-called", tool="Read", argument="a.md")
    daemon.tell(15, "call-decided", tool="Read", decision="allow", by="person")

    shell.type("fg", "builder")

    calls = [line for line in shell.out if "—" in line]
    assert calls == [
        *("🔧 Bash — rm -rf /", "✗ Bash — rm -rf / (denied by you)", "🔧 Read — a.md")
    ]


@pytest.mark.spec("K2")
def test_what_agents_say_is_shown_and_never_obeyed(daemon: Daemon, shell: Shell) -> None:
    daemon.front |= {"missed": [turn(3, EVIL, EVIL)]}
    daemon.tell(11, "turn-started", prompt=EVIL)
    daemon.tell(12, "tool-called", tool=EVIL)
    daemon.tell(13, "input-asked", asks="question", message=EVIL)

    shell.type("fg", "builder")

    assert not set(shell.raw + shell.err) & set("\x1b\x07")
    assert shell.raw.count("\nbuilder  03:04:05") == 1  # ours; theirs are set in, or in a line
    assert "\n  builder  03:04:05\n" in shell.raw


def test_a_prompt_is_one_line_of_a_narrow_terminal(
    daemon: Daemon, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    daemon.front |= {"missed": [turn(3, "many words " * 20, "A")]}

    shell.type("fg", "builder")
    lines = shell.out

    assert lines[1] == "❯ many words many w…"


def test_ctrl_c_puts_back_what_this_command_brought(daemon: Daemon, shell: Shell) -> None:
    code = shell.type("fg", "builder")

    assert code == 130
    assert daemon.put_back == 1
    assert "Show again:  rookery follow builder" in shell.err


def test_ctrl_c_leaves_in_front_what_others_brought(daemon: Daemon, shell: Shell) -> None:
    daemon.front["is_new"] = False
    daemon.in_front = ["b"]

    assert shell.type("fg") == 130
    assert daemon.put_back == 0
    assert "builder is still in the foreground" in shell.err


def test_it_ends_when_its_session_does(daemon: Daemon, shell: Shell) -> None:
    daemon.tell(11, "session-ended", reason="exit", outcome="completed")
    daemon.now = {"status": "completed", "ended_at": LATER, "reason": "it left by itself."}
    daemon.events.append((12, "never", {}))

    assert not shell.type("fg", "builder")
    assert shell.out == ["builder has ended: it left by itself."]
    assert daemon.put_back == 1


def test_it_ends_when_its_session_is_put_into_the_background(
    daemon: Daemon, shell: Shell
) -> None:
    daemon.tell(11, "foreground-left", channel="elsewhere", by="person")
    daemon.tell(12, "tool-called", tool="Bash")
    daemon.tell(13, "foreground-left", channel="terminal", by="person")
    daemon.tell(14, "tool-called", tool="Read")

    assert not shell.type("fg", "builder")
    assert "builder was put into the background" in shell.err
    assert [line for line in shell.out if "🔧" in line] == ["🔧 Bash"]
    assert daemon.put_back == 0


def test_a_question_is_shown_with_its_options(daemon: Daemon, shell: Shell) -> None:
    daemon.options = ["Red", f"Blue{EVIL}"]
    daemon.tell(11, "input-asked", asks="question", message="Which?")

    shell.type("fg", "builder")

    assert "  1. Red\n  2. Blue" in shell.raw
    assert not set(shell.raw) & set("\x1b\x07")


def test_what_somebody_has_put_back_is_not_brought_once_more(
    daemon: Daemon, shell: Shell
) -> None:
    daemon.front["is_there"] = False
    daemon.tell(10, "foreground-entered", channel="terminal", by="person")
    daemon.tell(11, "foreground-left", channel="terminal", by="person")

    shell.type("fg")

    assert [body["brings"] for _, body in daemon.posted] == [False]
    assert shell.out == []


def test_without_a_name_it_waits_and_shows_what_is_brought(
    daemon: Daemon, shell: Shell
) -> None:
    daemon.front |= {"is_new": False, "missed": [turn(3, "a", "A")]}
    daemon.tell(10, "foreground-entered", channel="terminal", by="person")
    daemon.tell(11, "foreground-left", channel="terminal", by="person")

    shell.type("fg")

    assert shell.err.startswith("No session is in the foreground yet.")
    assert "A session in the foreground is shown here as it works." in shell.err
    assert "  A\n" in shell.raw
    assert shell.err.endswith("\nStopped.\n")


def test_an_answer_that_is_lost_with_its_daemon_is_asked_for_again(
    daemon: Daemon, shell: Shell
) -> None:
    daemon.losses = 2
    daemon.front |= {"missed": [turn(3, "a", "A")]}

    shell.type("fg", "builder")
    lines = shell.out

    assert lines.count("  A") == 1
    assert daemon.seen == [3, 3, 3]


def test_in_json_each_line_is_something_that_happened(daemon: Daemon, shell: Shell) -> None:
    daemon.front |= {"missed": [turn(3, "a", "A\x7f")]}
    daemon.tell(11, "tool-called", tool="Bash")

    shell.type("fg", "--json", "builder")
    lines = shell.out

    told = [json.loads(line) for line in lines]
    assert [each["kind"] for each in told] == ["foreground", "turn", "state", "tool"]
    assert told[1]["turn"]["answer"] == "A\x7f"
    assert "\x7f" not in "".join(lines)


def test_within_a_session_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Daemon(badge="secret")
    shell = Shell(monkeypatch, capsys, daemon)

    assert shell.type("fg", "builder") == 2
    assert "its tool `foreground`" in shell.err
    assert daemon.posted == []


@pytest.mark.parametrize(
    ("words", "in_front", "said"),
    [
        (
            ["builder"],
            [],
            "builder is in the background now. Show again:  rookery follow builder",
        ),
        ([], ["b"], "builder is in the background now. Show again:  rookery follow builder"),
        ([], [], "No session is in the foreground."),
        (
            ["--all"],
            ["b"],
            "builder is in the background now. Show again:  rookery follow builder",
        ),
    ],
)
def test_what_is_put_back_is_said(
    daemon: Daemon, shell: Shell, words: list[str], in_front: list[str], said: str
) -> None:
    daemon.in_front = in_front

    assert shell.type("bg", *words) is None
    assert shell.out == [said]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [],
            "Several sessions are in the foreground: builder, builder. Name one, or use --all.",
        ),
        (["builder", "--all"], "Name a session, or use --all."),
    ],
)
def test_which_is_meant_must_be_clear(
    daemon: Daemon, shell: Shell, words: list[str], said: str
) -> None:
    daemon.in_front = ["b", "c"]

    assert shell.type("bg", *words) == 2
    assert said in shell.err
    assert daemon.posted == []


def test_without_a_daemon_it_is_said_what_is_still_in_front(
    daemon: Daemon, shell: Shell
) -> None:
    daemon.is_leaving = True

    assert shell.type("fg", "builder") == 130
    assert "still in the foreground:  builder" in shell.err


def test_the_texts_of_a_driven_session_come_before_the_tools_that_follow_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Daemon()
    daemon.session |= {"runtime": "sdk", "activity": "working", "last_activity_at": AT}
    daemon.front |= {"running": [turn(9, "Build it.", "", ended_at=None, started_at=AT)]}
    daemon.say(("prompt", "Old."), ("text", "Old words."), at="2026-01-02T03:04:04+00:00")
    daemon.say(("prompt", "Build it."), ("text", "First I look."), ("tool-call", "ls"))
    daemon.say(("thought", "Hm."), ("tool-result", "a.py"), ("text", "Now I build."))
    daemon.say(("tool-call", "make"), ("text", "It is slow."), ("text", "Built."))
    daemon.say(("prompt", "On."), ("text", "Next."), ("tool-call", "git diff"), at=LATER)
    for seq, argument in ((11, "ls"), (12, "make")):
        daemon.tell(seq, "tool-called", tool="Bash", argument=argument)
    daemon.ended.append(turn(9, "Build it.", "Built."))
    daemon.tell(13, "turn-ended", last_words="Built.")
    daemon.tell(14, "turn-started", prompt="On.", at=LATER)
    daemon.tell(15, "tool-called", tool="Bash", argument="git diff", at=LATER)

    typed(monkeypatch, daemon, "follow", "builder")

    shown = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert [line for line in shown if not line.startswith("builder ")] == [
        *("❯ Build it.", "First I look.", "🔧 Bash — ls", "Now I build."),
        *("🔧 Bash — make", "It is slow.", "Built."),
        *("❯ On.", "Next.", "🔧 Bash — git diff"),
    ]
