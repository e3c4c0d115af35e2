"""The command that copies an answer to the clipboard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypedDict, Unpack

import click

from rookery.cli.clipboard import copy_text
from rookery.cli.completion import of_any_session
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import reply
from rookery.client import Client
from rookery.client.turns import show_turns
from rookery.model.code_blocks import code_blocks
from rookery.model.errors import BadInput, CommandRefused
from rookery.presentation.texts import count, plain

#: Maximum latest turns of a session that are searched for an answer: a turn that runs or was
#: interrupted may have none.
MAX_TURNS = 50

#: Maximum sessions of one conversation that are searched.
MAX_SESSIONS = 20

#: The value of --block without a number.
LAST_BLOCK = 0

#: The terminal of the command, also if its output is redirected.
TERMINAL = Path("/dev/tty")


class CopyOptions(TypedDict):
    block: int | None
    prompt: bool
    prints: bool
    as_json: bool
    name: str


@click.command(
    epilog=examples(
        "rookery copy builder",
        "rookery copy builder --block",
        "rookery copy builder --block 2 --print > patch.diff",
    )
)
@click.option(
    "--block",
    "-b",
    type=click.IntRange(min=0),
    is_flag=False,
    flag_value=LAST_BLOCK,
    default=None,
    help="Only its code block with this number; without a number, the last one.",
)
@click.option("--prompt", is_flag=True, help="The prompt instead of the answer.")
@click.option("--print", "prints", is_flag=True, help="Print it instead of copying it.")
@as_json
@of_any_session
@pass_client
def copy(daemon: Client, **given: Unpack[CopyOptions]) -> None:
    """Copy the last answer of a session, or a code block of it, to the clipboard.

    It uses wl-copy, xclip, xsel or pbcopy; otherwise, and over SSH, the terminal (OSC 52, at
    most 74,994 bytes).
    """
    text = _last_text(daemon, given["name"], "prompt" if given["prompt"] else "answer")
    if given["block"] is not None:
        text = _block(text, given["block"])
    text = plain(text)  # pasted into a terminal, control characters could run commands
    if given["prints"]:
        reply({"text": text}, lambda: click.echo(text), as_json=given["as_json"])
        return
    how = copy_text(text, os.environ, TERMINAL)
    lines = len(text.splitlines())
    copied = {"lines": lines, "bytes": len(text.encode()), "how": how}
    reply(copied, f"Copied {count(lines, 'line')} ({how}).", as_json=given["as_json"])


def _last_text(daemon: Client, name: str, kind: Literal["prompt", "answer"]) -> str:
    """Return the last answer or prompt of a session, or else of those that it continues."""
    session: str | None = name
    for _ in range(MAX_SESSIONS):
        if session is None:
            break
        turns = show_turns(daemon, session, last=MAX_TURNS)
        for turn in reversed(turns.turns):
            if text := turn.prompt if kind == "prompt" else turn.answer:
                return text
        session = turns.session.continues
    raise CommandRefused(f"{name} has no {kind} yet.")


def _block(text: str, number: int) -> str:
    blocks = code_blocks(text)
    if not blocks:
        raise CommandRefused("The text has no code block.")
    if number > len(blocks):
        raise BadInput(f"there is no code block {number}; the text has {len(blocks)}.")
    return blocks[number - 1]
