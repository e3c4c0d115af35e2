"""What a user said, among what programs add to it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.support.scripted_model import script

#: Blocks that programs put into a user's message on their own account.
_INJECTED = re.compile(
    r"<(system-reminder|environment_context|user_instructions|permissions instructions"
    r"|collaboration_mode|skills_instructions|plugins_instructions|apps_instructions"
    r"|session_context|local-command-caveat|INSTRUCTIONS|model_switch|multi_agent_mode)"
    r"\b[^>]*>.*?</\1>",
    re.DOTALL,
)
#: How Codex wraps what a Stop hook wants done.
_HOOK_PROMPT = re.compile(r"<hook_prompt\b[^>]*>(.*?)</hook_prompt>", re.DOTALL)
#: How Claude Code tells of a subagent that has ended.
_NOTICE = re.compile(r"<task-notification>.*?<summary>(.*?)</summary>", re.DOTALL)
#: How Claude Code passes on what is said in the middle of a turn.
_MEANWHILE = re.compile(
    r"The user sent a new message while you were working:\n(.*?)(?:\n\nThis is how|\Z)",
    re.DOTALL,
)
_INTERRUPTED = "[Request interrupted"
_SUMMARY = re.compile(
    r"detailed summary of the conversation|summary of (the|our|this) conversation"
    r"|CONTEXT CHECKPOINT COMPACTION|handoff summary"
    r"|compress(ion)? .{0,40}(history|conversation)"
    r"|anchored summary|state_snapshot|CRITICAL: Respond with TEXT ONLY",
    re.IGNORECASE,
)


def own_words(text: str) -> str:
    """Return what is left without the program's additions; a notice is a prompt of its own."""
    if notice := _NOTICE.search(text):
        return f"task notification, {notice[1]}"
    said = said_meanwhile(text) or text
    return _INJECTED.sub("", _HOOK_PROMPT.sub(r"\n\1", said)).strip()


def said_meanwhile(text: str) -> str:
    """Return what the user said in the middle of a turn, if ``text`` tells of that."""
    found = _MEANWHILE.search(text)
    return found[1] if found else ""


def pick(blocks: Sequence[str]) -> str:
    """Return the prompt among the blocks of one message, which may be several merged."""
    said = list(blocks)
    for number, block in enumerate(blocks):
        if block.startswith(_INTERRUPTED):
            said = list(blocks[number + 1 :])
    words = [own for own in map(own_words, said) if own]
    for own in reversed(words):
        if asks_for_summary(own) or script.is_script(own):
            return own
    return "\n".join(words)


def unquoted(text: str) -> str:
    """Undo the quotes that ``opencode run`` puts around its argument."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"')
    return text


def asks_for_summary(text: str) -> bool:
    return bool(_SUMMARY.search(text))
