"""Read what recording a hook call needs, before its transaction: files, links, processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from rookery.hook_protocol import Hook, require_tool
from rookery.model.errors import HookUnreadable
from rookery.model.facts import TurnEnded
from rookery.model.overlaps import FileInRepository
from rookery.model.permissions import Call
from rookery.model.rules import needs_folder, path_fields
from rookery.model.sessions import Sender
from rookery.model.turn_texts import NO_ANSWER, Answer, contains_in_order, is_unexplained
from rookery.permissions.path_resolver import PathResolver
from rookery.permissions.rules_file import RulesFile
from rookery.permissions.skill_commands import with_inline_commands
from rookery.ports.agent import Agent, HookDialect
from rookery.ports.clock import Clock
from rookery.store import session_bindings
from rookery.store.database import Database
from rookery.tracking import stop_hooks
from rookery.tracking.edited_files import EditedFileFinder
from rookery.tracking.hook_callers import HookCaller, NonAgentCallers
from rookery.tracking.hook_senders import is_session_start_or_end
from rookery.tracking.real_folders import FolderResolver
from rookery.tracking.transcript_reader import TranscriptReader

#: Attempts to find the end of a turn in a transcript; the agent waits meanwhile.
MAX_TRANSCRIPT_TRIES = 6


class HookContent(NamedTuple):
    """The content of a hook call before its session is known."""

    hooks: HookDialect
    sender: Sender
    call: Call | None


def agent_of(agents: Mapping[str, Agent], hook: Hook) -> Agent:
    """Return the agent that a hook names. Raises ``HookUnreadable``."""
    if (agent := agents.get(hook.agent)) is None:
        raise HookUnreadable(f"no agent is called {hook.agent!r}")
    return agent


def dialect_of(agents: Mapping[str, Agent], hook: Hook) -> HookDialect:
    """Return the dialect that reads and answers a hook. Raises ``HookUnreadable``."""
    if (hooks := agent_of(agents, hook).hooks) is None:
        raise HookUnreadable(f"a {hook.agent} has no hooks")
    return hooks


@dataclass(frozen=True, slots=True)
class HookReader:
    database: Database
    clock: Clock
    agents: Mapping[str, Agent]
    rules_file: RulesFile
    conversations: TranscriptReader | None
    paths: PathResolver = field(default_factory=PathResolver)
    edited: EditedFileFinder = field(default_factory=EditedFileFinder)
    non_agents: NonAgentCallers = field(default_factory=NonAgentCallers)
    folders: FolderResolver = field(default_factory=FolderResolver)

    async def find_edits(self, hook: Hook, read: HookContent) -> list[FileInRepository]:
        """Return the files of repositories that a tool call has changed."""
        paths = read.hooks.edited_files(hook.payload)
        return await self.edited.find(read.sender.cwd, paths) if paths else []

    async def read(self, hook: Hook) -> HookContent:
        """Parse a hook call. Raises ``HookUnreadable``."""
        hooks = dialect_of(self.agents, hook)
        sender = hooks.identify(hook.payload)
        return HookContent(hooks, sender, await self._read_call(hook, hooks, sender))

    async def _read_call(self, hook: Hook, hooks: HookDialect, sender: Sender) -> Call | None:
        """Return the tool call to decide, with everything that rules match.

        The rules and the links in paths are read here, before the transaction.
        """
        if hook.pid is None:
            spooled = hooks.read_call(hook.payload)
            if spooled is None:
                return None
            return replace(spooled, is_exact=not hook.is_altered, folder=sender.cwd)
        if sender.event == hooks.traits.before_tool:
            require_tool(hook.payload)
        if (call := hooks.read_call(hook.payload)) is None:
            return None
        names = hooks.traits.names_of(call.tool)
        call = replace(call, other_names=names - {call.tool})
        if hook.is_altered:
            call = replace(call, uncertain=frozenset(call.input), is_exact=False)
        return await self.complete(call, sender)

    async def complete(self, call: Call, sender: Sender) -> Call:
        """Add to a call what rules match besides its input, and read the current rules."""
        call = await with_inline_commands(replace(call, folder=sender.cwd), sender)
        await self.rules_file.refresh(self.database, self.clock)
        if needs_folder(self.rules_file.rules, call):
            call = await self.paths.resolve_folders(call, folder=sender.cwd)
        fields = path_fields(self.rules_file.rules)
        return await self.paths.resolve(call, folder=sender.cwd, fields=fields)

    async def look_at_caller(self, hook: Hook, sender: Sender) -> HookCaller:
        """Read the process table for the transaction; with a badge that is rarely necessary."""
        caller = HookCaller(hook, agent_of(self.agents, hook), sender.cwd, self.folders)
        if hook.pid is None or sender.is_new:
            await caller.look_at_folder()
        if hook.badge is None or is_session_start_or_end(sender):
            caller.look(self.non_agents)
        return caller

    async def find_unseen_prompt(self, hook: Hook, content: HookContent) -> str:
        """Read the prompt of a turn that stops, if no hook has reported it.

        Claude's hooks do not report a shell command that a person types after "!", and the
        model answers its output.
        """
        conversations = self.conversations
        if (
            hook.pid is None
            or conversations is None
            or not content.hooks.read_stop(hook.payload)
        ):
            return ""
        find = partial(session_bindings.known, sender=content.sender)
        if (session := await self.database.read(find)) is None:
            return ""
        if await self.database.read(partial(stop_hooks.has_prompt, session=session)):
            return ""
        last = await conversations.last_entry(
            self.database, session, tries=MAX_TRANSCRIPT_TRIES
        )
        return last.prompt if last else ""

    async def find_ending(self, hook: Hook, content: HookContent) -> Answer:
        """Read a turn's outcome or messages from the transcript, if the hook is incomplete."""
        hooks, sender, _ = content
        # Not for a spooled call: calls must reach the writer in the order of the spool.
        is_live, conversations = hook.pid is not None, self.conversations
        if not is_live or conversations is None or sender.event != hooks.traits.silent_stop:
            return NO_ANSWER
        session = await self.database.read(partial(session_bindings.known, sender=sender))
        facts = hooks.read(hook.payload, session) if session else ()
        ended = next((fact for fact in facts if isinstance(fact, TurnEnded)), None)
        if session is None or ended is None:
            return NO_ANSWER
        if is_unexplained(ended):
            answer = await conversations.answer(
                self.database, session, tries=MAX_TRANSCRIPT_TRIES
            )
            return answer or NO_ANSWER
        messages = await conversations.messages_of_turn(
            self.database, session, tries=MAX_TRANSCRIPT_TRIES
        )
        is_same = contains_in_order(ended.last_words, messages)
        return Answer("\n".join(messages)) if is_same else NO_ANSWER
