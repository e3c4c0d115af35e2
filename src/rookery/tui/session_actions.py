"""The keys that act on sessions: attach, send, start, fork, resume, interrupt and end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from rookery.client.decoding import read
from rookery.client.messages import MessageInfo, send_message
from rookery.client.sessions import (
    EvidenceInfo,
    ListedSession,
    SessionInfo,
    end_session,
    interrupt_session,
    show_evidence,
)
from rookery.client.starts import (
    AUTO_RUNTIME,
    ResumeOrder,
    StartOrder,
    resume_session,
    start_session,
)
from rookery.model.errors import BadInput
from rookery.presentation.projects import project_folder
from rookery.tui import command_lines
from rookery.tui.board_screen import BoardScreen
from rookery.tui.command_lines import NewSession
from rookery.tui.departures import departures_text
from rookery.tui.dialogs import ConfirmDialog, PageScreen, TextDialog
from rookery.tui.evidence_text import evidence_lines
from rookery.tui.start_dialog import StartDialog
from rookery.user_paths import expanded


class SessionActions(BoardScreen):
    """Acts on the selected session; sending and ending act on the marked ones, if any."""

    def _selected(self) -> SessionInfo | None:
        if self.session is None:
            self.say("No session is selected. Start one with n.")
        return self.session

    def attach(self) -> None:
        """Give the terminal to the session until the user leaves it."""
        if (session := self._selected()) is None:
            return
        if session.ended_at:
            self.say(f"{session.name} has ended. Continue its conversation with r.")
            return
        if session.is_driven:
            self.say(f"{session.name} has no terminal; what it does is shown here.")
            return
        line = command_lines.attach(session.name)
        status = self.run_here(("attach", session.id))
        if status is None:
            self.say("This terminal cannot be given to another program.", command_line=line)
        elif status:
            self.say("It could not be attached; see why with w.", command_line=line)
        else:
            # It may have ended meanwhile, or another session may have been shown last.
            self.say(f"Back from {session.name}.", command_line=line)

    def action_send(self) -> None:
        chosen = self.board.targets(self.table.selected)
        targets = [each for each in chosen if not each.ended_at]
        if targets:
            self._ask_message(targets)
        elif len(chosen) == 1:
            # A dialog takes the text that may be typed already; as keys it would act.
            self._ask_message_for_ended(chosen[0])
        elif chosen:
            self.say("All marked sessions have ended. Continue each conversation with r.")
        else:
            self._selected()

    def _ask_message(
        self, targets: Sequence[SessionInfo], *, text: str = "", problem: str = ""
    ) -> None:
        names = ", ".join(each.name for each in targets)
        dialog = TextDialog(f"Send to {names}", text=text, problem=problem)
        self.app.push_screen(dialog, partial(self._send_to, targets))

    def _ask_message_for_ended(self, session: SessionInfo) -> None:
        title = f"{session.name} has ended. Continue it with this message:"
        self.app.push_screen(TextDialog(title), partial(self._continue_with, session))

    def _continue_with(self, session: SessionInfo, text: str | None) -> None:
        if text and text.strip():
            self._continue(session, text, fork=False)

    def _send_to(self, targets: Sequence[SessionInfo], text: str | None) -> None:
        if not text or not text.strip():
            return
        sent = list[SessionInfo]()

        def work() -> str:
            messages = list[MessageInfo]()
            for each in targets:
                messages.append(send_message(self.daemon, each.id, text))
                sent.append(each)
            return departures_text(self.daemon, sent, messages)

        def failed(problem: str) -> None:
            self.board.marked.difference_update(each.id for each in sent)
            self.show_board()
            got = f" Sent to {', '.join(each.name for each in sent)}." if sent else ""
            self._ask_message(targets[len(sent) :], text=text, problem=problem + got)

        line = command_lines.send([each.name for each in targets], text)
        self.perform(line, work, self._sent, failed)

    def _sent(self, what_became: str) -> str:
        self.board.marked.clear()
        self.show_board()
        return what_became

    def action_new(self) -> None:
        sessions = [*self.board.sessions.values()][::-1]
        folders = [self.setup.folder, *map(project_folder, sessions)]
        agent = sessions[0].agent if sessions else next(iter(self.setup.agents))
        dialog = StartDialog(
            self.setup.agents,
            agent=agent,
            folders=[*dict.fromkeys(folders)],
            start=lambda asked: self._start(dialog, asked),
        )
        self.app.push_screen(dialog)

    def _start(self, dialog: StartDialog, asked: NewSession) -> None:
        """Start a session; its dialog stays open, with what was typed, until it has started."""
        try:
            order = self._order(asked)
        except ValueError:
            dialog.tell_failure("The command has a quote that is not closed.")
            return
        except BadInput as error:
            dialog.tell_failure(str(error))
            return

        def done(session: SessionInfo) -> str:
            dialog.leave(None)
            return self._started(session)

        work = partial(start_session, self.daemon, order)
        self.perform(asked.command_line, work, done, dialog.tell_failure)

    def _order(self, asked: NewSession) -> StartOrder:
        """Return the order of a start. Raises ``BadInput``, or ``ValueError`` for a quote."""
        return StartOrder(
            agent=asked.agent,
            name=asked.name,
            project=str(expanded(asked.project).absolute()),
            prompt="" if asked.is_command else asked.prompt,
            command=asked.command,
            environment=dict(self.setup.environment),
            worktree=asked.worktree is not None,
            branch=asked.worktree or "",
            profile=asked.profile,
            runtime=asked.runtime or AUTO_RUNTIME,
            tags=list(asked.tags),
        )

    def _started(self, session: SessionInfo) -> str:
        self.board.sessions[session.id] = read(ListedSession, session.json)
        self.show_board()
        self.table.select(session.id)
        return f"Started {session.name}."

    def action_fork(self) -> None:
        if session := self._selected():
            self._ask_prompt(session, fork=True)

    def action_resume(self) -> None:
        if (session := self._selected()) is None:
            return
        if not session.ended_at:
            self.say(f"{session.name} is still running. Start a branch of it with f.")
            return
        self._ask_prompt(session, fork=False)

    def _ask_prompt(
        self, session: SessionInfo, problem: str = "", *, fork: bool, text: str = ""
    ) -> None:
        branch = f"Branch of {session.name}. First prompt (optional):"
        title = branch if fork else f"Continue {session.name}. Prompt (optional):"
        dialog = TextDialog(title, text=text, problem=problem)
        self.app.push_screen(dialog, partial(self._continue, session, fork=fork))

    def _continue(self, session: SessionInfo, prompt: str | None, *, fork: bool) -> None:
        if prompt is None:
            return
        make = command_lines.fork if fork else command_lines.resume
        order = ResumeOrder(
            fork=fork, prompt=prompt.strip(), environment=dict(self.setup.environment)
        )
        work = partial(resume_session, self.daemon, session.id, order)
        failed = partial(self._ask_prompt, session, fork=fork, text=prompt)
        self.perform(make(session.name, prompt.strip()), work, self._started, failed)

    def action_interrupt(self) -> None:
        if session := self._selected():
            work = partial(interrupt_session, self.daemon, session.id)
            line = command_lines.interrupt(session.name)
            self.perform(line, work, lambda done: f"Interrupted {session.name}.")

    def action_end(self) -> None:
        targets = [
            each for each in self.board.targets(self.table.selected) if not each.ended_at
        ]
        if not targets:
            self.say("Nothing to end: no session is selected, or it has ended.")
            return
        names = ", ".join(each.name for each in targets)
        dialog = ConfirmDialog(f"End {names}? Its conversation can be continued later with r.")
        self.app.push_screen(dialog, partial(self._end, targets))

    def _end(self, targets: Sequence[SessionInfo], is_sure: bool | None) -> None:
        if not is_sure:
            return
        names = [each.name for each in targets]

        def work() -> None:
            for each in targets:
                end_session(self.daemon, each.id, force=False)

        self.board.marked.clear()
        self.perform(command_lines.end(names), work, lambda done: f"Ending {', '.join(names)}.")

    def action_why(self) -> None:
        if session := self._selected():
            work = partial(show_evidence, self.daemon, session.id)

            def show(evidence: EvidenceInfo) -> str:
                make = partial(evidence_lines, evidence, datetime.now(UTC))
                self.open_found(PageScreen(f"Why {session.name}?", make))
                return "The evidence for its state."

            self.perform(command_lines.why(session.name), work, show)
