"""The commands for what is in front: see sessions as they go on, and leave them alone again."""

from __future__ import annotations

import json
import signal
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from types import FrameType
from typing import Any, NoReturn

import click

from rookery.cli.completion import session_names
from rookery.cli.endings import ended_by, with_names_of
from rookery.cli.exit_codes import INTERRUPTED
from rookery.cli.follow import CHANNEL, Follower, Front
from rookery.cli.render import (
    count,
    cut,
    does,
    first_line,
    folded,
    is_colourful,
    local,
    plain,
    remark,
    say,
    show_json,
    width_here,
)
from rookery.cli.root import as_json, client, examples, rookery
from rookery.client import Client
from rookery.model.errors import BadInput, NotRunning

#: Cells of a tool's name, and of why a session has ended.
TOOL, WHY = 60, 400

#: What ends this command as Ctrl-C does: it is told to, or its terminal was closed.
ENDS = (signal.SIGTERM, signal.SIGHUP)


@rookery.command(epilog=examples("rookery fg", "rookery fg builder", "rookery fg | tee seen"))
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
def fg(*, name: str, as_json: bool) -> None:
    """Show a session as it goes on: first what you missed, then what comes.

    That is each prompt, each tool, what it asks, and the last words of each turn.
    Without NAME: every session that is in the foreground, also those that an agent brings
    there while this runs. Ctrl-C puts back into the background what this command brought;
    sessions go on. With --json a line each.
    """
    daemon = client()
    if daemon.badge:
        raise BadInput("fg is for a person's terminal; an agent calls its tool `foreground`.")
    follower = Follower(daemon, _tell_json if as_json else _Printer().tell, name)
    with _stoppable(follower):
        follower.follow()


@contextmanager
def _stoppable(follower: Follower) -> Iterator[None]:
    """Put back what was brought, however this ends; after Ctrl-C say how one comes back."""
    ends = [each for each in ENDS if signal.getsignal(each) is signal.SIG_DFL]
    for each in ends:
        signal.signal(each, _interrupt)
    try:
        yield
    except KeyboardInterrupt:
        remark(_put_back(follower))
        sys.exit(INTERRUPTED)
    finally:
        for each in ends:
            signal.signal(each, signal.SIG_DFL)
        _put_back(follower)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _put_back(follower: Follower) -> str:
    """Put back what was brought, and say what is so now."""
    left = [*follower.fronts.values()]
    try:
        ours = follower.put_back()
    except NotRunning:
        names = ", ".join(each.name for each in left)
        return f"\nNo daemon runs: still in the foreground:  {names}"
    if not left:
        return "\nStopped."
    if ours:
        again = "  |  ".join(f"rookery fg {each.name}" for each in ours)
        return f"\n{_names(ours)} in the background now. Come back:  {again}"
    return f"\nStopped; {_names(left)} still in the foreground. Come back:  rookery fg"


def _names(fronts: list[Front]) -> str:
    names = ", ".join(each.name for each in fronts)
    return f"{names} {'is' if len(fronts) == 1 else 'are'}"


def _tell_json(told: Mapping[str, Any]) -> None:
    click.echo(json.dumps(told))
    sys.stdout.flush()


@dataclass(slots=True)
class _Printer:
    """Shows what sessions say as people read it: under a line that says whose it is."""

    speaker: str = ""  #: under whose line the next one would stand

    def tell(self, told: Mapping[str, Any]) -> None:
        match told["kind"]:
            case "nothing":
                remark("Nothing is in the foreground yet. Bring something:  rookery fg NAME")
                remark("This waits for what an agent brings; Ctrl-C stops it.")
            case "foreground":
                self._tell_omitted(told)
            case "state":
                remark(f"{told['name']} {does(told['state'])}; it is shown here as it goes on.")
            case "background":
                self._tell_left(told)
            case "ended":
                self._tell_end(told)
            case _:
                self._tell_of_turn(told)
        sys.stdout.flush()

    def _tell_of_turn(self, told: Mapping[str, Any]) -> None:
        match told["kind"]:
            case "prompt":
                self.speaker = ""
                self._head(told)
                _show_prompt(told["prompt"])
            case "turn":
                self._tell_turn(told)
            case "words":
                self._head(told)
                _show_words(told["words"])
            case "tool":
                self._head(told)
                say(f"🔧 {_line(told['tool'], TOOL)}")
            case "asks":
                self._head(told)
                asked = f"{told['name']} waits for you: {first_line(told['message'])}"
                say(_line(asked, width_here()))
                for number, option in enumerate(told["options"], 1):
                    say(f"  {_line(f'{number}. {option}', width_here() - 2)}")
                say(f"  {told['answer']}")

    def _head(self, told: Mapping[str, Any]) -> None:
        """Say whose the next lines are, unless that is said already."""
        if self.speaker != told["session"]:
            self.speaker = told["session"]
            click.secho(plain(f"{told['name']}  {_when(told['at'])}"), bold=is_colourful())

    def _tell_turn(self, told: Mapping[str, Any]) -> None:
        turn = told["turn"]
        if not told["is_begun"]:
            self.speaker = ""
        if not (told["is_begun"] and told["is_same"]):
            self._head(told)
        if not told["is_begun"] and turn["prompt"]:
            _show_prompt(turn["prompt"])
        if told["is_same"]:
            if not told["is_begun"]:
                say("  (answered with the one before)\n")
            return
        if turn["how"] != "finished":
            say(f"  ({turn['how']})")
        _show_words(turn["answer"])
        self.speaker = ""

    def _tell_omitted(self, told: Mapping[str, Any]) -> None:
        if told["omitted"]:
            earlier = count(told["omitted"], "earlier turn")
            say(f"({earlier}: rookery output {told['name']})\n")

    def _tell_left(self, told: Mapping[str, Any]) -> None:
        self.speaker = ""
        name = told["name"]
        by = "by an agent" if told["by"].startswith("session ") else "by another command"
        remark(f"{name} was put into the background, {by}. Come back:  rookery fg {name}")

    def _tell_end(self, told: Mapping[str, Any]) -> None:
        self.speaker = ""
        why = _line(first_line(told["reason"]), WHY).removesuffix(".")
        how = f"{told['status']}, {why}" if why else told["status"]
        if ended := ended_by(told):
            say(f"{told['name']} was {with_names_of(ended, client())}.")
            return
        say(f"{told['name']} has ended: {how}.")


def _show_prompt(prompt: str) -> None:
    click.secho(f"❯ {_line(prompt, width_here() - 2)}", bold=is_colourful())


def _show_words(words: str) -> None:
    """Show what an agent said; set in, so that none of it looks like a line of ours.

    That holds in a terminal, too, where long lines would go on at its edge.
    """
    words = plain(words).expandtabs(4)
    if sys.stdout.isatty():
        words = folded(words, width_here() - 2)
    say(textwrap.indent(words, "  ") + "\n" if words else "")


def _line(text: str, width: int) -> str:
    return cut(" ".join(plain(text).split()), width)


def _when(at: str) -> str:
    """Say when it was; of today only the time."""
    moment = local(at)
    today = datetime.now().astimezone().strftime("%Y-%m-%d ")
    return moment.removeprefix(today)


@rookery.command(epilog=examples("rookery bg builder", "rookery bg --all"))
@click.option("--all", "everything", is_flag=True, help="All that are in the foreground.")
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
def bg(*, name: str, everything: bool, as_json: bool) -> None:
    """Put a session into the background: it goes on, and what it says waits for you.

    Without NAME: the one that is in the foreground. A `rookery fg NAME` that runs elsewhere
    ends.
    """
    if name and everything:
        raise BadInput("say which session, or --all.")
    daemon = client()
    names = [name] if name else _in_front(daemon, everything=everything)
    put = [_put(daemon, each) for each in names]
    if as_json:
        show_json({"background": put})
        return
    for each in put:
        say(_told(each))
    if not put:
        say("Nothing is in the foreground.")


def _in_front(daemon: Client, *, everything: bool) -> list[str]:
    found = daemon.get("foregrounds", channel=CHANNEL)["foregrounds"]
    if len(found) > 1 and not everything:
        names = (daemon.get("sessions", each["session"])["name"] for each in found)
        raise BadInput(
            f"several are in the foreground: {', '.join(names)}. Say which, or --all."
        )
    return [each["session"] for each in found]


def _put(daemon: Client, session: str) -> Mapping[str, Any]:
    put = daemon.post("sessions", session, "background", channel=CHANNEL)
    name = daemon.get("sessions", put["session"])["name"]
    return {"name": name, **put}


def _told(put: Mapping[str, Any]) -> str:
    name = put["name"]
    if not put["was_in_front"]:
        return f"{name} was not in the foreground."
    return f"{name} is in the background now. Come back:  rookery fg {name}"
