"""The commands for messages that wait or were not delivered, and to hold deliveries."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import IO

import click

from rookery.cli.completion import session_names
from rookery.cli.conversation import EXPIRED, UNHEARD
from rookery.cli.exit_codes import FAILED
from rookery.cli.names import known_sessions, name_of, with_names
from rookery.cli.options import as_json, examples, from_file, pass_client
from rookery.cli.prompts import words_of
from rookery.cli.render import (
    ago,
    complain,
    remark,
    reply,
    say,
    say_line,
    show_json,
    until,
)
from rookery.cli.wrapping import say_wrapped
from rookery.client import Client
from rookery.client.messages import (
    ClearedInfo,
    InboxInfo,
    LetterInfo,
    MessageInfo,
    clear_inbox,
    edit_message,
    hold_messages,
    release_messages,
    resend_message,
    show_inbox,
    withdraw_message,
)
from rookery.client.sessions import SessionInfo, show_session
from rookery.model.actors import PERSON
from rookery.model.errors import Answered
from rookery.model.messages import EXPIRY
from rookery.model.reason_texts import in_one_line
from rookery.presentation.cells import cut
from rookery.presentation.deliveries import HELD, why_blocked
from rookery.presentation.texts import count

#: Maximum terminal cells of a message's text in the list.
MAX_SHOWN_CELLS = 300


class _ListByDefault(click.Group):
    """Runs the command ``ls`` if no command is named: ``inbox api`` lists api's messages."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        first = next((each for each in args if not each.startswith("-")), "")
        wants_help = not {"-h", "--help"}.isdisjoint(args)
        if first not in self.commands and not wants_help:
            args = ["ls", *args]
        return super().parse_args(context, args)


@click.group(
    cls=_ListByDefault,
    epilog=examples(
        "rookery inbox",
        "rookery inbox api --all",
        "rookery inbox rm 12 13",
        'rookery inbox edit 12 "only the tests"',
        "rookery inbox resend 9",
        "rookery inbox clear api --waiting",
    ),
)
def inbox() -> None:
    """List and change messages that wait, may not have arrived, or were not delivered.

    Without a command, it lists them; a NAME lists those of one session.
    """


@inbox.command(epilog=examples("rookery inbox", "rookery inbox ls api --all --json"))
@click.option("--all", "everything", is_flag=True, help="Also withdrawn and cleared ones.")
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
@pass_client
def ls(daemon: Client, *, name: str, everything: bool, as_json: bool) -> None:
    """List messages that wait, may not have arrived, or were not delivered, and why."""
    found = show_inbox(daemon, name, everything=everything)
    reply(found, partial(_show_inbox, daemon, found), as_json=as_json)


def _show_inbox(daemon: Client, inbox: InboxInfo) -> None:
    if inbox.holding:
        say(HELD)
    texts = [text for each in inbox.letters for text in (each.author, each.withdrawn_by)]
    sessions = known_sessions(daemon, (each.session for each in inbox.letters), texts)
    hold_note = "deliveries are on hold." if inbox.holding else ""
    for letter in inbox.letters:
        to = name_of(letter.session, sessions)
        about = f"{letter.message}  to {to}, from {_actor(letter.author, sessions)}"
        again = f", again after {letter.repeats}" if letter.repeats else ""
        state = _state(letter, sessions, hold_note)
        say_line(f"{about}, {ago(letter.written_at)} ago{again}: {state}")
        say_wrapped(cut(in_one_line(letter.words), MAX_SHOWN_CELLS), first="    ")
    if not inbox.letters:
        say("No messages wait.")
    elif sys.stdout.isatty():
        remark("Change it:  rookery inbox rm|edit|resend ID  |  rookery inbox clear [NAME]")


def _actor(actor: str, sessions: Mapping[str, SessionInfo]) -> str:
    return "you" if actor == str(PERSON) else with_names(actor, sessions)


def _state(letter: LetterInfo, sessions: Mapping[str, SessionInfo], hold_note: str) -> str:
    why, session = letter.blocked_by, sessions.get(letter.session)
    if letter.step == "pending":
        state = f"waits, {why_blocked(session, hold_note or why)}" if session else "waits"
        if letter.expires_at:
            state = f"{state.rstrip('.')} (it expires in {until(letter.expires_at)})."
    elif letter.step == "withdrawn" and letter.withdrawn_by == EXPIRY:
        state = f"{EXPIRED}. {why}".strip()
    elif letter.step == "withdrawn":
        state = f"withdrawn by {_actor(letter.withdrawn_by, sessions)}."
    elif letter.step in UNHEARD:
        state = f"{UNHEARD[letter.step]}. {why}".strip()
    else:
        state = "it is being delivered"
    return f"{state} (cleared)" if letter.cleared_at else state


@inbox.command(epilog=examples("rookery inbox rm 12", "rookery inbox rm 12 13 14"))
@as_json
@click.argument("messages", metavar="ID...", nargs=-1, required=True, type=click.IntRange(1))
@pass_client
def rm(daemon: Client, *, messages: tuple[int, ...], as_json: bool) -> None:
    """Withdraw messages that wait, or stop listing those that were not delivered.

    A message can be withdrawn until it is typed. A command that waits for its answer ends.
    """
    removed: list[MessageInfo] = []
    refusals: dict[int, Answered] = {}
    for number in messages:
        try:
            removed.append(withdraw_message(daemon, number))
        except Answered as refusal:
            refusals[number] = refusal
        else:
            _tell_removed(removed[-1], as_json=as_json)
    if refusals and not removed:
        raise next(iter(refusals.values()))
    if as_json:
        failed = {str(number): str(why) for number, why in refusals.items()}
        show_json({"messages": [each.json for each in removed], "failed": failed})
    for each in refusals.values():
        complain(str(each))
    if refusals:
        sys.exit(FAILED)


def _tell_removed(message: MessageInfo, *, as_json: bool) -> None:
    is_withdrawn = message.step == "withdrawn" and message.withdrawn_by != EXPIRY
    if not as_json:
        verb = "Withdrew" if is_withdrawn else "No longer listed:"
        say(f"{verb} {message.id}{'.' if is_withdrawn else ''}")


@inbox.command(
    epilog=examples(
        'rookery inbox edit 12 "only the tests"',
        "rookery inbox edit 12 --file prompt.md",
        "git diff | rookery inbox edit 12 -",
    )
)
@from_file
@as_json
@click.argument("message", metavar="ID", type=click.IntRange(1))
@click.argument("words", nargs=-1)
@pass_client
def edit(
    daemon: Client,
    *,
    message: int,
    words: tuple[str, ...],
    file: IO[bytes] | None,
    as_json: bool,
) -> None:
    """Replace the text of your message that waits. "-" reads standard input."""
    edited = edit_message(daemon, message, words_of(words, file))
    reply(edited, f"Changed {edited.id}.", as_json=as_json)


@inbox.command(epilog=examples("rookery inbox resend 9", "rookery inbox resend --yes 9"))
@click.option("--yes", "-y", is_flag=True, help="Send it even if it may have arrived.")
@as_json
@click.argument("message", metavar="ID", type=click.IntRange(1))
@pass_client
def resend(daemon: Client, *, message: int, yes: bool, as_json: bool) -> None:
    """Send an undelivered message again, as a new message.

    If its session has ended and was resumed, the new session gets it.
    """
    try:
        sent = resend_message(daemon, message, sure=yes)
    except Answered as refusal:
        if "unsure" not in refusal.details or as_json or not sys.stdin.isatty():
            raise
        asked = f"Message {message} may have arrived. Send it again?"
        click.confirm(asked, abort=True, err=True)
        sent = resend_message(daemon, message, sure=True)
    reply(sent, partial(_tell_resent, daemon, sent), as_json=as_json)


def _tell_resent(daemon: Client, sent: MessageInfo) -> None:
    recipient = show_session(daemon, sent.recipient)
    resumed = ", which continues its conversation" if recipient.continues else ""
    say(f"Sent again as {sent.id} to {recipient.name}{resumed}.")


@inbox.command(epilog=examples("rookery inbox clear", "rookery inbox clear api --waiting"))
@click.option("--waiting", is_flag=True, help="Also withdraw the messages that wait.")
@as_json
@click.argument("name", required=False, default="", shell_complete=session_names)
@pass_client
def clear(daemon: Client, *, name: str, waiting: bool, as_json: bool) -> None:
    """Stop listing messages that were not delivered or may not have arrived."""
    cleared = clear_inbox(daemon, name, waiting=waiting)
    reply(cleared, _cleared(cleared), as_json=as_json)


def _cleared(cleared: ClearedInfo) -> str:
    said = []
    if cleared.withdrawn:
        said.append(f"Withdrew {count(len(cleared.withdrawn), 'message')}.")
    if cleared.cleared:
        said.append(f"Cleared {count(len(cleared.cleared), 'message')}.")
    return " ".join(said) or "There was nothing to clear."


@click.command(epilog=examples("rookery hold"))
@as_json
@pass_client
def hold(daemon: Client, *, as_json: bool) -> None:
    """Pause all deliveries at once: yours, those of relays and notifications."""
    reply(hold_messages(daemon), HELD, as_json=as_json)


@click.command(epilog=examples("rookery release"))
@as_json
@pass_client
def release(daemon: Client, *, as_json: bool) -> None:
    """Resume deliveries."""
    reply(release_messages(daemon), "Deliveries are resumed.", as_json=as_json)
