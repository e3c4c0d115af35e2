"""The command that says on what grounds a session is thought to do what it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.cli.completion import of_session
from rookery.cli.endings import ended_by, with_names_of
from rookery.cli.render import ago, does, first_line, out_of_date, say, say_line, show_json
from rookery.cli.root import as_json, client, rookery


@rookery.command()
@as_json
@of_session
def why(*, name: str, as_json: bool) -> None:
    """Say where a session stands, on what evidence, and how sure that is."""
    found = client().get("sessions", name, "why")
    if as_json:
        show_json(found)
        return
    session = found["session"]
    state = session["activity"] or session["status"]
    reason = f": {first_line(session['reason'])}" if session["reason"] else ""
    since = ago(session["since"])
    if ended := ended_by(session):
        say(f"{session['name']} was {with_names_of(ended, client())} {since} ago.")
    else:
        say(f"{session['name']} {does(state)} since {since}{reason}")
    if found.get("trouble"):
        say(out_of_date(found["trouble"]))
    else:
        say(f"This is {found['confidence']}.")
    _say_hook_problems(found)
    for each in found["evidence"]:
        detail = f"  ({each['detail']})" if each["detail"] else ""
        say_line(f"  {each['source']:10}  {each['claim']:10}  {ago(each['at'])} ago{detail}")
    if not found["has_terminal"]:
        say("It runs without a terminal: its pane is gone, and no key or words reach it.")
        say(f"End it with:  rookery end {session['name']}")
    if shared := found["shares_with"]:
        say(
            f"It shares one conversation with {', '.join(shared)}: each sees only its own part."
        )
    if not found["evidence"]:
        say("  Nothing was heard of it yet.")


def _say_hook_problems(found: Mapping[str, Any]) -> None:
    """Say why rules may not hold for a session."""
    if found["hooks_off"]:
        say(f"Its hooks are switched off by {found['hooks_off']}: no rule holds for it.")
    if found.get("hooks_problem"):
        say(f"{found['hooks_problem']}.")
