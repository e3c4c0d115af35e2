"""Messages with awkward characters, and a program that records what is typed."""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
import unicodedata
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from rookery.agents.shell import SHELL
from rookery.model.facts import SessionId
from rookery.model.messages import MAX_MESSAGE_BYTES, Parcel, Step, Words, clean
from rookery.model.screens import Screen, View
from rookery.ports.agent import Agent
from rookery.ports.runtime import Launch
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.runtime import TmuxRuntime
from rookery.runtimes.tmux.server import ServerSite
from tests.support.contract.tmux import holding, site_in
from tests.support.dialects import screen_of
from tests.support.paths import SUPPORT

#: Seconds for anything that should happen at once, on a busy machine.
SOON = 20.0


READER = SUPPORT / "real" / "raw_reader.py"


#: What is pressed after words, and cannot be among them: all before it has arrived.
MARK = b"\x03\r"


#: What terminals, shells and people give a meaning.
AWKWARD = "-;:'\"\\`$(){}[]<>|&#~%*?!@=^/ \t\n\r\x1b\x7f\x9b"


#: Combining, from right to left, of no width, of two cells, private, and no character at all.
ODD = "e\u0301א\u202e\u2066\u200b\u200d\ufeff\u00ad漢👩🏽🇩🇪\ue000\U0010fffd\uffff\U0010ffff"


def read_box(screen: Screen) -> View:
    return View({"box: empty": "", "box: full": "words"}.get(screen.lines[0]))


#: A program whose box can be read off its screen, as an agent's can.
BOXED = replace(SHELL, name="boxed", screen=replace(screen_of("demo"), read=read_box))


@dataclass(frozen=True, slots=True)
class Writer:
    """Types to a program, and hears every byte that arrives there."""

    runtime: TmuxRuntime
    session: SessionId
    heard: asyncio.StreamReader

    async def send(self, words: str) -> bytes:
        """Send words as the courier does; return all that has arrived once it is done."""
        parcel = self.parcel(words)
        await self._is_ready()
        try:
            await self.runtime.typist(self.session).paste(parcel)
            assert await self.runtime.typist(self.session).is_shown(parcel, within=SOON)
            await self.runtime.typist(self.session).submit(parcel)
        finally:  # also if it went wrong: the next words begin with nothing before them
            await self.runtime.terminal(self.session).press("ctrl-c", "enter")
            async with asyncio.timeout(SOON):
                arrived = await self.heard.readuntil(MARK)
        return arrived.removesuffix(MARK)

    def parcel(self, words: str) -> Parcel:
        return Parcel(1, self.session, words, Step.SENDING, datetime.now(UTC))

    async def _is_ready(self) -> None:
        async with asyncio.timeout(SOON):
            async for lines in self.runtime.terminal(self.session).screens():
                if lines[0] == "box: empty":
                    return

    async def held_by_tmux(self) -> list[tuple[bytes, ...]]:
        """Say which server it is, what runs there, and what it keeps of what we sent."""
        return await self.runtime.server.ask(
            line("display-message", "-p", "#{pid}"),
            line("list-panes", "-a", "-F", "#{session_name} #{pane_pid} #{pane_dead}"),
            line("list-buffers"),
        )


@asynccontextmanager
async def writing(site: ServerSite, dialect: Agent, *options: str) -> AsyncIterator[Writer]:
    """Have a program run, and be written to, while the block lasts."""
    session, door = SessionId(str(uuid4())), str(site.folder / "r.sock")
    argv = (sys.executable, "-I", str(READER), door, *options)
    environment = {"PATH": os.environ["PATH"], "HOME": str(site.folder)}
    callers: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    def meet(heard: asyncio.StreamReader, spoken: asyncio.StreamWriter) -> None:
        callers.put_nowait((heard, spoken))

    async with (
        holding(site) as runtime,
        await asyncio.start_unix_server(meet, door, limit=4 * MAX_MESSAGE_BYTES),
    ):
        await runtime.start(Launch(session, dialect, argv, environment, site.folder))
        async with asyncio.timeout(SOON):
            heard, spoken = await callers.get()
            async for lines in runtime.terminal(session).screens():
                if lines[0] == "box: empty":
                    break
                # Only now: its first words, which we must hear, ask for brackets.
                spoken.write(b"!")
        with closing(spoken):
            yield Writer(runtime, session, heard)


def hostile(file: Path) -> tuple[str, ...]:
    """Return words that would make ``file``, or end tmux, if a shell or tmux read them."""
    touch = f"touch {file}"
    return (
        f"$({touch})",
        f"`{touch}`",
        f"; {touch} ;",
        f"'; {touch}; '",
        f'"; {touch}; "',
        f"\n{touch}\n",
        f"#({touch})",
        f"%if 1\nrun-shell '{touch}'\n%endif",
        f"x\nrun-shell '{touch}'\n",
        f"%end 1 1 1\nrun-shell '{touch}'\n",
        f"\\; run-shell '{touch}' \\;",
        f"{{ run-shell '{touch}' }}",
        f"\x1b[201~\r{touch}\r",
        f"\x9b201~\r\n{touch}\r\n",
        "\x1b[201~\x1b[200~",
        "x\nkill-server\n",
        "x\r\nkill-server\r\n",
        "; kill-server ;",
        "#{pid} #{l:x} #{E:@x}",
        "%exit",
        "-t rookery",
        "--",
        "\x03\x04\x1a\x1c\x11\x13",
        "\x1b]52;c;cm0=\x07\x1bP$q\x1b\\",
        "Enter C-c Escape",
        "~/x $HOME @1 %1 =",
    )


def words(file: Path) -> st.SearchStrategy[str]:
    """Generate what can be sent: of all characters there are, and the worst of them often."""
    near = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    far = st.characters(exclude_categories=["Cs"], min_codepoint=0x100)
    control = st.characters(categories=["Cc"], exclude_characters="\0")
    awkward = st.sampled_from(AWKWARD + ODD)
    runs = (st.text(each, min_size=1) for each in (near, far, control, awkward))
    piece = st.one_of(*runs, st.sampled_from(hostile(file)))
    text = st.lists(piece, min_size=1).map("".join)
    long = st.builds(of_size, text, st.integers(100, 8_000))
    return (text | long).filter(can_be_sent)


def can_be_sent(text: str) -> bool:
    return bool(kept(text).strip())


def of_size(text: str, size: int) -> str:
    """Repeat words until they have so many bytes, and not one more."""
    encoded = text.encode()
    cut = (encoded * (size // len(encoded) + 1))[:size].decode(errors="ignore")
    return cut + "x" * (size - len(cut.encode()))


def of_everything(chance: random.Random, size: int) -> str:
    """Make words of that many bytes, all of which are to arrive."""
    code_points = (chance.randrange(0x20, 0x110000) for _ in range(5_000))
    text = "".join(map(chr, code_points)) + AWKWARD + ODD
    return of_size(kept(text.encode(errors="ignore").decode()), size)


def kept(text: str) -> str:
    unix = text.replace("\r\n", "\n")
    return "".join(
        each for each in unix if each in "\t\n" or unicodedata.category(each) != "Cc"
    )


def pasted(text: str, dialect: Agent) -> bytes:
    """Return what a program gets. A blank ends what Enter would complete, in a box."""
    unfinished = dialect.screen and re.search(r"(\\|(^|\s)@\S*)\Z", text)
    return b"\x1b[200~" + text.encode() + (b" " if unfinished else b"") + b"\x1b[201~\r"


def send_many(
    folder: Path, dialect: Agent, *, generated: int, sizes: Sequence[int], seed: int
) -> int:
    """Send generated words, and some of these sizes; say how many arrived as they should."""
    chance, file, sent = random.Random(seed), folder / "pwned", 0  # noqa: S311 - repeatable
    with (
        site_in(folder) as site,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(writing(site, dialect, "brackets")) as writer,
    ):

        def arrives(text: str) -> None:
            nonlocal sent
            removed = len(text.replace("\r\n", "\n")) - len(kept(text))
            assert clean(text) == Words(kept(text), removed)
            assert portal.call(writer.send, kept(text)) == pasted(kept(text), dialect)
            assert not file.exists()
            sent += 1

        as_many = settings(
            max_examples=generated, deadline=None, suppress_health_check=list(HealthCheck)
        )
        before = portal.call(writer.held_by_tmux)
        seeded(seed)(as_many(given(words(file))(arrives)))()
        for size in sizes:
            arrives(of_everything(chance, size))
        assert portal.call(writer.held_by_tmux) == before
    return sent
