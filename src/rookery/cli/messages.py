"""The commands for words: send them, ask for an answer, read what was said."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import IO, Any

import click

from rookery.cli.blocked import how_to_answer, obstacle, open_requests, why_kept
from rookery.cli.completion import of_session
from rookery.cli.render import (
    HELD,
    complain,
    count,
    cut,
    first_line,
    plain,
    remark,
    say,
    show_json,
)
from rookery.cli.root import SECONDS, as_json, client, rookery
from rookery.cli.waiting import await_return, goes_on, patiently, stoppable
from rookery.client import Client, CutOff
from rookery.model.errors import BadInput, NotRunning, TimedOut
from rookery.model.sessions import HEADLESS

#: Seconds for words to leave, before it is said that they wait.
LEAVING = 1.0

#: What is said of words that no turn has taken up.
UNHEARD = {"failed": "never delivered", "unsure": "it may not have arrived"}


def prompt_of(words: tuple[str, ...], file: IO[bytes] | None = None) -> str:
    """Return what was given as words, in a file, or on standard input."""
    if file and words:
        raise BadInput("give a prompt or a file, not both.")
    if file:
        return as_text(file.read(), file.name)
    if words == ("-",):
        return as_text(sys.stdin.buffer.read(), "the input")
    # What the system could not decode is in there as halves of characters.
    return as_text(" ".join(words).encode(errors="surrogateescape"), "the text")


def as_text(data: bytes, what: str) -> str:
    """Decode UTF-8, whatever the locale is. Raises ``BadInput`` for binary data."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{what} is not UTF-8 text (byte {error.start}).") from error


@rookery.command()
@as_json
@of_session
@click.argument("words", nargs=-1, required=True)
def send(*, name: str, words: tuple[str, ...], as_json: bool) -> None:
    """Send WORDS to a session; it gets them once it is idle. "-" reads standard input.

    Words that wait for the same session are joined and answered in one turn, but for those of
    "ask": each of these is a turn of its own.

    Other users of this computer can see the arguments of a command; standard input they cannot.
    """
    daemon = client()
    sent = daemon.post("sessions", name, "messages", words=prompt_of(words))
    message, told = _see_off(daemon, sent)
    if as_json:
        show_json(message)
        return
    say(" ".join([told, *_changes(sent)]))


def _changes(sent: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each way in which the words do not arrive as they were given."""
    if removed := sent["removed"]:
        were = "was" if removed == 1 else "were"
        yield f"{count(removed, 'control character')} {were} taken out."
    if sent.get("changed"):
        yield f"Its program changes them: {sent['changed']}."


def _see_off(daemon: Client, sent: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Wait a moment for words to leave; say whether they did."""
    try:
        found = daemon.get("messages", str(sent["id"]), until="left", timeout=LEAVING)
    except NotRunning:
        return sent, "Kept: the daemon has stopped; they go once it is back:  rookery up"
    except TimedOut:
        look = f"rookery inbox {sent['recipient']}"
        return sent, f"Kept: the daemon took them, and does not answer now. Look with:  {look}"
    return found["message"], fate(found["message"], found["session"], held=found["holding"])


def fate(message: Mapping[str, Any], session: Mapping[str, Any], *, held: bool = False) -> str:
    """Say what became of words, a moment after they were sent."""
    match message["step"]:
        case "submitted" | "acknowledged":
            return "Sent."
        case "unsure":
            return "Sent; it may not have arrived."
        case "failed":
            return f"Not delivered: {why_kept(message) or 'it is over.'}"
        case "pending" if held:
            return f"Kept. {HELD}"
        case _:
            return f"Kept: {obstacle(session, why_kept(message))}"


@rookery.command()
@click.option("--timeout", type=SECONDS, default=600.0, show_default=True, help="Seconds.")
@as_json
@of_session
@click.argument("words", nargs=-1, required=True)
def ask(*, name: str, words: tuple[str, ...], timeout: float, as_json: bool) -> None:
    """Send WORDS to a session, wait, and print its answer. Exits with 1 if the turn failed.

    They are a turn of their own, and not joined with other words that wait.

    "-" reads standard input. Other users of this computer can see the arguments of a command
    for as long as it waits; standard input they cannot.
    """
    daemon = client()
    sent = daemon.post("sessions", name, "messages", words=prompt_of(words), alone=True)
    _tell_if_kept(daemon, sent)
    with stoppable(name):
        found = _see_through(daemon, name, str(sent["id"]), timeout)
        session = found["session"]
        if _is_obeyed(found):
            _tell_of_command(found, as_json=as_json)
            return
        turn = daemon.get("messages", str(sent["id"]), "answer", timeout=0.1)
    if as_json:
        show_json(turn)
    elif turn["how"] != "failed":
        say(turn["answer"])
        _tell_if_unread(turn, session)
    if turn["how"] == "failed":
        complain(f"the turn failed: {turn['answer'] or first_line(session['reason'])}")
    elif turn["how"] != "finished":
        complain(f"the turn was {turn['how']}.")
    if turn["how"] != "finished":
        sys.exit(1)


def _tell_if_unread(turn: Mapping[str, Any], session: Mapping[str, Any]) -> None:
    """Say that an agent's answer may be on its screen only; a shell often prints nothing."""
    if turn["how"] == "finished" and not turn["answer"] and session["agent"] != "shell":
        name = session["name"]
        remark(
            f"{name} answered nothing, or nothing that can be read here. Some agents that were"
            f" started by hand tell their answers by hooks only (rookery hooks install)."
            f" See:  rookery screen {name}"
        )


def _tell_if_kept(daemon: Client, sent: Mapping[str, Any]) -> None:
    """Say what keeps words from being heard; of a dialog more is said below."""
    _, told = _see_off(daemon, sent)
    if told.startswith("Kept") and " asks " not in told:
        remark(told)


def _see_through(daemon: Client, name: str, message: str, timeout: float) -> Mapping[str, Any]:
    """Wait until words are answered, and say at once when their session asks its person."""
    deadline = monotonic() + timeout
    known: dict[str, Any] = {}
    while True:
        found: Mapping[str, Any] = patiently(
            daemon,
            *("messages", message),
            timeout=max(deadline - monotonic(), 0.1),
            otherwise=goes_on(name),
            until="input",
            **known,
        )
        session: Mapping[str, Any] = found["session"]
        if _is_settled(found) or monotonic() > deadline:
            return found
        if session["activity"] in {"permission", "question"}:
            known = {"known": session["since"]}
            _tell_of_dialog(session)


def _is_settled(found: Mapping[str, Any]) -> bool:
    lost = found["message"]["step"] in {"failed", "unsure"}
    has_ended = bool(found["turn"] and found["turn"]["ended_at"])
    return lost or has_ended or _is_obeyed(found)


def _is_obeyed(found: Mapping[str, Any]) -> bool:
    """Return whether the words were a command, of which the program makes no turn."""
    return found["message"]["step"] == "acknowledged" and found["turn"] is None


def _tell_of_command(found: Mapping[str, Any], *, as_json: bool) -> None:
    name = found["session"]["name"]
    if as_json:
        show_json({"command": True, "message": found["message"], "session": found["session"]})
    else:
        say(f"{name} has taken the command. See what it shows:  rookery screen {name}")


def _tell_of_dialog(session: Mapping[str, Any]) -> None:
    complain(f"{session['name']} waits for you: {first_line(session['reason'])}")
    remark(f"  {how_to_answer(session, open_requests(client(), session['id']))}")


@rookery.command()
@click.option("--follow", "-f", is_flag=True, help="Go on as it answers.")
@click.option("--last", type=click.IntRange(1), default=None, help="Only the last turns.")
@as_json
@of_session
def output(*, name: str, follow: bool, last: int | None, as_json: bool) -> None:
    """Print what a session was asked and what it answered."""
    daemon = client()
    ask = partial(daemon.get, "sessions", name, "turns", last=last or 200)
    try:
        found = ask()
    except CutOff:  # the daemon restarts
        await_return(daemon, otherwise=goes_on(name))
        found = ask()
    if as_json:
        show_json({"turns": found["turns"], "unheard": found["unheard"]})
        return
    show_turns(found["turns"], found["session"])
    if follow:
        found = _follow(daemon, found)
    elif not found["turns"] and _is_headless(found["session"]):
        say(f"{found['session']['name']} has no terminal, and has answered nothing yet.")
    elif not found["turns"] and not _tells_its_screen(found["session"]):
        screen = daemon.get("sessions", found["session"]["id"], "screen")["lines"]
        say("\n".join(line.rstrip() for line in screen).strip() or "Nothing yet.")
    _show_rest(found)


def _follow(daemon: Client, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Show turns as they end, until the session does."""
    session = found["session"]
    begun = {turn["started_at"] for turn in found["turns"] if turn["ended_at"] is None}
    while not found["session"]["ended_at"]:
        after = found["count"]
        found = patiently(
            daemon,
            *("sessions", session["id"], "turns"),
            timeout=60.0,
            otherwise=goes_on(session["name"]),
            after=after,
        )
        new = found["count"] - after
        for turn in [turn for turn in found["turns"] if turn["ended_at"]][-new:] if new else []:
            if turn["started_at"] not in begun:
                _show_prompt(turn["prompt"])
            _show_answer(turn, session)
        sys.stdout.flush()
    return found


def show_turns(turns: Sequence[Mapping[str, Any]], session: Mapping[str, Any]) -> None:
    for turn in turns:
        _show_prompt(turn["prompt"])
        _show_answer(turn, session)


def _show_prompt(prompt: str, note: str = "") -> None:
    click.secho("❯ " + cut(plain(" ".join(prompt.split())), 200), bold=True, nl=False)
    say(f"  ({note})" if note else "")


def _show_answer(turn: Mapping[str, Any], session: Mapping[str, Any]) -> None:
    if turn["ended_at"]:
        say(turn["answer"] or f"({turn['how']})")
    elif session["activity"] in {"permission", "question"}:
        say(f"… (it waits for you: {first_line(session['reason'])})")
    else:
        say("… (it is at it)")
    say()


def _show_rest(found: Mapping[str, Any]) -> None:
    """Show the words that nobody heard, and of a session that failed, why."""
    for each in found["unheard"]:
        _show_prompt(each["words"], UNHEARD.get(each["step"], _waits(each)))
    session = found["session"]
    if session["status"] == "failed":
        say(f"{session['name']} failed: {session['reason']}")


def _waits(unheard: Mapping[str, Any]) -> str:
    why = why_kept(unheard)
    return f"it waits: {why.removesuffix('.')}" if why else "it waits"


def _is_headless(session: Mapping[str, Any]) -> bool:
    return bool(session["runtime"] == HEADLESS)


def _tells_its_screen(session: Mapping[str, Any]) -> bool:
    return session["status"] == "failed" and "\n" in session["reason"].strip()
