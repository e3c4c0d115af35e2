"""Start the loops that run as long as the daemon."""

from __future__ import annotations

from functools import partial

from anyio.abc import TaskGroup

from rookery.agents.catalog import AGENTS
from rookery.delivery.dialog_answers import DialogAnswers
from rookery.delivery.dispatcher import Dispatcher
from rookery.delivery.message_deadlines import MessageDeadlines
from rookery.notifications.dispatcher import NotificationDispatcher
from rookery.operations.context import Context
from rookery.operations.lost_sessions import why_not_resumable
from rookery.permissions.lost_hooks import LostHooks
from rookery.permissions.request_deadlines import RequestDeadlines
from rookery.permissions.screen_dialogs import DialogWatch
from rookery.runtimes.driven.runtime import DrivenRuntime
from rookery.sessions.expiry import Expiry
from rookery.sessions.headless import HeadlessWatch
from rookery.startup.components import Parts
from rookery.startup.notifiers import notification_timing
from rookery.tracking.corrections import Corrections
from rookery.tracking.hook_reader import HookReader
from rookery.tracking.protocol_requests import ProtocolRequests
from rookery.tracking.screen_reader import ScreenReader
from rookery.tracking.screen_requests import ScreenRequests
from rookery.tracking.screen_watch import ScreenWatch
from rookery.tracking.session_files import SessionFilesWatch
from rookery.tracking.stream_reports import StreamReports
from rookery.tracking.usage import UsageReader
from rookery.workspaces.keeper import WorkspaceKeeper


def start_loops(
    context: Context, parts: Parts, driven: DrivenRuntime, tasks: TaskGroup
) -> None:
    database, journal, runtime = context.database, context.journal, context.runtime
    decider, conversations, clock = context.permissions, context.conversations, journal.clock
    carrier = parts.carrier(database, clock, runtime)
    screens = ScreenReader(database, journal, runtime, AGENTS, conversations, decider)
    for loop in (
        ScreenWatch(database, journal, runtime, screens, _streams(context, driven)).watch,
        ScreenRequests(database, runtime, clock).keep,
        DialogWatch(database, runtime, AGENTS, decider).watch,
        context.discovery.run,
        HeadlessWatch(database, journal).watch,
        LostHooks(database, decider).watch,
        DialogAnswers(database, journal, runtime, AGENTS, decider).press,
        MessageDeadlines(database, journal).keep,
        Dispatcher(database, journal, runtime, context.agents, carrier).deliver,
        UsageReader(database, journal, context.settings.prices).follow,
        WorkspaceKeeper(
            database, journal, context.worktrees, partial(why_not_resumable, context.agents)
        ).run,
        Expiry(database, journal, runtime, parts.expiry_spans(), context.home.artifacts).run,
    ):
        tasks.start_soon(loop)
    tasks.start_soon(RequestDeadlines(decider).keep, database)
    tasks.start_soon(parts.listeners(journal).keep_time, database)
    tasks.start_soon(parts.offline_answers(decider.rules_file).keep, database, clock)
    _watch_session_files(context, tasks)
    timing = notification_timing(context.settings)
    for notifier in context.notifiers:
        sender = NotificationDispatcher(database, clock, runtime, notifier, timing)
        tasks.start_soon(sender.run)


def _streams(context: Context, driven: DrivenRuntime) -> StreamReports:
    """Return what records driven sessions and decides their requests."""
    database, journal, permissions = context.database, context.journal, context.permissions
    rules, conversations = permissions.rules_file, context.conversations
    reader = HookReader(database, journal.clock, AGENTS, rules, conversations)
    requests = ProtocolRequests(database, driven, context.agents, permissions, reader)
    return StreamReports(database, journal, requests, context.settings.prices)


def _watch_session_files(context: Context, tasks: TaskGroup) -> None:
    """Watch the files in which agents describe their running sessions."""
    database, journal, conversations = context.database, context.journal, context.conversations
    corrections = Corrections(database, journal, conversations)
    for agent in AGENTS.values():
        if agent.transcript and (files := agent.transcript.session_files):
            registry = SessionFilesWatch(
                database, journal, conversations, corrections, agent.name, files
            )
            tasks.start_soon(registry.watch, conversations.folders[agent.name])
