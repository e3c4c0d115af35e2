"""Decide which source is believed about a session. Pure: callers read first and record after.

======================  =====================  ===============================================
What is learned         Believed first         Otherwise, and why
======================  =====================  ===============================================
A turn begins           hook                   The session file, after the grace period
                                               (``hook_grace_s``); Enter or the screen if no
                                               hook reports turns (``hooks_report_turns``).
A turn ends             hook                   The session file: hooks do not report an
                                               interruption at the keyboard. Else a quiet
                                               screen, which redraws too often to be believed
                                               while it changes.
A dialog opens, closes  hook                   The session file; else the screen.
The prompt, the answer  hook                   The transcript, which also corrects a hook that
                                               repeats parts or omits how a turn ended; else
                                               the screen, which may have scrolled.
An agent is up          start hook             The screen: its input box may be visible before
                                               it accepts input.
A program ends          process, if Rookery    A hook or the session file: only the exit of a
                        started it             child has a status (``is_end_believed``).
Background commands     the later of hook      No hook reports a command that a person stops.
                        and session file
======================  =====================  ===============================================

A hook that arrives after another source was believed completes the turn of that source
(``store.turn_changes``). A claim older than a change by a hook is outdated (``is_outdated``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from rookery.model import facts
from rookery.model.evidence import Claim, Evidence, Source
from rookery.model.facts import Fact, SessionId
from rookery.model.lifecycle import ASKING, Activity, Status
from rookery.model.permissions import MAX_SUMMARY_CHARACTERS
from rookery.model.screens import Dialog, View
from rookery.model.sessions import Session
from rookery.model.short_texts import shortened

#: Seconds for a hook to report what a session file already claims. Then the file is believed,
#: unless ``hook_grace_s`` adds more seconds.
GRACE_S = 0.15

#: Seconds for an agent to continue by itself, with a prompt that was typed during its last
#: turn or with the report of a background subagent.
BETWEEN_TURNS_S = 5.0

#: Seconds for the hook of a prompt to follow a session file that reports work: the file also
#: reports work while the agent clears its conversation, for which no prompt's hook follows.
PROMPT_HOOK_S = 1.0

#: Seconds after which an agent that is busy without a prompt counts as working: a person has
#: typed a shell command, for instance. Clearing its conversation keeps it busy for less.
UNPROMPTED_S = 2.0

Confidence: TypeAlias = Literal["sure", "likely", "unsure"]


@dataclass(frozen=True, slots=True)
class KnownSession:
    """A session as recorded, and the last report of each source about it."""

    session: Session
    evidence: Mapping[Source, Evidence]
    sets_hooks: bool = False  #: its agent's hooks are set at launch, if Rookery launches it

    @property
    def hook(self) -> Evidence | None:
        return self.evidence.get("hook")

    @property
    def file(self) -> Evidence | None:
        return self.evidence.get("registry")


def confidence(known: KnownSession) -> Confidence:
    """Return how reliable the recorded state of a session is."""
    state, file = known.session.state, known.file
    if state.status.is_over or known.hook or file or "stream" in known.evidence:
        is_running = state.status is Status.RUNNING
        disagrees = file is not None and is_running and file.claim != (state.activity or "")
        return "likely" if disagrees else "sure"
    return "likely" if "screen" in known.evidence else "unsure"


def hooks_report_turns(known: KnownSession) -> bool:
    """Return whether prompts and stops are reported: by hooks, or by a driven session's stream.

    Hooks count if they were set at launch, or if one has been received before.
    """
    session = known.session
    return known.hook is not None or session.is_driven or (session.is_ours and known.sets_hooks)


def file_reports_activity(known: KnownSession) -> bool:
    """Return whether an observed session's activity is taken from its file, not its screen.

    The file may miss a turn that is over at once. The recorded activity is then newer.
    """
    session, file = known.session, known.file
    if session.is_ours or file is None:
        return False
    return file.claim == session.activity or file.at >= session.since


def may_end_unreported(known: KnownSession) -> bool:
    """Return whether a turn runs in a user's pane whose end only the screen may show.

    The hooks of some agents report neither interruptions nor refused calls.
    """
    session = known.session
    is_busy = session.activity not in {None, Activity.IDLE}
    return session.is_in_user_pane and is_busy and not file_reports_activity(known)


def has_rested(known: KnownSession, *, since: datetime) -> bool:
    """Return whether the session file's latest report is of an idle agent, after ``since``."""
    file = known.file
    return file is not None and file.claim == Activity.IDLE and file.at > since


def is_end_believed(session: Session, source: Source) -> bool:
    """Return whether a source may end a session.

    The exit of a program that Rookery started is reported by its process, with its status.
    """
    return source == "process" or not session.is_ours


@dataclass(frozen=True, slots=True)
class FileReport:
    """A claim of a session file, and the claim that the file made before."""

    session: SessionId
    claim: Claim
    said_before: Activity | None
    was_menu: bool = False  #: the claim before was that a menu of the program is open


@dataclass(frozen=True, slots=True)
class DialogState:
    """What is known about the turns and dialogs of a session besides its activity."""

    has_turn: bool = True  #: a turn is open; a menu can also open without one
    is_of_subagent: bool = False  #: a subagent asks; the file describes the main agent


def is_outdated(known: KnownSession, claim: Claim) -> bool:
    """Return whether a hook has changed the session's state since its file was written.

    A change of state by the file itself does not count: a claim that was applied late must not
    outdate the next claim of the same file.
    """
    hook = known.hook
    return hook is not None and claim.at <= min(known.session.since, hook.at)


def missed_facts(known: KnownSession, report: FileReport, dialog: DialogState) -> list[Fact]:
    """Return the facts that the session file shows and that hooks did not report."""
    session, claim = known.session, report.claim
    if (session.is_asking and dialog.is_of_subagent) or is_outdated(known, claim):
        return []
    if (fact := _missed_fact(known, report, dialog)) is None:
        return []
    missed = [fact]
    if session.activity is Activity.IDLE and claim.activity is Activity.PERMISSION:
        # An agent asks only during a turn. The work before it asked was too short to be seen.
        missed.insert(0, facts.TurnStarted(session.id, ""))
    if known.hook:
        believed = str(session.activity or session.status)
        disagreed = facts.EvidenceDisagreed(
            session.id, "registry", str(claim.activity), believed
        )
        missed.insert(0, disagreed)
    return missed


def _missed_fact(  # noqa: C901, PLR0911 - a table
    known: KnownSession, report: FileReport, dialog: DialogState
) -> Fact | None:
    activity, claim, session = known.session.activity, report.claim, known.session.id
    if known.session.status is not Status.RUNNING or activity is claim.activity:
        return None
    match claim.activity:
        case Activity.IDLE if activity in ASKING and not dialog.has_turn:
            return facts.InputSettled(session, "terminal", rests=True)
        case Activity.IDLE if known.hook:
            return facts.TurnEnded(session, "", "interrupted")
        case Activity.IDLE:
            return facts.TurnEnded(session)
        case Activity.WORKING if activity in ASKING:
            # The file can only report that a dialog closed if it reported it open before.
            was_open = report.said_before in ASKING
            return facts.InputSettled(session, "terminal") if was_open else None
        case Activity.WORKING:
            return facts.TurnStarted(session, "")
        case Activity.PERMISSION:
            return facts.InputAsked(session, "permission", claim.detail)
        case Activity.QUESTION:
            return facts.InputAsked(session, "question", claim.detail)


def hook_grace_s(known: KnownSession, claim: Claim, *, may_go_on: bool) -> float:
    """Return for how many more seconds a hook may report what a session file claims.

    ``may_go_on``: the agent has queued prompts or subagents, with which it continues by itself.
    """
    if claim.activity is Activity.IDLE and may_go_on:
        return BETWEEN_TURNS_S  # the agent is idle for a moment between two turns
    if claim.activity is Activity.WORKING and known.hook:
        return PROMPT_HOOK_S
    return 0.0


#: A tool may ask for permission so soon that no claim shows the work before it.
_TURN_STARTS = {(Activity.IDLE, Activity.WORKING), (Activity.IDLE, Activity.PERMISSION)}
_TURN_ENDS = {(each, Activity.IDLE) for each in (Activity.WORKING, *ASKING)}


def needs_transcript(known: KnownSession, claim: Claim) -> bool:
    """Return whether only the session file reports that a turn starts, ends or was missed."""
    change = (known.session.activity, claim.activity)
    is_change = change in _TURN_STARTS | _TURN_ENDS
    return known.hook is None and (is_change or may_have_missed_turns(known, claim))


def may_have_missed_turns(known: KnownSession, claim: Claim) -> bool:
    """Return whether an idle agent may have been busy since its file last made a claim."""
    is_idle = known.session.activity is claim.activity is Activity.IDLE
    return is_idle and (known.file is None or claim.at > known.file.at)


def has_background_ended(known: KnownSession, claim: Claim) -> bool:
    """Return whether the session file denies background commands that a hook has reported."""
    has_none = claim.activity is Activity.IDLE and not claim.runs_commands
    is_later = known.hook is not None and claim.at > known.hook.at
    return bool(known.session.background) and has_none and is_later


def needs_no_screen(known: KnownSession, *, has_screen: bool) -> bool:
    """Return whether other sources report all that screen changes could show.

    ``has_screen``: the agent has a screen that can be parsed.
    """
    if known.session.status.is_over:
        return True
    is_hooked = hooks_report_turns(known) and not may_end_unreported(known)
    return known.session.started_at is not None and (is_hooked or not has_screen)


def is_changing_screen_believed(known: KnownSession) -> bool:
    """Return whether a screen is read while it changes, not only once it is quiet."""
    is_hooked = known.session.started_at is not None and hooks_report_turns(known)
    return not is_hooked and not file_reports_activity(known)


def is_view_believed(session: Session, view: View, *, has_start_hook: bool) -> bool:
    """Return whether a changing screen is believed: a visible box may not accept input yet."""
    return bool(view.dialog) or session.started_at is not None or not has_start_hook


def shown_facts(session: Session, view: View, *, was_working: bool = True) -> list[Fact]:
    """Return the facts that a screen shows beyond what is known of its session.

    ``was_working``: the current turn was seen running. Else an idle screen does not end it.
    """
    if session.started_at is None:
        return _shown_at_start(session, view)
    match session.activity:
        case Activity.WORKING | Activity.IDLE if view.dialog:
            return [facts.InputAsked(session.id, view.dialog.kind, _line(view.dialog))]
        case Activity.PERMISSION | Activity.QUESTION if view.has_no_dialog:
            return [facts.InputSettled(session.id)]
        case Activity.WORKING if view.is_resting and was_working and not view.box:
            return [facts.TurnEnded(session.id)]
        case Activity.IDLE if view.is_working:
            # The user has typed in the pane, or it was idle so long that the turn seemed over.
            return [facts.TurnStarted(session.id, "")]
        case _:
            return []


def _line(dialog: Dialog) -> str:
    """Return the text of a dialog for a list, with a mark if it is shortened."""
    return shortened(dialog.text, MAX_SUMMARY_CHARACTERS)


def _shown_at_start(session: Session, view: View) -> list[Fact]:
    """Return the fact that the agent is up, or that a dialog comes first."""
    if session.status not in {Status.STARTING, Status.RUNNING}:
        return []
    if view.dialog and session.activity is None:
        return [facts.InputAsked(session.id, "question", _line(view.dialog))]
    return [facts.SessionStarted(session.id)] if view.box is not None else []


def end_on_quiet_screen(
    known: KnownSession, view: View, *, was_working: bool
) -> facts.TurnEnded | None:
    """Return the end of a turn that an idle, quiet screen shows.

    Where hooks report turns, the only end that they omit is an interruption at the keyboard.
    """
    session = known.session
    if session.status is not Status.RUNNING or session.activity is Activity.IDLE:
        return None
    if hooks_report_turns(known):
        return facts.TurnEnded(session.id, "", "interrupted")
    # Text in the box of a turn that was not seen running is about to be submitted.
    is_over = not view.box or was_working
    return facts.TurnEnded(session.id) if is_over else None
