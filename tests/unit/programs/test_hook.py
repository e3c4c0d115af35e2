"""The hook program as an agent runs it: another process, another interpreter, no site."""

from __future__ import annotations

import json
import os
import posix
import re
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from io import BytesIO, TextIOWrapper
from pathlib import Path

import anyio
import pytest

from rookery.agents.shared.claude_style_hooks import DECISION_TIMEOUT_S
from rookery.home import find_home
from rookery.hook_protocol import read_call, read_head, with_checksum
from rookery.hook_setup import quick_hook
from rookery.processes import Process
from rookery.processes.lineage import read_lineage
from rookery.programs import hook

PAYLOAD = b'{"hook_event_name": "Stop", "session_id": "n1", "cwd": "/"}'


class Setting:
    """Where the hook program finds its daemon, or does not."""

    def __init__(self, folder: Path, program: Sequence[str]) -> None:
        self.folder, self.program = folder, program
        self.door = folder / "door"
        self.spool = folder / "spool"
        self.spool.mkdir()

    def run(
        self, *arguments: str, payload: bytes = PAYLOAD, **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        given = arguments or (str(self.door), str(self.spool), "demo")
        return subprocess.run(
            [*self.program, *given],
            input=payload,
            capture_output=True,
            env=environment,
            cwd=self.folder,
            timeout=20,
            check=False,
        )

    def run_python(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run the program in Python as the quick one does, in whose place it goes on."""
        python = Setting.__new__(Setting)
        python.folder, python.program = self.folder, [sys.executable, "-I", "-S", hook.__file__]
        return python.run(*arguments)

    def leave(self, **answers: object) -> None:
        """Leave answers for calls while no daemon runs, as the daemon does."""
        content = with_checksum(json.dumps(answers).encode())
        (self.folder / hook.ABSENCE).write_bytes(content)

    def spooled(self) -> list[Path]:
        return sorted(self.spool.iterdir())


class Daemon:
    """Takes a call for each of its answers, keeps it, and says that."""

    def __init__(self, door: Path, *answers: bytes) -> None:
        self.calls: list[bytes] = []
        self._answers = answers
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(door))
        self._listening.listen()
        self._thread = threading.Thread(target=self._take_all)
        self._thread.start()

    @property
    def call(self) -> bytes:
        return self.calls[0]

    def _take_all(self) -> None:
        with closing(self._listening):
            for answer in self._answers:
                with closing(self._listening.accept()[0]) as caller:
                    call = b""
                    while not is_whole(call):
                        call += caller.recv(65536)
                    self.calls.append(call)
                    caller.sendall(answer)

    def join(self) -> None:
        self._thread.join(5)


def is_whole(call: bytes) -> bool:
    first, end, payload = call.partition(b"\n")
    return bool(end) and len(payload) == int(first.split(b" ")[3])


@pytest.fixture(scope="module")
def quick_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = find_home({"ROOKERY_HOME": str(tmp_path_factory.mktemp("home"))})
    home.prepare()
    if not anyio.run(quick_hook.build, home):
        pytest.skip("there is no C compiler")
    return quick_hook.path(home)


@pytest.fixture(params=["python", "quick"])
def setting(request: pytest.FixtureRequest, tmp_path: Path) -> Setting:
    program = [sys.executable, "-I", "-S", hook.__file__]
    if request.param == "quick":
        program = [str(request.getfixturevalue("quick_program")), program[0], program[-1]]
    return Setting(tmp_path, program)


@pytest.fixture
def silent_door(setting: Setting) -> Iterator[None]:
    """Have somebody listen who never says a word."""
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(setting.door))
        listening.listen()
        yield


def is_silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.spec("C3", "C7")
def test_a_call_that_was_taken_says_nothing_and_leaves_nothing(setting: Setting) -> None:
    daemon = Daemon(setting.door, hook.TAKEN)

    done = setting.run(ROOKERY_BADGE="b-1", TMUX_PANE="%7", TMUX="/run/a b,12,0")
    daemon.join()

    assert is_silent(done)
    assert setting.spooled() == []
    first, _, payload = daemon.call.partition(b"\n")
    assert payload == PAYLOAD
    told = first.decode().split(" ", 2)[2].split(" ", 5)
    assert (told[:4], told[5]) == (["demo", str(len(PAYLOAD)), "b-1", "%7"], "/run/a b")
    assert read_lineage(told[4])[0] == Process.of(os.getpid())


@pytest.mark.spec("C4")
def test_what_it_sends_is_what_the_daemon_reads(setting: Setting) -> None:
    daemon = Daemon(setting.door, hook.TAKEN)

    setting.run()
    daemon.join()

    call = read_call(daemon.call)
    assert (call.agent, call.badge) == ("demo", None)
    assert call.payload["session_id"] == "n1"


@pytest.mark.spec("C3", "D2")
def test_it_waits_for_what_somebody_decides(setting: Setting) -> None:
    daemon = Daemon(setting.door, hook.WAIT + b"ask\n" + hook.DECIDED + b"yes")

    done = setting.run()
    daemon.join()

    assert (done.returncode, done.stdout) == (0, b"yes")
    assert setting.spooled() == []


@pytest.mark.spec("C3", "D2", "K3")
def test_if_the_daemon_dies_over_it_the_next_one_is_asked_for_the_same(
    setting: Setting,
) -> None:
    waits, decided = hook.WAIT + b"ask\n", hook.WAIT + b"ask\n" + hook.DECIDED + b"no"
    daemon = Daemon(setting.door, waits, waits, decided)

    done = setting.run()
    daemon.join()

    assert done.stdout == b"no"
    assert len(daemon.calls) == 3
    assert len(set(daemon.calls)) == 1


@pytest.mark.spec("C3", "D3")
def test_if_no_daemon_comes_back_it_says_what_it_was_told_to(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "RESTART_TIMEOUT_SECONDS", 0.0)

    over = time.time() + hook.DECISION_TIMEOUT_SECONDS
    said = hook.insist(str(setting.door), b"call", hook.WAIT + b"ask\n", over)

    assert said == b"ask"


@pytest.mark.spec("C3", "D3")
def test_it_says_what_it_was_told_to_before_its_agent_gives_it_up(setting: Setting) -> None:
    began = time.time_ns() - int((hook.DECISION_TIMEOUT_SECONDS + 1) * 1e9)
    told = (f"{began:020d}-{0:016x}", (hook.WAIT + b"ask\n").decode())

    done = setting.run_python(str(setting.door), str(setting.spool), "demo", *told)

    assert (done.returncode, done.stdout) == (0, b"ask")
    assert hook.DECISION_TIMEOUT_SECONDS + hook.ACCEPT_TIMEOUT_SECONDS < DECISION_TIMEOUT_S


@pytest.mark.spec("C3", "D3")
def test_a_daemon_that_hangs_over_a_decision_is_given_up_in_time(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "ACCEPT_TIMEOUT_SECONDS", 0.1)
    with closing(socket.socket(socket.AF_UNIX)) as mute:
        mute.bind(str(setting.door))
        mute.listen()

        over = time.time() + 0.5
        said = hook.insist(str(setting.door), b"call", hook.WAIT + b"ask\n", over)

    assert said == b"ask"


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize(
    ("tool", "said"), [("Bash", b"ask"), ("BashOutput", b""), ("mcp__web__get", b"ask")]
)
def test_without_a_daemon_it_says_what_was_left_for_such_a_call(
    setting: Setting, tool: str, said: bytes
) -> None:
    left = [{"event": "PreToolUse", "tools": ["Bash", "mcp__*"], "say": "ask"}]
    setting.leave(demo=left)
    payload = {"hook_event_name": "PreToolUse", "tool_name": tool}

    done = setting.run(payload=json.dumps(payload).encode())

    assert (done.returncode, done.stdout) == (0, said)
    assert len(setting.spooled()) == 1


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize(
    "field",
    [
        pytest.param(b"[" * 3_000 + b"]" * 3_000, id="nested"),
        pytest.param(b'"\xff"', id="no UTF-8"),
        pytest.param(b"1, ...", id="no JSON"),
    ],
)
def test_what_cannot_be_read_gets_the_strictest_that_was_left(
    setting: Setting, field: bytes
) -> None:
    left = [{"event": "PreToolUse", "tools": ["Bash"], "say": "no"}]
    setting.leave(demo=left)
    payload = b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "x": %s}' % field

    done = setting.run(payload=payload)

    assert (done.returncode, done.stdout) == (0, b"no")
    assert len(setting.spooled()) == 1


def emptied(stored: bytes) -> bytes:
    return b""


def cut(stored: bytes) -> bytes:
    return stored[:-3]


def zeroed(stored: bytes) -> bytes:
    return bytes(len(stored))


def zeroed_in_part(stored: bytes) -> bytes:
    return stored[:20] + bytes(8) + stored[28:]


def without_checksum(stored: bytes) -> bytes:
    return stored.rpartition(b", " + hook.CHECKSUM)[0] + b"}"


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize(
    "damage", [None, emptied, cut, zeroed, zeroed_in_part, without_checksum]
)
def test_without_offline_answers_it_says_what_the_script_gave_it(
    setting: Setting, damage: Callable[[bytes], bytes] | None
) -> None:
    setting.leave(demo=[{"event": "PreToolUse", "tools": ["Bash"], "say": "no"}])
    file = setting.folder / hook.ABSENCE
    if damage:
        file.write_bytes(damage(file.read_bytes()))
    else:
        file.unlink()
    given = {"ROOKERY_HOOK_EVENT": "PreToolUse", "ROOKERY_HOOK_ANSWER": "ask"}

    asked = setting.run(payload=b'{"hook_event_name":"PreToolUse"}', **given)
    stopped = setting.run(payload=b'{"hook_event_name":"Stop"}', **given)
    unreadable = setting.run(payload=b"{", **given)

    assert (asked.returncode, asked.stdout) == (0, b"ask")
    assert is_silent(stopped)
    assert unreadable.stdout == b"ask"


@pytest.mark.spec("C3", "D3")
def test_without_a_home_or_with_answers_that_name_no_rule_it_is_silent(
    setting: Setting,
) -> None:
    given = {"ROOKERY_HOOK_EVENT": "PreToolUse", "ROOKERY_HOOK_ANSWER": "ask"}
    payload = b'{"hook_event_name": "PreToolUse", "tool_name": "Bash"}'

    gone = setting.run("/no/door", "/no/home/spool", "demo", payload=payload, **given)
    setting.leave()
    no_rules = setting.run(payload=payload, **given)

    assert is_silent(gone)
    assert is_silent(no_rules)


@pytest.mark.spec("C3", "D3")
def test_a_number_of_any_length_is_read(setting: Setting) -> None:
    left = [{"event": "PreToolUse", "tools": ["Bash"], "say": "no"}]
    setting.leave(demo=left)
    payload = b'{"x": %s, "hook_event_name": "PreToolUse", "tool_name": "%s"}'

    bash = setting.run(payload=payload % (b"1" * 5_000, b"Bash"))
    read = setting.run(payload=payload % (b"1" * 5_000, b"Read"))

    assert (bash.stdout, read.stdout) == (b"no", b"")


@pytest.mark.spec("C3", "D3")
def test_an_error_of_its_own_is_no_reason_to_let_a_call_pass(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [{"event": "PreToolUse", "tools": ["Bash"], "say": "no"}]
    setting.leave(demo=left)
    payload = b'{"hook_event_name": "PreToolUse", "tool_name": "Bash"}'

    def fail(*given: object) -> None:
        raise MemoryError

    monkeypatch.setattr(hook, "_spool", fail)
    monkeypatch.setattr(sys, "argv", ["hook.py", "/no/door", str(setting.spool), "demo"])
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(payload)))
    with monkeypatch.context() as printing:
        out = TextIOWrapper(BytesIO())
        printing.setattr(sys, "stdout", out)
        hook.main()
        said = out.buffer

    assert isinstance(said, BytesIO)
    assert said.getvalue() == b"no"


@pytest.mark.spec("C3")
@pytest.mark.parametrize("event", ["PostToolUse", "Stop"])
def test_a_call_for_which_nothing_was_left_costs_no_json(setting: Setting, event: str) -> None:
    left = [{"event": "PreToolUse", "tools": ["*"], "say": "no"}]
    setting.leave(demo=left)
    payload = json.dumps({"hook_event_name": event, "x": 'of "PreToolUse"'}).encode()
    run = [sys.executable, "-I", "-S", "-X", "importtime", hook.__file__]

    done = subprocess.run(
        [*run, str(setting.door), str(setting.spool), "demo"],
        input=payload,
        capture_output=True,
        timeout=20,
        check=True,
    )

    imported = {line.rpartition(b"|")[2].strip() for line in done.stderr.splitlines()}
    assert done.stdout == b""
    assert b"_socket" in imported
    assert not imported & {b"_json", b"json", b"fnmatch", b"re", b"typing"}


@pytest.mark.spec("C3", "K3")
def test_a_spooled_call_is_on_disk_when_the_hook_returns(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[set[str]] = []

    def note(number: int) -> None:
        os.fsync(number)
        synced.append({each.name for each in setting.spooled()} | {str(number)})

    monkeypatch.setattr(posix, "fsync", note)
    hook._spool(str(setting.spool), "k1", b"call")  # noqa: SLF001 - the step itself

    # First the content, under the name of a part; then the folder, with the final name.
    assert ["k1.part" in each for each in synced] == [True, False]
    assert "k1" in synced[1]


@pytest.mark.parametrize(
    ("glob", "tool"),
    [("*", ""), ("B?sh", "Bash"), ("mcp__*__get", "mcp__a__b__get"), ("*a*", "bab"), ("", "")],
)
def test_the_small_glob_matches_as_the_large_one(glob: str, tool: str) -> None:
    assert hook.fits(glob, tool)
    assert not hook.fits(glob + "x", tool)


@pytest.mark.spec("C3")
def test_what_the_daemon_says_beyond_that_is_for_the_agent(setting: Setting) -> None:
    daemon = Daemon(setting.door, hook.TAKEN + b'{"decision": "ask"}')

    done = setting.run()
    daemon.join()

    assert (done.returncode, done.stdout) == (0, b'{"decision": "ask"}')


@pytest.mark.spec("C3")
def test_a_large_payload_arrives_whole(setting: Setting) -> None:
    large = b'{"tool_input": "' + b"x" * 3_000_000 + b'"}'
    daemon = Daemon(setting.door, hook.TAKEN)

    done = setting.run(payload=large)
    daemon.join()

    assert is_silent(done)
    assert daemon.call.endswith(large)


@pytest.mark.spec("C3")
def test_without_a_daemon_a_call_waits_in_the_spool_for_the_owner_alone(
    setting: Setting,
) -> None:
    done = setting.run(ROOKERY_BADGE="b-1")

    (file,) = setting.spooled()
    call = read_call(file.read_bytes())
    assert is_silent(done)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (call.key, call.badge, call.payload["session_id"]) == (file.name, "b-1", "n1")


@pytest.mark.spec("C3", "K4")
def test_of_a_payload_that_no_daemon_takes_only_a_note_is_spooled(setting: Setting) -> None:
    size = hook.MAX_PAYLOAD_BYTES + 1

    setting.run(payload=b"x" * size)

    (note,) = (file.read_bytes() for file in setting.spooled())
    assert note.endswith(b"\n")
    assert read_head(note).size == size


@pytest.mark.spec("C3", "C5")
def test_calls_are_spooled_in_their_order_each_under_a_key_of_its_own(
    setting: Setting,
) -> None:
    for number in range(3):
        setting.run(payload=b'{"number": %d}' % number)

    calls = [read_call(file.read_bytes()) for file in setting.spooled()]
    assert [call.payload["number"] for call in calls] == [0, 1, 2]


@pytest.mark.spec("C3")
@pytest.mark.parametrize("answer", [b"", b"no", hook.TAKEN[:-1]])
def test_a_call_that_was_not_taken_is_spooled(setting: Setting, answer: bytes) -> None:
    daemon = Daemon(setting.door, answer)

    done = setting.run()
    daemon.join()

    assert is_silent(done)
    assert len(setting.spooled()) == 1


@pytest.mark.spec("C3")
@pytest.mark.usefixtures("silent_door")
def test_a_daemon_that_hangs_is_given_up_and_the_call_is_spooled(setting: Setting) -> None:
    done = setting.run()

    assert is_silent(done)
    assert len(setting.spooled()) == 1


@pytest.mark.spec("C3")
@pytest.mark.parametrize(
    "arguments",
    [("one",), ("/no/door", "/no/spool", "demo"), ("", "", ""), ("x" * 200, "\n", "demo")],
)
def test_whatever_goes_wrong_the_agent_never_suffers(
    setting: Setting, arguments: tuple[str, ...]
) -> None:
    assert is_silent(setting.run(*arguments))


@pytest.mark.spec("C3")
@pytest.mark.parametrize("payload", [b"", b"\xff\0", b"not json"])
def test_what_it_cannot_read_it_passes_on(setting: Setting, payload: bytes) -> None:
    done = setting.run(payload=payload)

    (file,) = setting.spooled()
    assert is_silent(done)
    assert file.read_bytes().endswith(b"\n" + payload)


@pytest.mark.spec("C3")
def test_the_quick_program_has_the_numbers_of_the_other() -> None:
    source = Path(hook.__file__).with_name("hook.c").read_text()

    numbers = dict(re.findall(r"(\w+_S|MAX_\w+) = (\d+)", source))
    assert numbers == {
        "DEADLINE_S": f"{hook.ACCEPT_TIMEOUT_SECONDS:.0f}",
        "DECISION_S": f"{hook.DECISION_TIMEOUT_SECONDS:.0f}",
        "MAX_ANCESTORS": str(hook.MAX_ANCESTORS),
    }
    assert f'"v{hook.VERSION} %s' in source
