from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rookery.runtimes.tmux.control import ControlClient, TmuxGone, TmuxRefused, TmuxSilent
from rookery.runtimes.tmux.protocol import (
    Continued,
    Event,
    Notice,
    Output,
    Parser,
    Paused,
    ProtocolExit,
    Reply,
    Unspeakable,
    command,
    line,
)

pytestmark = [pytest.mark.anyio, pytest.mark.real]

#: All that may stand on a control line. Of an empty text tmux makes no buffer.
SPEAKABLE = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1)
AWKWARD = st.text(st.sampled_from("'\"\\;#${}~%-= :?*[]`!&|<>()é😀"), min_size=1)

MARKER = line("display-message", "-p", "here")


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


@dataclass(frozen=True, slots=True)
class Server:
    socket: Path
    folder: Path
    pid: int
    pidfd: int

    def signal(self, number: signal.Signals) -> None:
        signal.pidfd_send_signal(self.pidfd, number)

    def run(self, *words: str) -> str:
        return run(self.socket, *words)

    def attach(
        self, hear: Callable[[Event], None] = lambda event: None, *, flags: str = "ignore-size"
    ) -> ControlClient:
        return ControlClient("tmux", self.socket, "hub", flags=flags, hear=hear)


def run(socket: Path, *words: str) -> str:
    argv = ["tmux", "-S", str(socket), "-f", "/dev/null", "-u", *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    socket = tmp_path / "t.sock"
    run(socket, "new-session", "-d", "-s", "hub", "-x", "80", "-y", "24", "cat")
    run(socket, "set-option", "-g", "history-limit", "5000")
    pid = int(run(socket, "display-message", "-p", "#{pid}"))
    pidfd = os.pidfd_open(pid)
    server = Server(socket, tmp_path, pid, pidfd)
    try:
        yield server
    finally:
        with suppress(ProcessLookupError):
            server.signal(signal.SIGKILL)
        assert select.select([pidfd], [], [], 5)[0], "the server does not end"
        os.close(pidfd)


class Ears:
    """Keeps what was heard, and waits for more."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.sizes: Counter[str] = Counter()
        self._bell = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, Output):
            self.sizes[event.pane] += len(event.payload)
        self._bell.set()

    def output(self, pane: str) -> bytes:
        return b"".join(
            event.payload
            for event in self.events
            if isinstance(event, Output) and event.pane == pane
        )

    async def until(self, is_enough: Callable[[], bool]) -> None:
        with anyio.fail_after(20):
            while not is_enough():
                self._bell.clear()
                await self._bell.wait()


async def show(client: ControlClient, ears: Ears, rows: bytes, folder: Path) -> str:
    """Let a pane print ``rows``; return it once it has."""
    file = folder / "rows"
    file.write_bytes(rows)
    program = f"stty raw -echo; cat {file}; printf READY; exec cat"
    ((pane,),) = await client.ask(
        line("new-window", "-d", "-t", "hub:", "-P", "-F", "#{pane_id}", program)
    )
    await ears.until(lambda: b"READY" in ears.output(pane.decode()))
    return pane.decode()


async def test_a_question_is_answered(server: Server) -> None:
    async with server.attach() as client:
        replies = await client.ask(
            line("display-message", "-p", "#{session_name} it's"),
            line("list-panes", "-a", "-F", "#{pane_id}"),
            line("set-buffer", "words"),
        )
        nothing = await client.ask()

    assert replies == [(b"hub it's",), (b"%0",), ()]
    assert nothing == []


async def test_blocks_that_nobody_asked_for_are_no_answers(server: Server) -> None:
    """The attaching, a hook and a key's binding have blocks too, with flags 0."""
    server.run("set-hook", "-g", "client-attached", "display-message -p HOOK")
    server.run("set-hook", "-g", "after-display-message", "list-sessions")
    server.run("copy-mode", "-t", "%0")

    async with server.attach() as client:
        replies = await client.ask(MARKER, line("send-keys", "-t", "%0", "Up", "q"), MARKER)

    assert replies == [(b"here",), (), (b"here",)]


async def test_a_refusal_is_raised_and_disturbs_nothing(server: Server) -> None:
    async with server.attach() as client:
        with pytest.raises(TmuxRefused, match="can't find pane: %99"):
            await client.ask(MARKER, line("kill-pane", "-t", "%99"), line("set-buffer", "done"))
        with pytest.raises(TmuxRefused, match="unknown command: nonsense"):
            await client.ask(line("nonsense"))
        replies = await client.ask(line("show-buffer"), MARKER)

    assert replies == [(b"done",), (b"here",)]


async def test_a_nested_command_answers_for_its_line(server: Server) -> None:
    inner = command("display-message", "-p", "it's ; #{pane_id}")
    failing = command("kill-pane", "-t", "%99")

    async with server.attach() as client:
        replies = await client.ask(
            line("if-shell", "-F", "1", inner),
            line("if-shell", "-F", "0", inner),
            line("if-shell", "-F", "0", failing, command("if-shell", "-F", "1", inner)),
            MARKER,
        )
        with pytest.raises(TmuxRefused, match="can't find pane: %99"):
            await client.ask(line("if-shell", "-F", "1", failing), MARKER)
        after = await client.ask(MARKER)

    assert replies == [(b"it's ; %0",), (), (b"it's ; %0",), (b"here",)]
    assert after == [(b"here",)]


async def test_a_file_that_cannot_be_read_or_written_is_a_refusal(server: Server) -> None:
    """The block of such a command ends well; tmux complains after it, outside any block."""
    missing = str(server.folder / "no" / "file")

    async with server.attach() as client:
        with pytest.raises(TmuxRefused, match="No such file"):
            await client.ask(line("load-buffer", "-b", "words", missing))
        await client.ask(line("set-buffer", "-b", "words", "x"))
        with pytest.raises(TmuxRefused, match="No such file"):
            await client.ask(line("save-buffer", "-b", "words", missing), MARKER)
        after = await client.ask(MARKER)

    assert after == [(b"here",)]


def test_whatever_may_be_spoken_arrives_as_it_is(server: Server) -> None:
    file = server.folder / "buffer"

    async def carry(client: ControlClient, spoken: bytes) -> bytes:
        await client.ask(spoken, line("save-buffer", "-b", "x", str(file)))
        return await anyio.Path(file).read_bytes()

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(server.attach()) as client,
    ):

        @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
        @given(SPEAKABLE | AWKWARD)
        @example("-n;")
        @example(";")
        @example("\\")
        @example("'\\''")
        @example("~root/x")
        @example("%if 1")
        def check(text: str) -> None:
            words = ("set-buffer", "-b", "x", "--", text)
            nested = line("if-shell", "-F", "1", command(*words))

            assert portal.call(carry, client, line(*words)) == text.encode()
            assert portal.call(carry, client, nested) == text.encode()

        check()


@pytest.mark.parametrize(
    "smuggled",
    ["x\nset-buffer PWNED", "x\rset-buffer PWNED", "x\0\nset-buffer PWNED", "x\x85\u009b"],
)
async def test_a_newline_in_a_word_runs_nothing(server: Server, smuggled: str) -> None:
    async with server.attach() as client:
        with pytest.raises(Unspeakable):
            await client.ask(line("display-message", "-p", smuggled))
        with pytest.raises(Unspeakable):
            await client.ask(line("if-shell", "-F", "1", command("display-message", smuggled)))
        buffers = await client.ask(line("list-buffers"))

    assert buffers == [()]


@pytest.mark.parametrize(
    "raw",
    [
        b"list-panes\nset-buffer PWNED\n",
        b"list-panes ; set-buffer PWNED\n",
        b"\n",
        b"list-panes",
    ],
)
async def test_bytes_that_are_not_one_command_are_not_sent(server: Server, raw: bytes) -> None:
    async with server.attach() as client:
        with pytest.raises(Unspeakable):
            await client.ask(MARKER, raw)
        replies = await client.ask(line("list-buffers"), MARKER)

    assert replies == [(), (b"here",)]


async def test_many_ask_at_once_and_each_gets_its_own_answers_undisturbed(
    server: Server,
) -> None:
    """Each sets and reads the same buffer: a line of another in between would show."""

    async def ask_ten_times(client: ControlClient, task: int) -> None:
        for turn in range(10):
            mine = f"{task}.{turn}"
            replies = await client.ask(
                line("set-buffer", "-b", "shared", mine),
                line("if-shell", "-F", "1", command("display-message", "-p", mine)),
                line("show-buffer", "-b", "shared"),
            )
            answers.append((mine, replies))

    answers: list[tuple[str, list[tuple[bytes, ...]]]] = []
    async with server.attach() as client:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for task in range(20):
                    tasks.start_soon(ask_ten_times, client, task)

    assert len(answers) == 200
    assert all(replies == [(), (m.encode(),), (m.encode(),)] for m, replies in answers)


async def test_who_leaves_in_the_middle_disturbs_nobody(server: Server) -> None:
    """The first holds tmux's queue for this client until it is cancelled."""
    early: list[list[tuple[bytes, ...]]] = []

    async def ask_early() -> None:
        early.append(await client.ask(line("display-message", "-p", "early")))

    async with server.attach() as client:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    # Written before it first waits, and so cancelled in flight.
                    await client.ask(line("wait-for", "gate"), MARKER, line("nonsense"))
                tasks.start_soon(ask_early)
                await anyio.lowlevel.checkpoint()
                server.run("wait-for", "-S", "gate")
        late = await client.ask(line("display-message", "-p", "late"))

    assert scope.cancelled_caught
    assert early == [[(b"early",)]]
    assert late == [(b"late",)]


async def test_all_bytes_a_pane_prints_are_heard(server: Server) -> None:
    """All below a blank, and the backslash, come in octal; all else as it is."""
    every_byte = bytes(range(256)).replace(b"\x1b", b"") + b"\\033 \\\\ \xc3\xa9" * 3
    ears = Ears()

    async with server.attach(ears) as client:
        pane = await show(client, ears, every_byte, server.folder)
        extended = Ears()
        async with server.attach(extended, flags="ignore-size,pause-after=5") as second:
            again = await show(second, extended, every_byte, server.folder)

    assert ears.output(pane) == every_byte + b"READY"
    assert extended.output(again) == every_byte + b"READY"


async def test_a_pane_that_imitates_tmux_is_only_quoted(server: Server) -> None:
    """Safe: what looks like an end, but has not the time, number and flags of this block.

    The lines are in the reply as they are, none of them is an event. As output they are
    never at the beginning of a line, so nothing printed live can imitate anything.
    Not safe: see the next test.
    """
    rows = [b"%end 1 1 1", b"%error 1 1 1", b"%output %77 x", b"%exit", b"%begin 1 1 1"]
    printed = b"\r\n".join([*rows, b""])
    ears = Ears()

    async with server.attach(ears) as client:
        pane = await show(client, ears, printed, server.folder)
        captured, after = await client.ask(line("capture-pane", "-p", "-t", pane), MARKER)
        heard = list(ears.events)

    assert captured == (*rows, b"READY", *[b""] * 18)
    assert after == (b"here",)
    assert ears.output(pane) == printed + b"READY"
    assert ears.output("%77") == b""
    assert not any(isinstance(event, ProtocolExit) for event in heard)


def number_now(server: Server) -> int:
    argv = ["tmux", "-S", str(server.socket), "-C", "attach-session", "-t", "=hub"]
    said = subprocess.run(argv, check=True, capture_output=True, input=b"list-keys -N\n").stdout
    return max(event.number for event in Parser().feed(said) if isinstance(event, Reply))


async def test_a_pane_that_guesses_time_and_number_cuts_a_capture_short(server: Server) -> None:
    """Not safe: time is no secret, numbers are counted, and a history has room for all guesses.

    Then ``capture-pane -p`` ends too early. The true end comes when no block is open: the
    client no longer trusts the connection and leaves. A forger who also begins a block of his
    own hides even that; so what a pane shows is captured by ``-b`` and saved to a file, or
    its rows are counted.
    """
    first, now = number_now(server), int(time.time())
    guesses = [
        b"%%end %d %d 1" % (second, number)
        for number in range(first, first + 100)
        for second in range(now, now + 20)
    ]
    rows = b"\r\n".join([*guesses, b"the truth"])
    file = anyio.Path(server.folder / "captured")
    capture = ("capture-pane", "-S", "-", "-t")
    ears = Ears()

    async with server.attach(ears) as client:
        pane = await show(client, ears, rows, server.folder)
        await client.ask(
            line(*capture, pane, "-b", "x"), line("save-buffer", "-b", "x", str(file))
        )
        saved = await file.read_bytes()
        (printed,) = await client.ask(line(*capture, pane, "-p"))
        with anyio.fail_after(5):
            await client.gone.wait()
        with pytest.raises(TmuxGone, match="forged"):
            await client.ask(MARKER)

    assert saved.splitlines()[: len(guesses) + 1] == [*guesses, b"the truthREADY"]
    assert len(printed) < len(guesses)
    assert b"the truthREADY" not in printed
    # And what came after the first sign of it was not believed.
    assert [event.name for event in ears.events if isinstance(event, Notice)].count("end") == 1


#: Forty megabytes, as fast as a pane can.
BURST = "head -c 40000000 /dev/zero | tr '\\0' x"


async def test_a_burst_is_heard_whole_while_questions_are_answered(server: Server) -> None:
    ears = Ears()
    answered_in: list[float] = []

    # On a busy machine we may be slow to read: that is not what is looked at here.
    async with server.attach(ears, flags="ignore-size,pause-after=60") as client:
        await client.ask(line("new-window", "-d", "-t", "hub:", f"{BURST}; exec cat"))
        with anyio.fail_after(60):
            while ears.sizes["%1"] < 40_000_000:
                asked_at = time.monotonic()
                await client.ask(MARKER)
                answered_in.append(time.monotonic() - asked_at)

    assert ears.output("%1") == b"x" * 40_000_000
    assert len(answered_in) > 20
    assert max(answered_in) < 5


async def test_a_daemon_that_stood_still_is_told_of_the_gap_and_goes_on(server: Server) -> None:
    """The client without output keeps tmux from holding the pane up meanwhile."""
    signal_end = f"tmux -S {server.socket} wait-for -S done"
    program = f"{BURST}; sleep 1.2; echo more; {signal_end}; exec cat"
    ears = Ears()

    async with (
        server.attach(flags="ignore-size,no-output") as commands,
        server.attach(ears, flags="ignore-size,pause-after=1") as client,
    ):
        await commands.ask(line("new-window", "-d", "-t", "hub:", program))
        server.run("wait-for", "done")  # not awaited: nothing is read until the burst is over
        await ears.until(lambda: Paused("%1") in ears.events)
        answers = [await each.ask(MARKER, deadline=1) for each in (client, commands)]
        heard = ears.sizes["%1"]
        # Whoever lets it flow finds that in the reply, against tmux's manual.
        flowing = await client.ask(line("refresh-client", "-A", "%1:continue"))
        await commands.ask(line("send-keys", "-t", "%1", "word"))
        await ears.until(lambda: ears.output("%1").endswith(b"word"))

    assert answers == [[(b"here",)], [(b"here",)]]
    assert heard < 40_000_000
    assert flowing == [(b"%continue %1",)]


async def test_a_pane_that_another_client_pauses_and_continues_is_heard_of(
    server: Server,
) -> None:
    ears = Ears()

    async with (
        server.attach() as other,
        server.attach(ears, flags="ignore-size,pause-after=1") as client,
    ):
        ((name,),) = await client.ask(line("display-message", "-p", "#{client_name}"))
        for flow in ("pause", "continue"):
            await other.ask(line("refresh-client", "-t", name.decode(), "-A", f"%0:{flow}"))
        await ears.until(lambda: Continued("%0") in ears.events)

    flows = [event for event in ears.events if isinstance(event, Paused | Continued)]
    assert flows == [Paused("%0"), Continued("%0")]


async def test_a_hearer_that_fails_is_named_and_the_others_words_are_heard(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Event] = []

    def fail(event: Event) -> None:
        heard.append(event)
        message = "no ears today"
        raise LookupError(message)

    async with server.attach(fail) as client:
        await client.ask(line("new-window", "-d", "-t", "hub:", "cat"))
        replies = await client.ask(MARKER)

    assert replies == [(b"here",)]
    assert any(isinstance(event, Notice) and event.name == "window-add" for event in heard)
    assert "no ears today" in caplog.text


@pytest.mark.parametrize("how", ["kill-server", "SIGKILL", "kill-session"])
async def test_when_the_server_goes_everybody_who_waits_is_told(
    server: Server, how: str
) -> None:
    failures: list[TmuxGone] = []
    ears = Ears()
    # Not by wait-for: tmux lets go of all who wait so before it ends, and answers them.
    hold = line("run-shell", f"tail --pid={server.pid} -f /dev/null")

    async def wait() -> None:
        with pytest.raises(TmuxGone) as failure:
            await client.ask(hold, MARKER)
        failures.append(failure.value)

    async with server.attach(ears) as client:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            if how == "SIGKILL":
                server.signal(signal.SIGKILL)
            else:
                server.run(how)
            with anyio.fail_after(1):
                await client.gone.wait()
        with pytest.raises(TmuxGone):
            await client.ask(MARKER)

    assert len(failures) == 5
    assert client.gone.is_set()
    assert any(isinstance(event, ProtocolExit) for event in ears.events)


async def test_a_server_that_stands_still_is_silent_and_then_not_trusted(
    server: Server,
) -> None:
    neighbours: list[str] = []

    async def wait_beside() -> None:
        with pytest.raises(TmuxGone) as failure:
            await client.ask(MARKER)
        neighbours.append(str(failure.value))

    async with server.attach() as client:
        server.signal(signal.SIGSTOP)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_beside)
            started = time.monotonic()
            with pytest.raises(TmuxSilent):
                await client.ask(MARKER, deadline=0.2)
            waited = time.monotonic() - started
        server.signal(signal.SIGCONT)
        with pytest.raises(TmuxGone):
            await client.ask(MARKER)

    assert 0.1 < waited < 2
    assert neighbours == ["The connection to tmux is gone: it did not answer"]


@pytest.mark.spec("K4")
async def test_a_question_has_its_time_from_when_tmux_begins_it(server: Server) -> None:
    slow, deadline, count = line("run-shell", "sleep 0.5"), 2.5, 6  # together that takes longer
    async with server.attach() as client:
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(partial(client.ask, slow, deadline=deadline))

        assert not client.gone.is_set()


async def test_a_client_that_cannot_leave_by_itself_is_killed(server: Server) -> None:
    async with server.attach() as client:
        child = psutil.Process(await pid_of(client))
        server.signal(signal.SIGSTOP)
        started = time.monotonic()
    waited = time.monotonic() - started

    assert not child.is_running()
    assert waited < 4


async def pid_of(client: ControlClient) -> int:
    ((pid,),) = await client.ask(line("display-message", "-p", "#{client_pid}"))
    return int(pid)


async def test_a_client_leaves_nothing_behind(server: Server) -> None:
    async with server.attach() as client:
        child = psutil.Process(await pid_of(client))
        started = time.monotonic()
    waited = time.monotonic() - started

    assert not child.is_running()
    assert waited < 1
    assert server.run("list-clients") == ""
    with pytest.raises(TmuxGone, match="it was closed"):
        await client.ask(MARKER)


async def test_a_client_whose_block_is_cancelled_leaves_nothing_behind(server: Server) -> None:
    with anyio.CancelScope() as scope:
        async with server.attach() as client:
            child = psutil.Process(await pid_of(client))
            scope.cancel()
            await client.ask(line("wait-for", "never"), MARKER)

    assert scope.cancelled_caught
    assert not child.is_running()


async def test_a_key_pressed_on_the_daemons_terminal_does_not_reach_the_client(
    server: Server,
) -> None:
    async with server.attach() as client:
        child = await pid_of(client)

        assert os.getsid(child) == child != os.getsid(0)


async def test_a_client_killed_by_somebody_is_gone(server: Server) -> None:
    async with server.attach() as client:
        os.kill(await pid_of(client), signal.SIGKILL)
        with anyio.fail_after(1):
            await client.gone.wait()

    assert server.run("list-clients") == ""


async def test_attaching_does_not_change_the_sessions_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = server.run("show-environment", "-t", "hub")
    monkeypatch.setenv("DISPLAY", ":77")

    async with server.attach():
        assert server.run("show-environment", "-t", "hub") == before


async def test_attaching_to_no_session_is_refused(server: Server) -> None:
    client = ControlClient(
        "tmux", server.socket, "nobody", flags="ignore-size", hear=lambda event: None
    )

    with pytest.raises(TmuxRefused, match="can't find session: nobody"):
        async with client:
            pytest.fail("there is no such session")


async def test_attaching_to_no_server_starts_none(tmp_path: Path) -> None:
    client = ControlClient("tmux", tmp_path / "none", "hub", flags="", hear=lambda event: None)

    with pytest.raises(TmuxGone, match="No such file or directory"):
        async with client:
            pytest.fail("there is no such server")

    assert not (tmp_path / "none").exists()


async def test_without_tmux_there_is_no_connection(server: Server) -> None:
    nothing = str(server.folder / "no-tmux")
    client = ControlClient(nothing, server.socket, "hub", flags="", hear=lambda event: None)

    with pytest.raises(TmuxGone, match="no-tmux"):
        async with client:
            pytest.fail("there is no such program")
