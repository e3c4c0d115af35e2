"""A session with what it does now, as lists and details show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rookery.model.sessions import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentSession(Session):
    """A session with its last turn, its open request and its branch."""

    last_turn: int = 0  #: the entry that began the latest turn
    last_prompt: str = ""  #: the first line of the latest turn's prompt
    last_prompt_at: datetime | None = None
    last_answer: str = ""  #: the first line of the latest answer
    last_answer_at: datetime | None = None
    last_outcome: str = ""  #: of the latest ended turn: finished, interrupted or failed
    is_unread: bool = False  #: the latest answer was not shown to a person
    asked_tool: str = ""  #: the tool that its open request is about
    asked_argument: str = ""  #: such as the command that needs a permission
    asked_folder: str = ""  #: where that command runs, if not in the project folder
    branch: str = ""  #: the Git branch of its project folder; of a detached head, the commit
    is_resumed: bool = False  #: a later session continues its conversation
    cut_off: str = ""  #: the prompt whose turn ended with the session that this one resumes
    cost_usd: float | None = None  #: ``cost`` in dollars
    estimated_cost_usd: float = 0.0  #: ``estimated_cost`` in dollars
    budget_usd: float | None = None  #: ``budget`` in dollars
