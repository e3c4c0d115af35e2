"""The commands that answer requests of agents: allow, deny and answer."""

from __future__ import annotations

from functools import partial
from typing import TypedDict, Unpack

import click

from rookery.cli.answer_reports import (
    answer_all,
    await_delivery,
    show_preview,
    tell,
    tell_always,
)
from rookery.cli.completion import asking_names
from rookery.cli.names import known_sessions, name_of
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import reply
from rookery.cli.request_choice import only_request, quoted
from rookery.client import Client
from rookery.client import permissions as api
from rookery.model.errors import BadInput
from rookery.presentation.answers import answer_words


class AllowOptions(TypedDict):
    for_session: bool
    always: bool
    everywhere: bool
    dry_run: bool
    everything: bool
    as_json: bool
    request: str
    pattern: str


@click.command(
    epilog=examples(
        "rookery allow",
        "rookery allow builder --session",
        "rookery allow builder --always",
        "rookery allow builder --always 'Bash git status*'",
    )
)
@click.option(
    "--session",
    "for_session",
    is_flag=True,
    help="Also allow the same call for the rest of the session.",
)
@click.option(
    "--always",
    is_flag=True,
    help="Also add a rule to rules.toml: for this exact call, or for PATTERN, in this project;"
    " of a session in a worktree only in this worktree.",
)
@click.option("--everywhere", is_flag=True, help="With --always: allow it in all projects.")
@click.option("--dry-run", is_flag=True, help="With --always: only show the rule.")
@click.option("--all", "everything", is_flag=True, help="Every open permission request.")
@as_json
@click.argument("request", required=False, default="", shell_complete=asking_names)
@click.argument("pattern", required=False, default="")
@pass_client
def allow(daemon: Client, **given: Unpack[AllowOptions]) -> None:
    """Allow the tool call of REQUEST, or the open request of a session.

    Without REQUEST it allows the only open permission request. PATTERN is the tool's name and
    a glob for its command or path, for instance 'Bash git status*'.
    """
    request, pattern = _request_and_pattern(given)
    if given["everything"]:
        decide = partial(api.allow_request, daemon, for_session=given["for_session"])
        answer_all(daemon, "allow", decide, as_json=given["as_json"])
        return
    always = quoted(["--always", *filter(None, [pattern])]) if given["always"] else ""
    request = request or only_request(daemon, "allow", more=always).id
    if not given["always"]:
        answered = api.allow_request(daemon, request, for_session=given["for_session"])
        tell(await_delivery(daemon, answered), "Allowed", as_json=given["as_json"])
        return
    everywhere = given["everywhere"]
    if given["dry_run"]:
        preview = api.preview_rule(daemon, request, pattern=pattern, everywhere=everywhere)
        show = partial(show_preview, daemon, preview, everywhere=everywhere)
        reply(preview, show, as_json=given["as_json"])
        return
    allowed = api.allow_always(daemon, request, pattern=pattern, everywhere=everywhere)
    tell_always(daemon, allowed, everywhere=everywhere, as_json=given["as_json"])


def _request_and_pattern(given: AllowOptions) -> tuple[str, str]:
    """Return the named request and the pattern; check which options go together."""
    request, pattern = given["request"], given["pattern"]
    if given["always"] and " " in request and not pattern:
        request, pattern = "", request  # no name of a session or request contains a blank
    for option, is_given in (
        ("a PATTERN", bool(pattern)),
        ("--everywhere", given["everywhere"]),
        ("--dry-run", given["dry_run"]),
    ):
        if is_given and not given["always"]:
            raise BadInput(f"{option} needs --always.")
    if given["everything"] and (request or given["always"]):
        raise BadInput("--all takes neither a request nor --always.")
    return request, pattern


@click.command(
    # Further words are refused with a hint at --reason.
    context_settings={"allow_extra_args": True},
    epilog=examples("rookery deny", 'rookery deny builder --reason "Use the cache."'),
)
@click.option("--reason", default="", help="Reason for the agent, if its dialog takes one.")
@click.option("--all", "everything", is_flag=True, help="Every open permission request.")
@as_json
@click.argument("request", required=False, default="", shell_complete=asking_names)
@pass_client
def deny(daemon: Client, *, request: str, reason: str, everything: bool, as_json: bool) -> None:
    """Deny REQUEST, or the open request of a session.

    Without REQUEST it denies the only open permission request. If the agent asks in its own
    dialog, a denial without a reason also ends its turn, as at the keyboard.
    """
    _require_no_bare_reason(request)
    if everything and request:
        raise BadInput("name a request, or use --all.")
    if everything:
        decide = partial(api.deny_request, daemon, reason=reason)
        answer_all(daemon, "deny", decide, as_json=as_json)
        return
    request = request or only_request(daemon, "deny").id
    answered = api.deny_request(daemon, request, reason=reason)
    tell(await_delivery(daemon, answered), "Denied", as_json=as_json)


def _require_no_bare_reason(request: str) -> None:
    """Refuse a reason that is given without its option. Raises ``BadInput``."""
    # No name of a session or request contains a blank.
    words = [*([request] if " " in request else []), *click.get_current_context().args]
    if words:
        raise BadInput(f"a reason needs an option:  --reason {quoted([' '.join(words)])}")


@click.command(
    epilog=examples(
        "rookery answer 2",
        "rookery answer builder Postgres",
        "rookery answer builder Postgres unit,e2e",
        'rookery answer builder --text "None of them: use SQLite"',
    )
)
@click.option(
    "--text",
    "--own-words",
    "own_words",
    is_flag=True,
    help="Take the answer as free text, not as an option.",
)
@as_json
@click.argument(
    "request_and_words",
    metavar="[REQUEST] ANSWER...",
    nargs=-1,
    shell_complete=asking_names,
)
@pass_client
def answer(
    daemon: Client, *, request_and_words: tuple[str, ...], own_words: bool, as_json: bool
) -> None:
    """Answer a question: by an option's number, name or prefix; or with --text.

    The first word names the request or its session; a single word answers the only open
    question. If an agent asks several questions, give one answer for each, in order.
    """
    if not request_and_words:
        raise BadInput("give an answer:  rookery answer [REQUEST] ANSWER...")
    request, *words = request_and_words
    if not words:
        request, words = _only_question(daemon, request), [request]
    answered = api.answer_request(daemon, request, words, own_words=own_words)
    tell(await_delivery(daemon, answered), "Answered", as_json=as_json)


def _only_question(daemon: Client, word: str) -> str:
    """Return the id of the only open question; refuse a word that names it as the answer."""
    asked = only_request(daemon, "answer", more=quoted([word]))
    names = known_sessions(daemon, [asked.session])
    if word in {asked.id, asked.session, name_of(asked.session, names)}:
        raise BadInput(f"an answer is missing:  rookery answer {word} {answer_words(asked)}")
    return asked.id
