"""What a person or a hook decided. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Ruling(StrEnum):
    SILENT = "silent"  #: nothing was decided
    ALLOW = "allow"
    ALWAYS = "always"  #: allowed, and not asked again in this session
    ASK = "ask"  #: let a person decide
    DENY = "deny"  #: not this; the turn goes on
    REFUSE = "refuse"  #: not this, and the turn is over
    BLOCK = "block"  #: a prompt is dropped, a turn may not stop yet


@dataclass(frozen=True, slots=True)
class Verdict:
    ruling: Ruling = Ruling.SILENT
    text: str = ""  #: the reason, or the option chosen
    answers: Mapping[str, str] = field(default_factory=dict)  #: question -> option, from a hook


SILENCE = Verdict()


@dataclass(slots=True, eq=False)
class Hearing:
    """A hook that was told something: it has a verdict once the hook has ended."""

    verdict: Verdict | None = None


def read(output: bytes) -> Verdict:
    """Read what a hook printed. Whatever is not a decision decides nothing."""
    try:
        answer = json.loads(output)
    except (ValueError, RecursionError):
        return SILENCE
    match answer:
        case {"decision": "block"}:
            return Verdict(Ruling.BLOCK, _text(answer, "reason"))
        case {"hookSpecificOutput": {"permissionDecision": "allow" | "deny" | "ask" as ruling}}:
            reason = _text(answer["hookSpecificOutput"], "permissionDecisionReason")
            return Verdict(Ruling(ruling), reason)
        case {"hookSpecificOutput": {"decision": {"behavior": str()} as decision}}:
            return _permission(decision)
        case _:
            return SILENCE


def _permission(decision: Mapping[str, Any]) -> Verdict:
    match decision:
        case {"behavior": "allow", "updatedInput": {"answers": {} as answers}}:
            chosen = {
                str(key): label for key, label in answers.items() if isinstance(label, str)
            }
            return Verdict(Ruling.ALLOW, answers=chosen)
        case {"behavior": "allow"}:
            return Verdict(Ruling.ALLOW)
        case {"behavior": "deny", "interrupt": True}:
            return Verdict(Ruling.REFUSE)
        case {"behavior": "deny"}:
            return Verdict(Ruling.DENY, _text(decision, "message"))
        case _:
            return SILENCE


def _text(answer: Mapping[str, Any], key: str) -> str:
    match answer.get(key):
        case str(text):
            return text
        case _:
            return ""
