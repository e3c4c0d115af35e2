"""The keys that answer what the selected session asks, without attaching."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic

from rookery.client.permissions import (
    RequestInfo,
    allow_request,
    answer_request,
    await_delivery,
    deny_request,
)
from rookery.client.sessions import ListedSession
from rookery.model.sessions import ACP
from rookery.presentation.answers import delivery_problem, given_answers, is_undelivered
from rookery.tui import command_lines
from rookery.tui.answer_dialog import AnswerDialog
from rookery.tui.answering import (
    AnswerDraft,
    can_allow,
    can_choose,
    can_deny,
    can_write,
    takes_one_key,
)
from rookery.tui.board_screen import BoardScreen, nothing
from rookery.tui.dialogs import ARMING_DELAY_S, PageScreen, TextDialog
from rookery.tui.request_text import answer_keys, request_lines
from rookery.tui.session_view import asked
from rookery.tui.styled import Span

#: What the protocol does not carry, for the dialog that asks for a reason.
NO_REASON_NOTE = "Over ACP, most requests are denied without it."


class AnswerActions(BoardScreen):
    """Answers the request that is shown, by its id."""

    _changed_at = 0.0  #: when another request last came into view without the user's intent
    _reordered_at = 0.0  #: when rows of the list came, went or changed places
    _answered: frozenset[str] = frozenset()  #: requests that were answered here

    def note_request(self, *, before: RequestInfo | None, now: RequestInfo | None) -> None:
        """Note that the session's own next request has replaced the shown one."""
        if before and now and before.id != now.id and before.session == now.session:
            self._changed_at = monotonic()

    def note_rows(self, *, before: tuple[str, ...], selected: str) -> None:
        """Note whether the list now has other rows than ``before``, or another selection."""
        if before and before != self.table.order:
            self._reordered_at = monotonic()
        if selected and selected != self.table.selected:
            self._changed_at = monotonic()

    def note_selection(self) -> None:
        """Note a selection: just after rows moved, the user may have meant another row."""
        if monotonic() - self._reordered_at < ARMING_DELAY_S:
            self._changed_at = monotonic()

    def _request(self) -> RequestInfo | None:
        """Return the shown request; None if there is none (says so), or if it was answered."""
        session = self.session
        request = self.board.request_of(session.id) if session else None
        if session is None or request is None:
            self.say(_why_no_request(session))
            return None
        shown = self.preview.card.shown
        if shown is None or shown.request.id != request.id or request.id in self._answered:
            return None
        return request

    def _whole_request(self) -> RequestInfo | None:
        """Return the request that a key may answer at once: one that the user has seen whole.

        A request that is not visible as a whole is opened instead.
        """
        request = self._request()
        if request and monotonic() - self._changed_at < ARMING_DELAY_S:
            self.say("Another request has just appeared. Read it, then press the key again.")
            return None
        if request is None or self.preview.card.shows_all:
            return request
        self._open_request(request)
        return None

    def _open_request(self, request: RequestInfo) -> None:
        name = self.session.name if self.session else ""
        keys = [each for each in answer_keys(request) if each[0] in {"a", "A", "d"}]
        page = PageScreen(
            f"{name} asks",
            partial(request_lines, request),
            answers=(*keys, *_option_keys(request)),
        )
        self.app.push_screen(page, partial(self._answer_by_key, request))

    def _answer_by_key(self, request: RequestInfo, key: str | None) -> None:
        match key:
            case None:
                return
            case "a" | "A":
                self._allow(request, for_session=key == "A")
            case "d":
                self._ask_reason(request)
            case _:
                self._choose(request, int(key))

    def action_show_request(self) -> None:
        if request := self._request():
            self._open_request(request)

    def action_allow(self) -> None:
        if (request := self._whole_request()) and self._can_allow(request):
            self._allow(request, for_session=False)

    def action_allow_for_session(self) -> None:
        if (request := self._whole_request()) and self._can_allow(request):
            self._allow(request, for_session=True)

    def _can_allow(self, request: RequestInfo) -> bool:
        if not can_allow(request):
            self.say(f"It asks a question. {_ways(request)}")
        return can_allow(request)

    def _allow(self, request: RequestInfo, *, for_session: bool) -> None:
        make = command_lines.allow_for_session if for_session else command_lines.allow
        work = partial(allow_request, self.daemon, request.id, for_session=for_session)
        self._answer(request, make(request.id), "Allowed", work)

    def action_deny(self) -> None:
        request = self._whole_request()
        if request and not can_deny(request):
            self.say(f"It asks a question that cannot be denied. {_ways(request)}")
        elif request:
            self._ask_reason(request)

    def _ask_reason(self, request: RequestInfo, problem: str = "", *, text: str = "") -> None:
        title = "Deny it. Reason for the agent (optional):"
        asker = self.board.sessions.get(request.session)
        about = [(Span(NO_REASON_NOTE, "faint"),)] if asker and asker.runtime == ACP else []
        dialog = TextDialog(title, about=about, text=text, problem=problem)
        self.app.push_screen(dialog, partial(self._deny, request))

    def _deny(self, request: RequestInfo, reason: str | None) -> None:
        if reason is None:
            return
        line = command_lines.deny(request.id, reason.strip())
        work = partial(deny_request, self.daemon, request.id, reason=reason.strip())
        again = partial(self._ask_reason, request, text=reason)
        self._answer(request, line, "Denied", work, again)

    def action_choose(self, number: int) -> None:
        # The dialog for several answers itself shows the whole request.
        request = self._request()
        if request and takes_one_key(request):
            request = self._whole_request()
        if request:
            self._choose(request, number)

    def _choose(self, request: RequestInfo, number: int) -> None:
        if not can_choose(request, number):
            self.say(f"It has no option {number}.")
            return
        draft = AnswerDraft(request)
        draft.choose(number)
        if takes_one_key(request):
            self._send(draft)
            return
        if not draft.question.takes_several:
            draft.move(1)
        self._open_draft(draft)

    def action_write_answer(self) -> None:
        request = self._request()
        if request is None:
            return
        if not can_write(request):
            self.say(f"It takes no free text here. {_ways(request)}")
        elif takes_one_key(request):
            self._ask_text(AnswerDraft(request))
        else:
            self._open_draft(AnswerDraft(request))

    def _ask_text(self, draft: AnswerDraft, problem: str = "", *, text: str = "") -> None:
        title = f"Answer: {draft.request.questions[0].text}"
        dialog = TextDialog(title, text=text, problem=problem)
        self.app.push_screen(dialog, partial(self._send_text, draft))

    def _open_draft(self, draft: AnswerDraft, problem: str = "") -> None:
        asker = self.board.sessions.get(draft.request.session)
        dialog = AnswerDialog(draft, name=asker.name if asker else "", problem=problem)
        self.app.push_screen(dialog, self._send_draft)

    def _send_text(self, draft: AnswerDraft, text: str | None) -> None:
        if text and text.strip():
            draft.write(text)
            self._send(draft, partial(self._ask_text, draft, text=text))

    def _send_draft(self, draft: AnswerDraft | None) -> None:
        if draft:
            self._send(draft, partial(self._open_draft, draft))

    def _send(self, draft: AnswerDraft, again: Callable[[str], None] = nothing) -> None:
        request, answers, own = draft.request, draft.answers(), draft.own_words
        line = command_lines.answer(request.id, answers, own_words=own)
        work = partial(answer_request, self.daemon, request.id, answers, own_words=own)
        self._answer(request, line, "Answered", work, again)

    def _answer(
        self,
        request: RequestInfo,
        command_line: str,
        word: str,
        work: partial[RequestInfo],
        again: Callable[[str], None] = nothing,
    ) -> None:
        """Send an answer, and show once it has reached the agent.

        ``again`` asks for an answer that the daemon did not accept.
        """
        accepted = list[RequestInfo]()
        self._answered |= {request.id}

        def delivered() -> RequestInfo:
            accepted.append(answered := work())
            self.call_later(
                self.say, f"{word}; its agent takes it …", command_line=command_line
            )
            return await_delivery(self.daemon, answered)

        def failed(text: str) -> None:
            self._answered -= {request.id}
            if not accepted:
                again(text)

        self.perform(command_line, delivered, partial(self._outcome, word), failed)

    def _outcome(self, word: str, request: RequestInfo) -> str:
        if is_undelivered(request):
            self._answered -= {request.id}
            return f"{_sentence(delivery_problem(request))} Attach with enter to see it."
        if problem := delivery_problem(request):
            return _sentence(problem)
        given = given_answers(request)
        text = f"{word}: {asked(request)}" + (f" → {given}" if given else "")
        return f"{text}. {request.note}" if request.note else text


def _why_no_request(session: ListedSession | None) -> str:
    """Return why no key answers; a session asks until its agent has taken the answer."""
    if session and session.is_asking:
        return f"{session.name}: what it asked was answered, or is asked only in its terminal."
    return (
        f"{session.name if session else 'No session'} asks nothing that can be answered here."
    )


def _ways(request: RequestInfo) -> str:
    """Return a sentence with the keys that answer a request."""
    keys = ", ".join(f"{key} ({label})" for key, label in answer_keys(request))
    return f"Press {keys}."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _option_keys(request: RequestInfo) -> list[tuple[str, str]]:
    """Return a key for each option, if one option answers the request."""
    if not takes_one_key(request) or not request.takes_options:
        return []
    options = request.questions[0].options[:9]
    return [(str(number), option) for number, option in enumerate(options, 1)]
